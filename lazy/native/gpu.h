/* gpu.h: kernels as code for GPUs: PTX text for NVIDIA's.
 *
 * A *grid kernel* is a collapsed loop (lazy/loop/loop.h), and how threads share it. Of the loop its loads, instructions
 * and sinks are code; extents, strides, offsets and the numbers of the step are parameters, so kernels that differ in
 * these alone share their code. lazy/vm/gpu.h makes one of a lazy_kernel, with the parameters of its launches.
 *
 *      parameters of every entry:  buffers: one pointer each, in the order of the kernel's slots;
 *                                  with reductions: a pointer to `partial_bytes` of scratch (any, where these are 0);
 *                                  words: 64 bits each, in the order of gpu_word, then extents, maps, numbers
 *      entries:                    "kernel"; with reductions in one stage also "finish", which is launched behind it
 *                                  where rows are cut into blocks. Whole-array ops have their own (gpu_call.h)
 *
 * That is the order of neap_launch (engine/device.h): buffers, then scalars. Groups have one extent, the first one, and
 * so have grids; shared memory is declared by the code.
 *
 * Arithmetic is that of the rows (plugin/gpu_rows.c), so results have the CPU's bits. The same code can be had for the
 * host, one group of threads for each call: threads are then turns of a loop, and what lies between two barriers is a
 * loop of its own. Tests compare that with the VM.
 */
#ifndef LAZY_NATIVE_GPU_H
#define LAZY_NATIVE_GPU_H

#include "lazy/native/gpu_call.h"
#include "lazy/native/native.h"

/* Where a map leads: `flat`: to its offset and the number of the element, counted over the domain; else to the sum of
 * index times stride over the axes whose bits are set. words[word] is the offset, strides follow. */
typedef struct gpu_map {
    bool flat;
    bool along; /* a thread's neighbours in the domain, from a multiple of `each` on, lead to neighbours, from one on */
    bool turned; /* of a tiled kernel: neighbours of its tile_axis lead to neighbours */
    uint32_t axes;
    int32_t word;
} gpu_map;

/* The first words. A domain is [kept axes][reduced axes]; without reductions all axes are kept, and each element is a
 * row of one. */
enum gpu_word {
    GPU_ROWS,       /* elements of the kept axes */
    GPU_REDUCED,    /* elements of a row */
    GPU_GROUP_ROWS, /* rows that a group of threads takes */
    GPU_LEAVES,     /* leaves of a row that are folded at once */
    GPU_WAVES,      /* how often a group does so */
    GPU_BLOCKS,     /* blocks of a row, each taken by a group of its own */
    GPU_EXTENTS     /* of the axes, then the maps */
};

enum { GPU_THREADS = 256, GPU_EACH = 4, GPU_FOLDED = 8, GPU_NEAR = 16, GPU_TILE = 32 };

/* Code of a whole-array op instead of a kernel (gpu_call.h). */
enum { GPU_CALL_ENTRIES = 48 }; /* those of a plan are few; all of a dtype have room */
typedef struct gpu_entries {
    uint8_t dtype; /* whose phases they are */
    int n;
    const char *names[GPU_CALL_ENTRIES];
    int shared_bytes; /* memory of a group */
} gpu_entries;

typedef struct gpu_kernel {
    const lazy_kernel
        *loop;           /* collapsed. NULL: `call` is there instead, and only nbuffers, scratch counted, and nwords */
    const gpu_map *maps; /* of its loads, then of its sinks. TABLE: behind the strides extent and step */
    const bool *chooses; /* by sink: it is REDUCE, to the place of a value in its row */
    const int *levels;   /* loop_levels */
    int nbuffers, nwords;
    int numbers; /* the word of the first number; each takes two */
    int each;    /* elements of a thread whose loads are under way together: 1, GPU_EACH or GPU_FOLDED; of
                     neighbours GPU_EACH to GPU_NEAR */
    int slots;   /* of shared memory, for each reduction: rows of a group * leaves * LAZY_LANES at most */
    bool near;   /* a thread's elements are neighbours, of one line of the last axis; else `along` is not set */
    bool tiled;  /* a group takes a tile of GPU_TILE elements by as many, of `tile_axis` and of the last axis */
    int tile_axis;
    bool reduces; /* there are sinks of one element for each row */
    bool staged;  /* rows are passed over several times: each is one group's, and elements are stored last */
    bool wide;    /* the domain has 2^31 elements or more */
    bool across;  /* neighbours in memory are of different rows */
    const gpu_entries *call;
} gpu_kernel;

/* Whether code for GPUs can be made, or why not. As native_available. */
bool gpu_available(char *text, size_t bytes);

/* All that code depends on, as bytes in which nothing is left undefined, into `to`, if it is not NULL. Returns how
 * many. What is added to gpu_kernel and decides about code belongs here, too. */
size_t gpu_key(const gpu_kernel *kernel, const char *target, char *to);
uint64_t gpu_key_hash(const char *key, size_t bytes);
/* Do they have the same code? */
bool gpu_same(const gpu_kernel *a, const gpu_kernel *b);

/* PTX for a target such as "sm_90": *text is OWNED (free), with a NUL behind its `bytes`. For the target "host" a
 * gpu_host_image. NEAP_E_LIBRARY: there is no generator, or it has none for GPUs; NEAP_E_ARGUMENT. */
int gpu_text(const gpu_kernel *kernel, const char *target, char **text, size_t *bytes);
/* The same, of a kernel with this key for the target; what an earlier process has made is found in its file
 * (native/cache.c), what this one makes is kept there. */
int gpu_text_of_key(const gpu_kernel *kernel, const char *target, const char *key, size_t key_bytes, char **text,
                    size_t *bytes);

/* ---- The same on the host, for tests ----------------------------------------------------------------------------- */
/* What a driver that stands in for CUDA's in tests takes in place of PTX: this, then an object file of `bytes` bytes,
 * whose functions are entries, each a gpu_entry. */
#define GPU_HOST_MAGIC "neapgpu"
typedef struct gpu_host_image {
    char magic[8];
    int32_t nbuffers, nwords; /* the parameters of each entry */
    uint64_t bytes;
} gpu_host_image;

typedef struct gpu_code gpu_code;
/* Does what group `group` of an entry does; with GPU_BACKWARDS added its threads take their turns from the last one on,
 * which shows whether one relies on another without a barrier between them. */
#define GPU_BACKWARDS (UINT64_C(1) << 63)
typedef void (*gpu_entry)(void *const *buffers, const uint64_t *words, uint64_t group);

/* OWNED (gpu_code_free). */
int gpu_code_new(const gpu_kernel *kernel, gpu_code **out);
gpu_entry gpu_code_entry(const gpu_code *code, const char *name);
void gpu_code_free(gpu_code *code);

/* Of shared memory: waves of a group, or blocks of a row, and rows of a group, at most. */
static inline int gpu_waves_max(const gpu_kernel *kernel) {
    return kernel->slots / 4;
}
static inline int gpu_rows_max(const gpu_kernel *kernel) {
    return kernel->slots / LAZY_LANES;
}

/* Scratch between the launches is areas of 16 bytes for each block of each row: one for a reduction's value, and one
 * for its place. */
enum { GPU_PARTIAL = 16 };
static inline int gpu_areas_before(const gpu_kernel *kernel, int sink) {
    int areas = 0;
    for (int k = 0; k < sink; k++)
        areas += kernel->loop->sinks[k].kind == LAZY_SINK_REDUCE ? 1 + kernel->chooses[k] : 0;
    return areas;
}

#endif
