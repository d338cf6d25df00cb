/* backend_cuda.h: calls on devices of the kind "cuda" (backend_cuda_calls.c), as lazy_backend has them. */
#ifndef LAZY_BACKEND_CUDA_H
#define LAZY_BACKEND_CUDA_H

#include "lazy/vm/backend.h"

const char *vm_cuda_call_lacks(const lazy_call *call, int device);
void vm_cuda_call_ask(lazy_call *call, int device);
int vm_cuda_call_prepare(lazy_call *call, int device);
void vm_cuda_call_unprepare(lazy_call *call);
int vm_cuda_call_launches(const lazy_call *call);
bool vm_cuda_call_records(const lazy_call *call); /* no library is needed */
int vm_cuda_call(const lazy_call *call, const int64_t *offsets, const lazy_operands *with, const neap_run *run);

#endif
