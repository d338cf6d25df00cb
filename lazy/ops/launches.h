/* launches.h: whole-array ops as launches on GPUs: the rules that rows have as .gpu (launches.c). */
#ifndef LAZY_OPS_LAUNCHES_H
#define LAZY_OPS_LAUNCHES_H

#include "lazy/op.h"

const char *launches_cumsum(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_cumprod(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_cummax(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_cummin(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_recurrence(const lazy_call *call, struct vm_gpu_call *plan);

/* sort, argsort; the first of a descending order. */
const char *launches_sort(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_argsort(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_argtop(const lazy_call *call, struct vm_gpu_call *plan);

/* The dtype that a put op reads its indices as (gather.c). */
int put_index_dtype(const lazy_call *call);
const char *launches_put_set(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_put_add(const lazy_call *call, struct vm_gpu_call *plan);

const char *launches_bitcast(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_dynamic_slice(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_dynamic_update_slice(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_searchsorted(const lazy_call *call, struct vm_gpu_call *plan);

const char *launches_threefry(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_random_bits(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_random_floats(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_random_integers(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_random_gamma(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_random_poisson(const lazy_call *call, struct vm_gpu_call *plan);
const char *launches_random_binomial(const lazy_call *call, struct vm_gpu_call *plan);

#endif
