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
    const radix_digit digit = digit_of(low, high, n);
    uint32_t places[1 << MOST_BITS];
    memset(places, 0, (size_t)digit.buckets * sizeof *places);
    NAME(count)(a, n, digit, places);
    uint32_t at = 0, most = 0;
    for (int k = 0; k < digit.buckets; k++) {
        const uint32_t count = places[k];
        most = count > most ? count : most;
        places[k] = at;
        at += count;
    }
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
