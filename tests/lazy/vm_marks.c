/* vm_marks.c (not under tsan: it has one thread): marks, their places, the best of elements and sorted keys of every
 * instruction set against loops over one element after another: every dtype, extents around those of words and vectors,
 * few and many marks, all kinds of keys.
 */
#include "lazy/ops/radix.h"
#include "tests/lazy/vm_random.h"

static const char *const sets[] = {"baseline", "avx2", "avx512"};
static const int64_t extents[] = {0,   1,   2,   15,  16,  17,  63,  64,   65,   127,
                                  128, 129, 191, 255, 256, 257, 640, 1000, 4096, 4097};

static bool is_marked(const uint64_t *words, int64_t k) {
    return words[k / 64] >> k % 64 & 1;
}

/* What the three marks say of element k, by its value as f64, which has all of the test's values. */
static double value_of(int dtype, const char *x, int64_t k) {
    double value;
    lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](&value, x + k * neap_dtype_bytes(dtype), NULL, NULL, 1);
    return value;
}

static void try_marks(int dtype, int64_t n) {
    const lazy_marks *marks = vm_simd()->marks;
    const int width = neap_dtype_bytes(dtype);
    char *x = random_buffer(dtype, n + 1);
    uint64_t *words = malloc((size_t)(n / 64 + 2) * sizeof *words);
    bool right = true;
    for (int64_t k = 1; k <= n; k++)
        if (below(3) == 0)
            memcpy(x + k * width, x + (k - 1) * width, (size_t)width);
        else if (below(3) == 0)
            memset(x + k * width, 0, (size_t)width);
    marks->nonzero[dtype](words, x + width, n);
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) {
        right &= is_marked(words, k) == (value_of(dtype, x, k + 1) != 0);
        count += is_marked(words, k);
    }
    right &= marks->count(words, n) == count;
    marks->changes[dtype](words, x + width, n);
    for (int64_t k = 0; k < n; k++) {
        const double a = value_of(dtype, x, k), b = value_of(dtype, x, k + 1);
        right &= is_marked(words, k) == (a != b && (a == a || b == b));
    }
    for (int64_t k = n; k % 64 != 0; k++)
        right &= !is_marked(words, k);
    const double bound = value_of(dtype, x, 0);
    for (int64_t from = 0, next; from < n; from = next + 64) {
        uint64_t word;
        next = marks->above[dtype](&word, x + width, from, n, x);
        for (int64_t k = from; k < next + 64 && k < n; k++)
            right &= (value_of(dtype, x, k + 1) > bound) == (k >= next && (word >> (k - next) & 1));
        right &= next < n ? word != 0 : word == 0 && next == n;
    }
    if (!CHECK(right))
        fprintf(stderr, "marks of %d %s, %s\n", (int)n, neap_dtype_name(dtype), vm_isa_name());
    free(x), free(words);
}

/* Of a complex dtype, whose elements are only told from 0. */
static void try_nonzero(int dtype, int64_t n) {
    const int width = neap_dtype_bytes(dtype), part = dtype_of_part(dtype);
    char *x = random_buffer(dtype, n + 1);
    uint64_t *words = malloc((size_t)(n / 64 + 2) * sizeof *words);
    bool right = true;
    for (int64_t k = 0; k < n; k++)
        if (below(2))
            memset(x + k * width + below(2) * width / 2, 0, (size_t)width / 2);
    vm_simd()->marks->nonzero[dtype](words, x, n);
    for (int64_t k = 0; k < n; k++)
        right &= is_marked(words, k) == (value_of(part, x, 2 * k) != 0 || value_of(part, x, 2 * k + 1) != 0);
    if (!CHECK(right))
        fprintf(stderr, "marks of %d %s, %s\n", (int)n, neap_dtype_name(dtype), vm_isa_name());
    free(x), free(words);
}

