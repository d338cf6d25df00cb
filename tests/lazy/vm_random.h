/* vm_random.h: what tests of the VM draw kernels from: numbers, elements, buffers, maps; and how results are
 * compared. */
#ifndef NEAP_TESTS_LAZY_VM_RANDOM_H
#define NEAP_TESTS_LAZY_VM_RANDOM_H

#include <stdlib.h>

#include "lazy/vm/vm.h"
#include "ops_gen.h"
#include "tests/check.h"

static uint64_t seed = 88172645463325252ull;
static uint64_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}
static int64_t below(int64_t n) {
    return (int64_t)(next() >> 11) % n;
}

static inline bool is_complex(int dtype) {
    return neap_dtype_kind(dtype) == 'c';
}

static inline void random_element(int dtype, void *out) {
    if (is_complex(dtype)) {
        random_element(dtype_of_part(dtype), out);
        random_element(dtype_of_part(dtype), (char *)out + neap_dtype_bytes(dtype) / 2);
        return;
    }
    static const double special[] = {0.0, -0.0, 1, -1, 2, 0.5, 1e30, -1e30, 3e9, 1e-40, -7};
    double x = below(8) == 0 ? special[below(11)] : (double)(below(20001) - 10000) / 1000;
    if (below(60) == 0)
        x = below(3) == 0 ? __builtin_nan("") : below(2) ? __builtin_inf() : -__builtin_inf();
    lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype](out, &x, &x, &x, 1);
}

static inline void *random_buffer(int dtype, int64_t n) {
    int width = neap_dtype_bytes(dtype);
    char *data = malloc((size_t)((n + 1) * width));
    for (int64_t i = 0; i < n; i++)
        random_element(dtype, data + i * width);
    return data;
}

/* A map over some axes that reads a box of its own: axes in a random order, some skipped, flipped or spread.
 * Returns the elements that the base needs. */
static inline int64_t random_map(int naxes, const int64_t *shape, bool write, lazy_wide_map *map) {
    int order[LAZY_MAX_DOMAIN];
    int64_t size = 1;
    bool plain = below(2) == 0;
    for (int k = 0; k < naxes; k++)
        order[k] = k;
    for (int k = naxes - 1; k > 0 && !plain; k--) {
        int j = (int)below(k + 1), t = order[k];
        order[k] = order[j], order[j] = t;
    }
    *map = (lazy_wide_map){.offset = below(3) * (plain ? 0 : 1)};
    for (int j = naxes - 1; j >= 0; j--) {
        int k = order[j];
        if (!write && below(5) == 0 && !(plain && j == naxes - 1))
            continue;
        if (!plain && below(6) == 0)
            size *= 2;
        map->stride[k] = size;
        if (!plain && below(5) == 0) {
            map->stride[k] = -size;
            map->offset += size * (shape[k] - 1);
        }
        size *= shape[k] > 0 ? shape[k] : 1;
    }
    return size + 3;
}

/* f32 twice as often as others, halves seldom. */
static inline int random_dtype(void) {
    static const int halves[] = {NEAP_DTYPE_F16, NEAP_DTYPE_BF16};
    int dtype = (int)below(NEAP_DTYPE_COUNT + 1);
    if (dtype < NEAP_DTYPE_COUNT && !dtype_is_half(dtype))
        return dtype;
    return below(6) ? NEAP_DTYPE_F32 : halves[below(2)];
}

/* One that reductions have loops for. */
static inline int random_plain_dtype(void) {
    int dtype = random_dtype();
    return dtype_is_half(dtype) ? NEAP_DTYPE_F32 : dtype;
}

/* Drawn from the maps alone, so that rows of other classes do not change the samples. */
static inline int random_map_op(void) {
    static int maps[LAZY_OP_COUNT], n = 0;
    static bool listed = false;
    for (int op = 0; op < LAZY_OP_COUNT && !listed; op++)
        if (lazy_ops[op]->kind == LAZY_MAP)
            maps[n++] = op;
    listed = true;
    return maps[below(n)];
}

/* The dtype of a map's result. */
static inline int result_of(const lazy_op *row, int dtype) {
    lazy_aval in[3] = {{.dtype = (uint8_t)dtype}, {.dtype = (uint8_t)dtype}, {.dtype = (uint8_t)dtype}};
    lazy_call_desc call = {.nin = row->arity, .in = in};
    lazy_result result = {0};
    row->dtype(&call, &result);
    return result.dtype;
}

/* Bits, but any NaN equals any NaN. */
static inline bool same(int dtype, const char *a, const char *b, int64_t bytes) {
    if (is_complex(dtype))
        dtype = dtype_of_part(dtype);
    int width = neap_dtype_bytes(dtype);
    for (int64_t i = 0; i + width <= bytes; i += width) {
        if (memcmp(a + i, b + i, (size_t)width) == 0)
            continue;
        lazy_scalar x = {0}, y = {0};
        memcpy(&x, a + i, (size_t)width), memcpy(&y, b + i, (size_t)width);
        double left = dtype_number(dtype, &x), right = dtype_number(dtype, &y);
        if (left == left || right == right)
            return false;
    }
    return true;
}

#endif
