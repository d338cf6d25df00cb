/* vm_put.c (under tsan with --long): rows written and combined at places that are data, against a loop over one
 * element after another: every dtype of elements and of indices, every instruction set, one thread and several. */
#include "tests/lazy/vm_random.h"

/* Any index of the dtype: inside mostly, from the end, and outside on both sides. */
static void random_index(int dtype, int64_t size, void *out) {
    static const int64_t far[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, UINT32_MAX, -1, 1000000};
    int64_t at = below(3) ? below(size) : below(4 * size) - 2 * size;
    at = below(10) ? at : far[below(7)];
    switch (dtype) {
#define STORE_INDEX(NAME, name, kind, I, ...)                                                                          \
    case NEAP_DTYPE_##NAME:                                                                                            \
        *(I *)out = (I)at;                                                                                             \
        break;
        NEAP_DTYPE_INTEGER_ROWS(STORE_INDEX)
    }
}

static int64_t index_value(int dtype, const void *index, int64_t k) {
    switch (dtype) {
#define READ_INDEX(NAME, name, kind, I, ...)                                                                           \
    case NEAP_DTYPE_##NAME:                                                                                            \
        return dtype_index(kind, (uint64_t)((const I *)index)[k]);
        NEAP_DTYPE_INTEGER_ROWS(READ_INDEX)
    }
    return 0;
}

static void put_naively(const vm_put *put, char *out) {
    int width = neap_dtype_bytes(put->dtype);
    static const int ops[LAZY_PUTS] = {0, LAZY_OP_add, LAZY_OP_multiply, LAZY_OP_maximum, LAZY_OP_minimum};
    lazy_loop combine = put->how ? lazy_simd_baseline.map[ops[put->how]][put->dtype].by_scalars[0] : NULL;
    for (int64_t o = 0; o < put->outer; o++)
        for (int64_t k = 0; k < put->n; k++) {
            int64_t at = index_value(put->index_dtype, put->indices, k);
            at = at < 0 ? at + put->size : at;
            for (int64_t i = 0; i < put->inner && at >= 0 && at < put->size; i++) {
                char *to = out + ((o * put->size + at) * put->inner + i) * width;
                const char *from = (const char *)put->updates + ((o * put->n + k) * put->inner + i) * width;
                if (combine)
                    combine(to, to, from, from, 1);
                else
                    memcpy(to, from, (size_t)width);
            }
        }
}

static void try_put(vm_put put) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    int width = neap_dtype_bytes(put.dtype), index_width = neap_dtype_bytes(put.index_dtype);
    int64_t count = put.outer * put.size * put.inner, bytes = count * width;
    char *x = random_buffer(put.dtype, count), *updates = random_buffer(put.dtype, put.outer * put.n * put.inner);
    char *expected = malloc((size_t)bytes + 1), *out = malloc((size_t)bytes + 1);
    char *indices = malloc((size_t)((put.n + 1) * index_width));
    for (int64_t k = 0; k < put.n; k++)
        random_index(put.index_dtype, put.size, indices + k * index_width);
    put.updates = updates, put.indices = indices, put.out = out;
    memcpy(expected, x, (size_t)bytes);
    put_naively(&put, expected);
    for (int variant = 0; variant < 6; variant++) {
        neap_run run = {.device = 0, .worker = -1};
        if (vm_isa_set(sets[variant / 2]) != NEAP_OK)
            continue;
        memcpy(out, x, (size_t)bytes);
        vm_put_rows(&put, variant & 1 ? &run : NULL);
        if (!CHECK(same(put.dtype, out, expected, bytes)))
            fprintf(stderr, "%s put %d of %s at %s: outer %d, size %d, inner %d, n %d, variant %d\n", sets[variant / 2],
                    put.how, neap_dtype_name(put.dtype), neap_dtype_name(put.index_dtype), (int)put.outer,
                    (int)put.size, (int)put.inner, (int)put.n, variant);
    }
    free(x), free(updates), free(indices), free(expected), free(out);
}

int main(void) {
    static const int64_t sizes[] = {1, 2, 3, 16, 100, 1000}, inners[] = {1, 1, 1, 2, 3, 8, 17, 64, 100};
    static const int64_t ns[] = {0, 1, 15, 16, 17, 31, 200, 511, 512, 513, 1024, 2000};
    neap_engine_start(&(neap_engine_config){.workers = 7});
    vm_limit.parallel_min = vm_limit.task_min = 1;
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
        for (int index = NEAP_DTYPE_BOOL + 1; index < NEAP_DTYPE_COUNT; index++)
            for (int how = 0; !dtype_is_inexact(index) && how < LAZY_PUTS && vm_simd()->scatter->put[how][dtype]; how++)
                for (int k = 0; k < check_times(4, 1); k++)
                    try_put((vm_put){.dtype = (uint8_t)dtype,
                                     .index_dtype = (uint8_t)index,
                                     .how = how,
                                     .outer = below(4) ? 1 : 1 + below(20),
                                     .size = sizes[below(6)],
                                     .inner = inners[below(9)],
                                     .n = ns[below(12)]});
    try_put((vm_put){.dtype = NEAP_DTYPE_F32, .index_dtype = NEAP_DTYPE_I32, .outer = 3, .size = 5, .n = 9});
    neap_engine_stop();
    return check_end();
}