/* `often`: one of so many bits is set. What is behind the result stays. */
static void try_places(int64_t n, int64_t often) {
    uint64_t *words = calloc((size_t)(n / 64 + 2), sizeof *words);
    int64_t count = 0, base = 1000 * below(3), k = 0;
    for (int64_t i = 0; i < n; i++)
        words[i / 64] |= (uint64_t)(below(often) == 0) << i % 64;
    count = vm_simd()->marks->count(words, n);
    int32_t *narrow = malloc((size_t)(count + 1) * sizeof *narrow);
    int64_t *wide = malloc((size_t)(count + 1) * sizeof *wide);
    narrow[count] = -7, wide[count] = -7;
    vm_simd()->marks->places[0](narrow, words, count, base);
    vm_simd()->marks->places[1](wide, words, count, base + INT64_C(0x300000000));
    bool right = narrow[count] == -7 && wide[count] == -7;
    for (int64_t i = 0; i < n; i++)
        if (is_marked(words, i)) {
            right &= narrow[k] == base + i && wide[k] == base + i + INT64_C(0x300000000);
            k++;
        }
    if (!CHECK(right && k == count))
        fprintf(stderr, "places of %d, one of %d, %s\n", (int)n, (int)often, vm_isa_name());
    free(words), free(narrow), free(wide);
}

/* ---- The best -------------------------------------------------------------------------------------------------- */
static bool is_better(int op, double a, double b) {
    return b == b && (a != a || (op == LAZY_OP_argmax ? a > b : a < b));
}

/* `rises`: few different values, each element at least as good as the one before. NaNs are there by chance. The best
 * is sought in pieces, as kernels do. */
