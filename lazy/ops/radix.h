/* radix.h: sorting by unsigned keys, for sort.c: values, and values with their places.
 *
 * Every sort here is stable, so its result is the only one there is: how work is cut changes no bit. A range of
 * elements is dealt out into buckets by the highest digit in which its keys differ, each bucket again, until few
 * elements are left, which are sorted by insertion, or few bits, which two digits from the lowest up sort. The first
 * dealing of a long line is done by all workers, and so are its buckets. Elements that are numbers are left to the
 * instruction set where it has sorts: workers cut a long line into parts by its way to part a range.
 */
#ifndef LAZY_OPS_RADIX_H
#define LAZY_OPS_RADIX_H

#include <stdint.h>

#include "engine/engine.h"
#include "lazy/vm/simd/simd.h"

typedef enum radix_form {
    RADIX_KEYS32, /* uint32_t: keys alone */
    RADIX_KEYS64, /* uint64_t */
    RADIX_PAIR32, /* uint64_t: the key above the place */
    RADIX_PAIR64  /* lazy_pair */
} radix_form;

int radix_bytes(radix_form form);
/* Sorts n elements at `data` by their keys; `spare` has room for as many. On the calling thread. */
void radix_sort(radix_form form, void *data, void *spare, int64_t n);
/* The same by all workers; NEAP_E_MEMORY: there is no memory for its counts. */
int radix_sort_parallel(const neap_run *run, radix_form form, void *data, void *spare, int64_t n);

#endif
