/* vm_rows.h: all rows of maps and casts of a dtype, as instructions over the same inputs. */
#ifndef NEAP_TESTS_LAZY_VM_ROWS_H
#define NEAP_TESTS_LAZY_VM_ROWS_H

#include "tests/lazy/vm_random.h"

/* Inputs: a condition, three operands of the dtype, and a number of it. */
enum { ROWS_INPUTS = 5, ROWS_MOST = 400 };

typedef struct rows { /* instruction k gives value ROWS_INPUTS + k */
    lazy_ins ins[ROWS_MOST];
    int n, dtype;
} rows;

static inline void rows_add(rows *r, int op, int result, int32_t a, int32_t b, int32_t c) {
    if (CHECK(r->n < ROWS_MOST))
        r->ins[r->n++] = (lazy_ins){(int16_t)op, (uint8_t)r->dtype, (uint8_t)result, lazy_ops[op]->arity, {a, b, c}};
}

static inline void rows_new(rows *r, int dtype) {
    *r = (rows){.dtype = dtype};
    for (int op = 0; op < LAZY_OP_COUNT; op++) {
        const lazy_op *row = lazy_ops[op];
        if (row->kind != LAZY_MAP)
            continue;
        for (int to = 0; row->flags & LAZY_OP_CASTS && to < NEAP_DTYPE_COUNT; to++)
            if (vm_simd()->cast[dtype][to])
                rows_add(r, op, to, 1, 1, 1);
        if (row->flags & LAZY_OP_CASTS || !vm_simd()->map[op][dtype].by_scalars[0])
            continue;
        rows_add(r, op, result_of(row, dtype), row->dtype == graph_dtype_where ? 0 : 1, 2, 3);
        if (row->arity == 2)
            rows_add(r, op, result_of(row, dtype), 4, 2, 2);
    }
}

#endif
