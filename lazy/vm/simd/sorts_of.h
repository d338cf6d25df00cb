/* sorts_of.h: sorts.c includes it once for each width of keys, with these defined, all of which it takes away:
 *
 *      NAME(x), K, SIGNED      x with the width, the keys' type, and the type of its elements that instructions take
 *      VECTOR, LANES           of networks; NUMBERS, from 0 on; SET, XOR, MIN, MAX, TIMES: instructions on them
 *      TURN(v, places)         lane i is lane places[i] of v
 *      CHOICE                  of lanes: WITH_BIT(bit), whose number has it; BELOW(n), the first n
 *      STEP(a, b, greater)     the lesser ones of two, and the greater ones in the lanes that are chosen so
 *      LOAD_SOME, STORE_SOME   only the lanes that are there; others count as the greatest key
 *      GATHER(from, places)    some keys of a range; FIRST(v): the key in lane 0
 *      PARTED, PART_…          vectors that are parted, which may be shorter, by NAME(part), a function
 */

/* One step of a network within each vector: lane i is compared with i ^ distance; the lanes that have the bit `high`
 * get the greater one. */
INLINE void NAME(step)(VECTOR *a, int count, int distance, int high) {
    const VECTOR other = XOR(NUMBERS, SET(distance));
    const CHOICE greater = WITH_BIT(high);
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const VECTOR turned = TURN(a[k], other);
        a[k] = STEP(a[k], turned, greater);
    }
}

INLINE void NAME(exchange)(VECTOR *a, VECTOR *b) {
    const VECTOR less = MIN(*a, *b);
    *b = MAX(*a, *b);
    *a = less;
}

/* Sorts the elements of `count` vectors, a power of two: runs are merged with the run behind them, turned around. */
INLINE void NAME(network)(VECTOR *a, int count) {
    const VECTOR turn = XOR(NUMBERS, SET(LANES - 1));
#pragma GCC unroll 4
    for (int run = 1; run < LANES; run *= 2) {
        NAME(step)(a, count, 2 * run - 1, run);
#pragma GCC unroll 4
        for (int d = run / 2; d > 0; d /= 2)
            NAME(step)(a, count, d, d);
    }
#pragma GCC unroll 4
    for (int run = 1; run < count; run *= 2) {
#pragma GCC unroll 8
        for (int k = 0; k < count; k++)
            if (!(k & run)) {
                const int other = k ^ (2 * run - 1);
                a[other] = TURN(a[other], turn);
                NAME(exchange)(a + k, a + other);
                a[other] = TURN(a[other], turn);
            }
#pragma GCC unroll 4
        for (int d = run / 2; d > 0; d /= 2)
#pragma GCC unroll 8
            for (int k = 0; k < count; k++)
                if (!(k & d))
                    NAME(exchange)(a + k, a + (k ^ d));
#pragma GCC unroll 4
        for (int d = LANES / 2; d > 0; d /= 2)
            NAME(step)(a, count, d, d);
    }
}

/* At most `count` vectors of keys, from one place to another. */
INLINE void NAME(few)(K *to, const K *from, int64_t n, int count) {
    VECTOR a[VECTORS];
#pragma GCC unroll 8
    for (int k = 0; k < count; k++)
        a[k] = LOAD_SOME(from + k * LANES, BELOW(n - k * LANES));
    NAME(network)(a, count);
#pragma GCC unroll 8
    for (int k = 0; k < count; k++)
        STORE_SOME(to + k * LANES, BELOW(n - k * LANES), a[k]);
}

/* The middle one of some keys, `count` vectors of them. */
INLINE K NAME(middle)(const K *keys, int64_t n, int count) {
    const int64_t apart = n / (count * LANES);
    VECTOR a[SAMPLES];
#pragma GCC unroll 4
    for (int k = 0; k < count; k++)
        a[k] = GATHER(keys + apart * k * LANES + apart / 2, TIMES(NUMBERS, SET((SIGNED)apart)));
    NAME(network)(a, count);
    const VECTOR middle = count > 1 ? a[count / 2] : TURN(a[0], XOR(NUMBERS, SET(LANES / 2)));
    return (K)FIRST(middle);
}

