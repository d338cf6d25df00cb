/* put.h: rows of an array written or added at places that are data. */
#ifndef LAZY_VM_PUT_H
#define LAZY_VM_PUT_H

#include <stdbool.h>

#include "engine/engine.h"

/* out = x, (outer, size, inner), and then, for each index k in order and all outer o: row (o, index[k]) = updates row
 * (o, k) of (outer, n, inner), or with `add` the sum of both. Negative indices count from the end; those that are out
 * of range are left out. */
typedef struct vm_put {
    void *out;
    const void *x; /* may be `out` */
    const void *indices, *updates;
    uint8_t dtype, index_dtype; /* of an integer dtype the indices */
    bool add;
    int64_t outer, size, inner, n;
} vm_put;

/* Splits the rows of the result over the workers. Each row takes its updates in order, so the result does not depend on
 * how many there are. */
void vm_put_rows(const vm_put *put, const neap_run *run);

#endif
