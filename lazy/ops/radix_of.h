/* radix_of.h: radix.c includes it once for each form of elements, with NAME(x), E (the type) and KEY(e), which it takes
 * away. */

/* Elements in order of their keys, equal ones as they are. */
static void NAME(insert)(E *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const E moving = a[i];
        int64_t at = i;
        for (; at > 0 && KEY(a[at - 1]) > KEY(moving); at--)
            a[at] = a[at - 1];
        a[at] = moving;
    }
}

static void NAME(range)(const void *data, int64_t n, uint64_t *low, uint64_t *high) {
    const E *a = data;
    uint64_t least = KEY(a[0]), most = least;
    for (int64_t i = 1; i < n; i++) {
        const uint64_t key = KEY(a[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *low = least;
    *high = most;
}

static void NAME(count)(const void *data, int64_t n, radix_digit digit, uint32_t *counts) {
    const E *a = data;
    for (int64_t i = 0; i < n; i++)
        counts[(KEY(a[i]) - digit.low) >> digit.shift]++;
}

static void NAME(deal)(void *to, const void *data, int64_t n, radix_digit digit, uint32_t *places) {
    const E *a = data;
    E *out = to;
    for (int64_t i = 0; i < n; i++) {
        const E element = a[i];
        out[places[(KEY(element) - digit.low) >> digit.shift]++] = element;
    }
}

/* Keys from low on that have so few bits that two digits do: first by the lower one, and back by the higher one. */
static void NAME(sort_twice)(E *a, E *b, int64_t n, uint64_t low, int bits) {
    const int half = bits / 2;
    const uint32_t mask = (UINT32_C(1) << half) - 1;
    uint32_t lower[1 << MOST_BITS], higher[1 << MOST_BITS];
    memset(lower, 0, sizeof *lower << half);
    memset(higher, 0, sizeof *higher << (bits - half));
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key = (uint32_t)(KEY(a[i]) - low);
        lower[key & mask]++;
        higher[key >> half]++;
    }
    radix_add_up(lower, 1 << half);
    radix_add_up(higher, 1 << (bits - half));
    for (int64_t i = 0; i < n; i++) {
        const E element = a[i];
        b[lower[(uint32_t)(KEY(element) - low) & mask]++] = element;
    }
    for (int64_t i = 0; i < n; i++) {
        const E element = b[i];
        a[higher[(uint32_t)(KEY(element) - low) >> half]++] = element;
    }
}

/* Sorts n elements at `from`; the result is there, or at `to` if `cross` is set. */
static void NAME(sort)(void *from, void *to, int64_t n, bool cross) {
    E *a = from, *b = to;
    uint64_t low, high;
    if (n > FEW)
        NAME(range)(a, n, &low, &high);
    if (n <= FEW || low == high) {
        if (n <= FEW)
            NAME(insert)(a, n);
        if (cross)
            memcpy(b, a, (size_t)n * sizeof *a);
        return;
    }
    const int bits = radix_bit_length(high - low);
    if (bits > MOST_BITS && bits <= 2 * MOST_BITS && n >> ((bits + 1) / 2 - 1) > 0) {
        NAME(sort_twice)(a, b, n, low, bits);
        if (cross)
            memcpy(b, a, (size_t)n * sizeof *a);
        return;
    }
    const radix_digit digit = digit_of(low, high, n);
    uint32_t places[1 << MOST_BITS];
    memset(places, 0, (size_t)digit.buckets * sizeof *places);
    NAME(count)(a, n, digit, places);
    const uint32_t most = radix_add_up(places, digit.buckets);
    NAME(deal)(b, a, n, digit, places);
    if (most <= FEW || digit.shift == 0) {
        if (digit.shift > 0)
            NAME(insert)(b, n); /* nothing moves further than its bucket */
        if (!cross)
            memcpy(a, b, (size_t)n * sizeof *a);
        return;
    }
    for (int64_t k = 0, first = 0; k < digit.buckets; first = places[k++])
        if (places[k] > first)
            NAME(sort)(b + first, a + first, places[k] - first, !cross);
}

#undef NAME
#undef E
#undef KEY
