/* library.c: the fake driver for libraries (library.h), and memory that is set or copied by rows, which is work of the
 * same sort. */
#include "tests/cuda/fake/library.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

void fake_library_holds(int change) {
    fake_lock();
    fake_library_context()->held_by_libraries += change;
    fake_unlock();
}

void fake_library_launch(const char *name, CUstream stream, CUfunction function, const fake_use *uses, int nwords,
                         const uint64_t *words) {
    fake_work_launch(name, stream, function, uses, nwords, words);
    fake_lock();
    fake_now.libraries++;
    fake_unlock();
}

int fake_library_capability(void) {
    const char *text = getenv("NEAP_FAKE_CAPABILITY");
    return text ? atoi(text) : 90;
}

void fake_library_half(void) {
    fake_lock();
    fake_now.halves++;
    fake_unlock();
}

uint64_t fake_library_halves(void) {
    fake_lock();
    const uint64_t n = fake_now.halves;
    fake_unlock();
    return n;
}

uint64_t fake_library_launches(void) {
    fake_lock();
    const uint64_t n = fake_now.libraries;
    fake_unlock();
    return n;
}

/* ---- Memory that is set ------------------------------------------------------------------------------------------ */

typedef struct set_rows {
    uint64_t value, item, row_bytes, width, height;
} set_rows;

static void set_memory_rows(void *const *buffers, const uint64_t *words, uint64_t group) {
    set_rows set;
    (void)group;
    memcpy(&set, words, sizeof set);
    for (uint64_t row = 0; row < set.height; row++)
        for (uint64_t k = 0; k < set.width; k++)
            memcpy((char *)buffers[0] + row * set.row_bytes + k * set.item, &set.value, set.item);
}

static CUresult enqueue_set(const char *name, CUdeviceptr to, set_rows set, CUstream stream) {
    static struct CUfunc_st function = {.name = "set", .nbuffers = 1, .entry = set_memory_rows};
    uint64_t words[sizeof set / sizeof(uint64_t)];
    CUresult result = fake_library_call(name);
    if (result)
        return result;
    if (set.width == 0 || set.height == 0 || set.row_bytes < set.width * set.item || to % set.item)
        return CUDA_ERROR_INVALID_VALUE;
    const fake_use use = {(const void *)(uintptr_t)to, (set.height - 1) * set.row_bytes + set.width * set.item};
    memcpy(words, &set, sizeof set);
    fake_work_launch(name, stream, &function, &use, (int)(sizeof set / sizeof *words), words);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    return enqueue_set(__func__, to, (set_rows){value, 1, bytes, bytes, 1}, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t row_bytes, unsigned int value, size_t width, size_t height,
                            CUstream stream) {
    if (row_bytes > INT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    return enqueue_set(__func__, to, (set_rows){value, 4, row_bytes, width, height}, stream);
}

/* ---- Rows that are copied ---------------------------------------------------------------------------------------- */

static void copy_rows(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    for (uint64_t row = 0; row < words[3]; row++)
        memcpy((char *)buffers[1] + row * words[1], (const char *)buffers[0] + row * words[0], words[2]);
}

/* The driver may refuse a pitch that is not its own: this one does so each third time. */
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    static struct CUfunc_st function = {.name = "copy", .nbuffers = 2, .entry = copy_rows};
    static _Atomic unsigned asked;
    CUresult result = fake_library_call(__func__);
    if (!result && ++asked % 3 == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    const uint64_t words[] = {copy->srcPitch, copy->dstPitch, copy->WidthInBytes, copy->Height};
    if (copy->srcMemoryType != CU_MEMORYTYPE_DEVICE || copy->dstMemoryType != CU_MEMORYTYPE_DEVICE || !words[2] ||
        !words[3] || words[0] < words[2] || words[1] < words[2] || words[0] > INT32_MAX || words[1] > INT32_MAX ||
        copy->srcXInBytes || copy->srcY || copy->dstXInBytes || copy->dstY)
        return CUDA_ERROR_INVALID_VALUE;
    const fake_use uses[2] = {{(const void *)(uintptr_t)copy->srcDevice, (words[3] - 1) * words[0] + words[2]},
                              {(const void *)(uintptr_t)copy->dstDevice, (words[3] - 1) * words[1] + words[2]}};
    fake_work_launch(__func__, stream, &function, uses, 4, words);
    return CUDA_SUCCESS;
}