static void try_best(int op, int dtype, int64_t n, bool rises) {
    const lazy_choice *choice = &vm_simd()->folds->choice[op][dtype];
    const int width = neap_dtype_bytes(dtype);
    char *x = random_buffer(dtype, n);
    int64_t expected = -1;
    int32_t index = -1;
    double best;
    for (int64_t k = 1; k < n && rises; k++)
        if (below(9) > 0 || is_better(op, value_of(dtype, x, k - 1), value_of(dtype, x, k)))
            memcpy(x + k * width, x + (k - 1) * width, (size_t)width);
    for (int64_t k = 0; k < n && below(2); k++) /* without NaN, so that those behind others are met */
        if (value_of(dtype, x, k) != value_of(dtype, x, k))
            memset(x + k * width, 0, (size_t)width);
    for (int64_t k = 0; k < n; k++)
        if (expected < 0 || is_better(op, value_of(dtype, x, k), value_of(dtype, x, expected)))
            expected = k;
    for (int64_t at = 0, count; at < n; at += count) {
        count = below(3) == 0 ? 1 + below(n - at) : n - at;
        choice->first(&best, &index, x + at * width, count, (int32_t)at);
    }
    if (!CHECK(index == expected))
        fprintf(stderr, "%s of %d %s, %s: %d, expected %d\n", lazy_ops[op]->name, (int)n, neap_dtype_name(dtype),
                vm_isa_name(), (int)index, (int)expected);
    free(x);
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */
static int compare32(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
static int compare64(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Random keys, few different ones, rising, falling, organ pipes, all the least and greatest. */
enum { KINDS = 7 };
static uint64_t key_of(int kind, int64_t k, int64_t n) {
    switch (kind) {
    case 0:
        return next();
    case 1:
        return next() % 5;
    case 2:
        return (uint64_t)k;
    case 3:
        return (uint64_t)(n - k);
    case 4:
        return (uint64_t)(k < n / 2 ? k : n - k) << 32 | (uint64_t)(k < n / 2 ? k : n - k);
    case 5:
        return below(2) ? UINT64_MAX : 0;
    }
    return UINT64_MAX;
}

static uint64_t key_at(const char *keys, int width, int64_t k) {
    return width ? ((const uint64_t *)keys)[k] : ((const uint32_t *)keys)[k];
}

/* `away`: they lie in the spare room. What is behind both stays. */
static void try_keys(int width, int kind, int64_t n, bool away) {
    const size_t bytes = (size_t)n * (width ? 8 : 4);
    char *keys = malloc(bytes + 8), *expected = malloc(bytes + 8), *spare = malloc(bytes + 8);
    char *from = away ? spare : keys, *cut = malloc(bytes + 8), *high = malloc(bytes + 8);
    bool right = true;
    for (int64_t k = 0; k < n; k++) {
        const uint64_t key = key_of(kind, k, n);
        if (width)
            ((uint64_t *)from)[k] = key;
        else
            ((uint32_t *)from)[k] = (uint32_t)key;
    }
    memset(keys + bytes, 0x5a, 8), memset(spare + bytes, 0x5a, 8), memset(expected + bytes, 0x5a, 8);
    memcpy(expected, from, bytes), memcpy(cut, keys, bytes), memcpy(high, spare, bytes);
    qsort(expected, (size_t)n, width ? 8 : 4, width ? compare64 : compare32);
    for (int tries = 0; n > 0 && tries < 3; tries++) {
        const uint64_t middle = tries == 2 ? UINT64_MAX >> (width ? 0 : 32) : key_at(expected, width, below(n));
        memcpy(cut, keys, bytes), memcpy(high, spare, bytes);
        const int64_t low = vm_simd()->sorts->part[width](cut, high, n, middle, away);
        const size_t cut_bytes = (size_t)low * (width ? 8 : 4);
        for (int64_t k = 0; k < n; k++)
            right &= k < low ? key_at(cut, width, k) < middle : key_at(high, width, k) >= middle;
        memcpy(cut + cut_bytes, high + cut_bytes, bytes - cut_bytes);
        qsort(cut, (size_t)n, width ? 8 : 4, width ? compare64 : compare32);
        right &= memcmp(cut, expected, bytes) == 0;
    }
    if (!vm_simd()->sorts->keys[width](keys, spare, n, away)) /* then they are all there, in some order */
        qsort(keys, (size_t)n, width ? 8 : 4, width ? compare64 : compare32);
    right &= memcmp(keys, expected, bytes + 8) == 0 && memcmp(spare + bytes, expected + bytes, 8) == 0;
    if (!CHECK(right))
        fprintf(stderr, "%d keys of width %d, kind %d, away %d, %s\n", (int)n, width, kind, away, vm_isa_name());
    free(keys), free(expected), free(spare), free(cut), free(high);
}

/* Pairs of a key and a place, in sorted runs one behind the other, with many equal keys: pivots of a few samples part
 * them badly, so sets that sort by themselves may give up. Equal keys come in the order of their places, whoever sorts.
 */
static void try_runs(int64_t runs, int64_t length) {
    const int64_t n = runs * length;
    uint64_t *pairs = malloc((size_t)n * sizeof *pairs), *expected = malloc((size_t)n * sizeof *pairs);
    uint64_t *spare = malloc((size_t)n * sizeof *pairs);
    for (int64_t k = 0; k < n; k++) {
        pairs[k] = (uint64_t)(uint32_t)below(1000 * (int)(k / length + 1)) << 32 | (uint64_t)k;
        if (k % length == length - 1)
            qsort(pairs + k + 1 - length, (size_t)length, sizeof *pairs, compare64);
    }
    memcpy(expected, pairs, (size_t)n * sizeof *pairs);
    qsort(expected, (size_t)n, sizeof *expected, compare64);
    radix_sort(RADIX_PAIR32, pairs, spare, n);
    CHECK(memcmp(pairs, expected, (size_t)n * sizeof *pairs) == 0);
    free(pairs), free(expected), free(spare);
}

/* Every width that the set has. */
static void try_all_keys(int64_t n) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int width = 0; width < 2; width++)
            for (int away = 0; away < 2 && vm_simd()->sorts->keys[width]; away++)
                try_keys(width, kind, n, away);
}

int main(void) {
    for (int set = 0; set < 3; set++) {
        if (vm_isa_set(sets[set]) != NEAP_OK)
            continue;
        for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
            for (int dtype = 0; dtype < NEAP_DTYPE_C64; dtype++) {
                if (dtype_is_half(dtype))
                    continue;
                try_marks(dtype, extents[e]);
                for (int k = 0; k < 24; k++)
                    try_best(k % 2 ? LAZY_OP_argmax : LAZY_OP_argmin, dtype, extents[e], k % 4 < 2);
            }
            for (int64_t often = 1; often <= 512; often *= 2)
                try_places(extents[e], often);
            try_nonzero(NEAP_DTYPE_C64, extents[e]);
            try_nonzero(NEAP_DTYPE_C128, extents[e]);
            try_all_keys(extents[e]);
        }
        try_all_keys(check_times(50000, 20000));
        for (int64_t runs = 1; runs <= 6; runs++)
            for (int64_t length = 100; length <= 10000; length *= 10)
                try_runs(runs, length);
    }
    return check_end();
}