/* Keys below `middle` go to `low`, from its first place on, others to `high`, from its last place down; one of these
 * may be `keys`, from whose end they are then read, if it is `high`. Returns how many are low. A vector is stored whole
 * on both sides: what is too much of it stays within what has been read, and is written over. */
INLINE int64_t NAME(parting)(const K *keys, K *low, K *high, int64_t n, K middle, bool back) {
    const PARTED border = PART_SET((SIGNED)middle);
    const K *const first = low;
    int64_t i = 0, count;
    high += n;
#pragma GCC unroll 4
    for (; i + PART_LANES <= n; i += PART_LANES, low += count, high += count - PART_LANES) {
        const PARTED some = NAME(part)(PART_LOAD(back ? keys + n - i - PART_LANES : keys + i), border, &count);
        PART_STORE(low, some);
        PART_STORE(high - PART_LANES, some);
    }
    for (; i < n; i++) {
        const K key = back ? keys[n - i - 1] : keys[i];
        *low = high[-1] = key;
        low += key < middle;
        high -= key >= middle;
    }
    return low - first;
}

/* Sorts n keys, which lie in `spare` if they are `away`. */
static bool NAME(quicksort)(K *keys, K *spare, int64_t n, int depth, bool away) {
    while (n > VECTORS * LANES) {
        const K *from = away ? spare : keys;
        if (depth-- == 0) {
            memmove(keys, from, (size_t)n * sizeof *keys);
            return false;
        }
        const K middle = n < MANY ? NAME(middle)(from, n, 1) : NAME(middle)(from, n, SAMPLES);
        int64_t low = away ? NAME(parting)(spare, keys, spare, n, middle, true)
                           : NAME(parting)(keys, keys, spare, n, middle, false);
        if (low == 0 && middle == (K)-1) { /* they are all the same */
            memcpy(keys, spare, (size_t)n * sizeof *keys);
            return true;
        } else if (low == 0) { /* the middle is the least key: it is in order where all of it stands in front */
            low = NAME(parting)(spare, keys, spare, n, middle + 1, true);
        } else if (!NAME(quicksort)(keys, spare, low, depth, false)) {
            memcpy(keys + low, spare + low, (size_t)(n - low) * sizeof *keys);
            return false;
        }
        keys += low, spare += low, n -= low;
        away = true;
    }
    const K *from = away ? spare : keys;
    if (n <= LANES)
        NAME(few)(keys, from, n, 1);
    else if (n <= 2 * LANES)
        NAME(few)(keys, from, n, 2);
    else if (n <= 4 * LANES)
        NAME(few)(keys, from, n, 4);
    else
        NAME(few)(keys, from, n, VECTORS);
    return true;
}

static bool NAME(sort)(void *keys, void *spare, int64_t n, bool away) {
    return NAME(quicksort)(keys, spare, n, 2 * (64 - __builtin_clzll((uint64_t)n | 1)), away);
}

static int64_t NAME(cut)(void *keys, void *spare, int64_t n, uint64_t middle, bool away) {
    return away ? NAME(parting)(spare, keys, spare, n, (K)middle, true)
                : NAME(parting)(keys, keys, spare, n, (K)middle, false);
}

#undef NAME
#undef K
#undef SIGNED
#undef VECTOR
#undef LANES
#undef NUMBERS
#undef SET
#undef XOR
#undef TURN
#undef MIN
#undef MAX
#undef CHOICE
#undef WITH_BIT
#undef STEP
#undef BELOW
#undef LOAD_SOME
#undef STORE_SOME
#undef GATHER
#undef TIMES
#undef FIRST
#undef PARTED
#undef PART_LANES
#undef PART_SET
#undef PART_LOAD
#undef PART_STORE
