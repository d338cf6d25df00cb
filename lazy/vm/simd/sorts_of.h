/* sorts_of.h: sorts.c includes it once for each width of keys, with these defined, all of which it takes away:
 *
 *      NAME(x), K, SIGNED      x with the width, the keys' type, and the type of its elements that instructions take
 *      VECTOR, LANES           of networks; NUMBERS, from 0 on; SET, XOR, MIN, MAX, TIMES: instructions on them
 *      TURN(v, places)         lane i is lane places[i] of v
 *      CHOICE                  of lanes: WITH_BIT(bit), whose number has it; BELOW(n), the first n
 *      STEP(a, b, greater)     the lesser ones of two, and the greater ones in the lanes that are chosen so
 *      ZIP_LOW, ZIP_HIGH       the lower halves of two vectors, lane by lane, and the higher ones
 *      LOAD_SOME, STORE_SOME   only the lanes that are there; others count as the greatest key
 *      GATHER(from, places)    some keys of a range; FIRST(v): the key in lane 0
 *      PARTED, PART_…          vectors that are parted, which may be shorter, by NAME(part), a function
 */

/* One step of a network within each vector: lane i is compared with i ^ distance; the higher one gets the greater. */
INLINE void NAME(step)(VECTOR *a, int count, int distance) {
    const VECTOR other = XOR(NUMBERS, SET(distance));
    const CHOICE greater = WITH_BIT(distance);
#pragma GCC unroll 16
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

/* Vectors that rise and then fall, in runs of twice the distance: each run in order, lane by lane. */
INLINE void NAME(merge)(VECTOR *a, int count, int distance) {
#pragma GCC unroll 4
    for (int d = distance; d > 0; d /= 2)
#pragma GCC unroll 16
        for (int k = 0; k < count; k++)
            if (!(k & d))
                NAME(exchange)(a + k, a + (k ^ d));
}

/* Vectors one after another, where they are in order lane by lane: half of them, element by element, with the others,
 * until each element has gone its way. */
INLINE void NAME(unfold)(VECTOR *a, int count) {
    VECTOR other[VECTORS];
#pragma GCC unroll 4
    for (int turns = 1; turns < count; turns *= 2) {
#pragma GCC unroll 16
        for (int k = 0; k < count / 2; k++) {
            other[2 * k] = ZIP_LOW(a[k], a[k + count / 2]);
            other[2 * k + 1] = ZIP_HIGH(a[k], a[k + count / 2]);
        }
#pragma GCC unroll 16
        for (int k = 0; k < count; k++)
            a[k] = other[k];
    }
}

/* Sorts the elements of `count` vectors, a power of two: first each lane down the vectors, which takes no permutations,
 * then lanes are merged with the lanes behind them, turned around. */
INLINE void NAME(network)(VECTOR *a, int count) {
#pragma GCC unroll 4
    for (int run = 1; run < count; run *= 2) {
#pragma GCC unroll 16
        for (int k = 0; k < count; k++)
            if (!(k & run))
                NAME(exchange)(a + k, a + (k ^ (2 * run - 1)));
        NAME(merge)(a, count, run / 2);
    }
#pragma GCC unroll 4
    for (int run = 1; run < LANES; run *= 2) {
        const VECTOR turn = XOR(NUMBERS, SET(2 * run - 1));
        const CHOICE greater = WITH_BIT(run);
#pragma GCC unroll 16
        for (int k = 0; k < (count + 1) / 2; k++) {
            const VECTOR first = TURN(a[k], turn), last = TURN(a[count - 1 - k], turn);
            a[k] = STEP(a[k], last, greater);
            if (count > 1)
                a[count - 1 - k] = STEP(a[count - 1 - k], first, greater);
        }
#pragma GCC unroll 4
        for (int d = run / 2; d > 0; d /= 2)
            NAME(step)(a, count, d);
        NAME(merge)(a, count, count / 2);
    }
    NAME(unfold)(a, count);
}

/* At most `count` vectors of keys, from one place to another. */
INLINE void NAME(few)(K *to, const K *from, int64_t n, int count) {
    VECTOR a[VECTORS];
#pragma GCC unroll 16
    for (int k = 0; k < count; k++)
        a[k] = LOAD_SOME(from + k * LANES, BELOW(n - k * LANES));
    NAME(network)(a, count);
#pragma GCC unroll 16
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

/* Parts keys that are fewer than a vector, of which there may be nothing else to write over: those below `middle` go to
 * `low`, from its first place on, others in front of `high`. Returns how many are low. */
INLINE int64_t NAME(part_rest)(const K *keys, K *low, K *high, int64_t n, K middle) {
#if defined(__AVX512F__)
    int64_t count;
    const CHOICE there = BELOW(n);
    const PARTED some = NAME(part)(LOAD_SOME(keys, there), PART_SET((SIGNED)middle), &count);
    const CHOICE first = BELOW(count);
    STORE_SOME(low, first, some);
    STORE_SOME(high - n, (CHOICE)(there & ~first), some);
    return count;
#else
    const K *const first = low;
    K some[PART_LANES];
    for (int64_t i = 0; i < n; i++)
        some[i] = keys[i];
    for (int64_t i = 0; i < n; i++) {
        *low = high[-1] = some[i];
        low += some[i] < middle;
        high -= some[i] >= middle;
    }
    return low - first;
#endif
}

/* Keys below `middle` go to `low`, from its first place on, others to `high`, from its last place down; one of these
 * may be `keys`, from whose end they are then read, if it is `high`. Returns how many are low. A vector is stored whole
 * on both sides: what is too much of it stays within what has been read, and is written over. */
INLINE int64_t NAME(parting)(const K *keys, K *low, K *high, int64_t n, K middle, bool back) {
    const PARTED border = PART_SET((SIGNED)middle);
    const K *const first = low;
    int64_t i = 0, count;
    high += n;
    for (; i + PART_LANES <= n; i += PART_LANES, low += count, high += count - PART_LANES) {
        const PARTED some = NAME(part)(PART_LOAD(back ? keys + n - i - PART_LANES : keys + i), border, &count);
        PART_STORE(low, some);
        PART_STORE(high - PART_LANES, some);
    }
    return low - first + NAME(part_rest)(back ? keys : keys + i, low, high, n - i, middle);
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
    else if (n <= 8 * LANES)
        NAME(few)(keys, from, n, 8);
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
#undef ZIP_LOW
#undef ZIP_HIGH
#undef TIMES
#undef FIRST
#undef PARTED
#undef PART_LANES
#undef PART_SET
#undef PART_LOAD
#undef PART_STORE
