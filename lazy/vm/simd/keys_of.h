/* keys_of.h: elements of one dtype as keys; keys.c includes it once for each, with these defined, which it takes away:
 *
 *      NAME(x), T      x with the dtype's name, and its type
 *      K, HIGH         the type of its keys, uint32_t or uint64_t, and the number of their highest bit
 *      SIGNED, REAL    what it is; without: unsigned
 *
 * `from` is a line, whose elements are `stride` apart; keys lie one after another. Of a line that descends keys are
 * turned around, but NaN, whose key no other number has, stays last.
 */
static inline K NAME(key)(T value, bool descending) {
#if defined(REAL)
    K key;
    memcpy(&key, &value, sizeof key);
    key = key >> HIGH ? ~key : key | (K)1 << HIGH;
    return value != value ? (K)-1 : descending ? ~key : key;
#elif defined(SIGNED)
    const K key = (K)value ^ (K)1 << HIGH;
    return descending ? ~key : key;
#else
    return descending ? ~(K)value : (K)value;
#endif
}

static inline void NAME(strided_keys)(K *restrict to, const T *restrict from, int64_t n, int64_t stride,
                                      bool descending) {
    for (int64_t i = 0; i < n; i++)
        to[i] = NAME(key)(from[i * stride], descending);
}

static void NAME(keys)(void *to, const void *from, int64_t n, int64_t stride, bool descending) {
    if (stride == 1)
        NAME(strided_keys)(to, from, n, 1, descending);
    else
        NAME(strided_keys)(to, from, n, stride, descending);
}

/* Zeros of both signs have one key. */
static inline void NAME(strided_pairs)(void *restrict to, const T *restrict from, int64_t n, int64_t stride,
                                       bool descending, int64_t place) {
    for (int64_t i = 0; i < n; i++) {
        const T value = from[i * stride];
        const K key = NAME(key)(value == 0 ? 0 : value, descending);
#if HIGH == 31
        ((uint64_t *)to)[i] = (uint64_t)key << 32 | (uint32_t)(place + i);
#else
        ((lazy_pair *)to)[i] = (lazy_pair){key, (uint64_t)(place + i)};
#endif
    }
}

static void NAME(pairs)(void *to, const void *from, int64_t n, int64_t stride, bool descending, int64_t place) {
    if (stride == 1)
        NAME(strided_pairs)(to, from, n, 1, descending, place);
    else
        NAME(strided_pairs)(to, from, n, stride, descending, place);
}

static inline T NAME(value)(K key, bool descending) {
#if defined(REAL)
    T value;
    key = descending && key != (K)-1 ? ~key : key;
    key = key >> HIGH ? key ^ (K)1 << HIGH : ~key;
    memcpy(&value, &key, sizeof key);
    return value;
#elif defined(SIGNED)
    return (T)((descending ? ~key : key) ^ (K)1 << HIGH);
#else
    return (T)(descending ? ~key : key);
#endif
}

static inline void NAME(strided_values)(T *restrict to, const K *restrict keys, int64_t n, int64_t stride,
                                        bool descending) {
    for (int64_t i = 0; i < n; i++)
        to[i * stride] = NAME(value)(keys[i], descending);
}

static void NAME(values)(void *to, const void *keys, int64_t n, int64_t stride, bool descending) {
    if (stride == 1)
        NAME(strided_values)(to, keys, n, 1, descending);
    else
        NAME(strided_values)(to, keys, n, stride, descending);
}

#if defined(REAL)
/* Sorted keys tell zeros apart by their signs; here they get the order that they have in the line. */
static void NAME(zeros)(void *sorted, const void *from, int64_t n, int64_t stride, bool descending) {
    const K least = (K)-1 >> 1; /* the lesser key of a zero; the other one is behind it, in either direction */
    K *keys = sorted;
    int64_t first = 0, left = n;
    while (left > 0) {
        const int64_t half = left / 2;
        if (keys[first + half] < least) {
            first += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
    int64_t end = first;
    while (end < n && keys[end] <= least + 1)
        end++;
    if (end == first || keys[first] == keys[end - 1])
        return;
    for (int64_t i = 0; first < end; i++) {
        const T value = ((const T *)from)[i * stride];
        if (value == 0)
            keys[first++] = NAME(key)(value, descending);
    }
}
#endif

#undef NAME
#undef T
#undef K
#undef HIGH
#undef SIGNED
#undef REAL
