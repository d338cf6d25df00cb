/* device_cpu.c: the CPU as a kind of device: no streams, all work is done when a call returns.
 *
 * All CPU devices are one memory and one handle; what tells them apart is only the number under which ops are queued.
 * Large blocks are aligned to huge pages and ask for them: touching new memory costs a sixth so.
 */
#include "engine/device_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { ALIGN = 64, PAGES = 64 * 1024 /* a multiple of every page size */ };

static const size_t HUGE = (size_t)2 << 20;

static int cpu_count(void) {
    return engine_phase() == ENGINE_RUNNING ? engine.cpus : 1;
}

static int open_none(int index, neap_device **out) {
    (void)out;
    return neap_error(NEAP_E_ARGUMENT, "there is no device cpu:%d: the engine was started with %d", index, cpu_count());
}

static void close_none(neap_device *device) {
    (void)device;
}

static int cpu_facts(neap_device *device, neap_device_facts *out) {
    (void)device;
    struct utsname system;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    *out = (neap_device_facts){
        .memory_bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0,
        .host_memory = 1,
        .units = engine.cores,
    };
    snprintf(out->name, sizeof out->name, "%.40s processor", uname(&system) == 0 ? system.machine : "unknown");
    return NEAP_OK;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void *map_huge(size_t bytes) {
    size_t whole = bytes + HUGE;
    char *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    char *block = base + (HUGE - (uintptr_t)base % HUGE) % HUGE;
    if (block > base)
        munmap(base, (size_t)(block - base));
    if (block + bytes < base + whole)
        munmap(block + bytes, (size_t)(base + whole - (block + bytes)));
    madvise(block, bytes, MADV_HUGEPAGE);
    return block;
}

static int cpu_alloc(neap_device *device, neap_stream *stream, size_t bytes, void **out) {
    (void)device, (void)stream;
    size_t unit = bytes >= HUGE ? PAGES : ALIGN, padded = (bytes + unit - 1) / unit * unit;
    bool absurd = bytes > SIZE_MAX - 2 * HUGE;
    *out = absurd ? NULL : bytes >= HUGE ? map_huge(padded) : aligned_alloc(ALIGN, padded);
    return *out ? NEAP_OK : neap_error(NEAP_E_MEMORY, "out of memory: %zu bytes wanted", bytes);
}

static void cpu_free_block(neap_device *device, neap_stream *stream, void *memory, size_t bytes) {
    (void)device, (void)stream;
    if (bytes >= HUGE) {
        munmap(memory, bytes);
    } else {
        free(memory);
    }
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static int cpu_copy(neap_device *device, neap_stream *stream, int direction, void *to, const void *from, size_t bytes) {
    (void)device, (void)stream, (void)direction;
    memcpy(to, from, bytes);
    return NEAP_OK;
}

static int cpu_launch(neap_device *device, neap_stream *stream, const neap_launch *work) {
    (void)device, (void)stream;
    if (!work->host)
        return neap_error(NEAP_E_LIBRARY, "launch of '%s': it has no function for the CPU", work->name);
    return work->host(work);
}

const neap_device_kind engine_cpu_kind = {
    .abi = NEAP_DEVICE_ABI,
    .name = "cpu",
    .count = cpu_count,
    .open = open_none,
    .close = close_none,
    .facts = cpu_facts,
    .alloc = cpu_alloc,
    .free = cpu_free_block,
    .copy = cpu_copy,
    .launch = cpu_launch,
};

static char handle;

engine_device engine_cpu = {.kind = &engine_cpu_kind, .handle = (neap_device *)&handle, .memory = {.host = true}};
