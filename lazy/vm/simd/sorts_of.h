/* sorts_of.h: sorts.c includes it once for each width of keys, with NAME(x), K (the type), LANES and MASK, and the
 * instructions of that width, V(x), U(x), M(x) and NUMBERS, all of which it takes away. */

/* One step of a network within each vector: lane i is compared with i ^ distance; the lanes that have the bit `high`
 * get the greater one. */
INLINE void NAME(step)(__m512i *a, int count, int distance, int high) {
    const __m512i numbers = NUMBERS, other = _mm512_xor_si512(numbers, V(set1)(distance));
    const MASK upper = V_MASK(test)(numbers, V(set1)(high));
    for (int k = 0; k < count; k++) {
        const __m512i turned = V(permutexvar)(other, a[k]);
        a[k] = U(mask_max)(U(min)(a[k], turned), upper, a[k], turned);
    }
}

INLINE void NAME(exchange)(__m512i *a, __m512i *b) {
    const __m512i less = U(min)(*a, *b);
    *b = U(max)(*a, *b);
    *a = less;
}

/* Sorts the elements of `count` vectors, a power of two: runs are merged with the run behind them, turned around. */
INLINE void NAME(network)(__m512i *a, int count) {
    const __m512i turn = _mm512_xor_si512(NUMBERS, V(set1)(LANES - 1));
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
                a[other] = V(permutexvar)(turn, a[other]);
                NAME(exchange)(a + k, a + other);
                a[other] = V(permutexvar)(turn, a[other]);
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

/* At most `count` vectors of keys; what is missing counts as the greatest key. */
INLINE void NAME(few)(K *keys, int64_t n, int count) {
    __m512i a[VECTORS];
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const int64_t left = n - k * LANES;
        const MASK there = (MASK)(left >= LANES ? -1 : left > 0 ? (1 << left) - 1 : 0);
        a[k] = M(mask_loadu)(V(set1)(-1), there, keys + k * LANES);
    }
    NAME(network)(a, count);
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const int64_t left = n - k * LANES;
        const MASK there = (MASK)(left >= LANES ? -1 : left > 0 ? (1 << left) - 1 : 0);
        M(mask_storeu)(keys + k * LANES, there, a[k]);
    }
}

/* The middle one of some keys. */
static K NAME(pivot)(const K *keys, int64_t n) {
    const int count = n < MANY ? LANES : SAMPLES * LANES;
    K some[SAMPLES * LANES];
    const int64_t apart = n / count;
    for (int k = 0; k < count; k++)
        some[k] = keys[k * apart + apart / 2];
    if (n < MANY)
        NAME(few)(some, LANES, 1);
    else
        NAME(few)(some, SAMPLES * LANES, SAMPLES);
    return some[count / 2];
}

/* Keys up to the pivot, or only those below it, go to the front, the others behind them, by way of `spare`. Returns how
 * many are in front. A vector is stored whole: what is too much of it stays within what has been read. */
INLINE int64_t NAME(part)(K *keys, K *spare, int64_t n, K pivot, bool with) {
    const __m512i middle = V(set1)((LANE)pivot);
    int64_t front = 0, back = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m512i some = _mm512_loadu_si512(keys + i);
        const MASK low = with ? U_MASK(cmple)(some, middle) : U_MASK(cmplt)(some, middle);
        const int count = __builtin_popcount(low);
        _mm512_storeu_si512(keys + front, V(maskz_compress)(low, some));
        _mm512_storeu_si512(spare + back, V(maskz_compress)((MASK)~low, some));
        front += count;
        back += LANES - count;
    }
    for (; i < n; i++) {
        const K key = keys[i];
        const bool low = with ? key <= pivot : key < pivot;
        *(low ? keys + front : spare + back) = key;
        front += low;
        back += !low;
    }
    memcpy(keys + front, spare, (size_t)back * sizeof *keys);
    return front;
}

static bool NAME(quicksort)(K *keys, K *spare, int64_t n, int depth) {
    while (n > VECTORS * LANES) {
        if (depth-- == 0)
            return false;
        const K pivot = NAME(pivot)(keys, n);
        int64_t front = NAME(part)(keys, spare, n, pivot, false);
        if (front == 0) { /* the pivot is the least key: it is in order where all of it stands in front */
            front = NAME(part)(keys, spare, n, pivot, true);
        } else if (!NAME(quicksort)(keys, spare, front, depth)) {
            return false;
        }
        keys += front;
        n -= front;
    }
    if (n <= LANES)
        NAME(few)(keys, n, 1);
    else if (n <= 2 * LANES)
        NAME(few)(keys, n, 2);
    else if (n <= 4 * LANES)
        NAME(few)(keys, n, 4);
    else
        NAME(few)(keys, n, VECTORS);
    return true;
}

static bool NAME(sort)(void *keys, void *spare, int64_t n) {
    return NAME(quicksort)(keys, spare, n, 2 * (64 - __builtin_clzll((uint64_t)n | 1)));
}

#undef NAME
#undef K
#undef LANE
#undef LANES
#undef MASK
#undef V
#undef U
#undef M
#undef V_MASK
#undef U_MASK
#undef NUMBERS
