/* fake.h: a driver that stands in for CUDA's in tests: what tests steer and see of it, and what its files share.
 *
 * It has devices without hardware. Their memory is the host's, at addresses that nobody on the host can use (FOREIGN);
 * each stream has a thread, which does its items in order. It holds its user to the rules of the driver: whoever breaks
 * one is told of it on the standard error, and the process aborts. What the real driver leaves to chance it forbids.
 *
 *      stream:  head ──▶ copy ──▶ host function ──▶ record ──▶ wait ◀── tail
 *
 * Code is for the target "host" (lazy/native/gpu.h): an object file, whose entries the threads of streams run, group
 * after group, by turns from the first and from the last one on. PTX is taken, too, but does nothing.
 *
 * The environment steers it where there is no C: NEAP_FAKE_DEVICES and NEAP_FAKE_MEMORY (bytes of each) say what there
 * is, NEAP_FAKE_HOST=0 that launches without code are not done, and NEAP_FAKE_PTX=1 that code is PTX for sm_90, both as
 * with a GPU; NEAP_FAKE_CAPABILITY=75 makes that sm_75. NEAP_FAKE_FAIL=N[:CODE] makes call N fail,
 * NEAP_FAKE_BREAK=N[:CODE] item N of device 0, and NEAP_FAKE_DELAY=US holds each item up for a random time.
 * NEAP_FAKE_VERSION=12080 is the CUDA that it is of. NEAP_FAKE_KEEPS=1 lets it file PTX that it "compiles" in
 * CUDA_CACHE_PATH, by text, capability and version; fake_compiled() tells how many texts were not found there.
 */
#ifndef NEAP_TESTS_CUDA_FAKE_H
#define NEAP_TESTS_CUDA_FAKE_H

#include <stdint.h>

#include "engine/cuda/driver.h"
#include "lazy/native/gpu.h"

enum { FAKE_DEVICES = 8 };

typedef struct fake_counts {
    uint64_t calls;                                            /* that may fail, ever */
    uint64_t enqueued;                                         /* launches, also of host functions, ever */
    uint64_t kernels, hosts, copies, peers, records, waits;    /* items done, ever */
    uint64_t synchronized;                                     /* calls that waited for the device, ever */
    uint64_t contexts, streams, events, modules, blocks, pins; /* that exist now */
    uint64_t bytes;                                            /* of blocks, now */
    uint64_t addresses;                                        /* of launches without code, asked for, ever */
    uint64_t loaded;                                           /* modules, ever */
    uint64_t libraries, halves;                                /* launches of libraries, ever; with halves */
    uint64_t graphs, graphs_run;                               /* graphs that exist now; those enqueued, ever */
    uint64_t changes;                                          /* of nodes of graphs that are made, ever */
    uint64_t last[8];                                          /* the first parameters of the last kernel */
} fake_counts;

/* Found by dlsym as "fake_driver". */
typedef struct fake_controls {
    void (*count)(fake_counts *out);
    /* The n-th next call that may fail returns `code`; 0: none. Returns what was left of the last such count. */
    int64_t (*fail)(int64_t n, CUresult code);
    void (*break_item)(int device, int64_t n, CUresult code); /* the n-th next item done there loses the device */
    void (*hold)(int device, bool hold);                      /* its streams do no work meanwhile */
    void (*memory)(size_t bytes);                             /* of each device */
} fake_controls;

/* ---- Between its files: the caller of all these holds `fake.mutex` ----------------------------------------------- */
typedef enum fake_what { FAKE_COPY, FAKE_HOST, FAKE_KERNEL, FAKE_RECORD, FAKE_WAIT, FAKE_ALLOC, FAKE_FREE } fake_what;

typedef struct fake_record { /* a point in a stream */
    int refs;                /* of its item, its event, and waits */
    bool passed;
} fake_record;

typedef struct fake_block { /* of a device, or pinned memory of the host */
    struct fake_block *next;
    CUcontext context; /* of a device's memory */
    char *data;
    size_t bytes;
    int users; /* items that have not been done */
    bool ready, freed;
    CUstream freed_in; /* work of this stream may have its memory at once */
} fake_block;

enum { FAKE_MAX_PARAMETERS = 512, FAKE_MAX_BLOCKS = 64 };

typedef struct fake_launch {
    CUfunction function;
    unsigned groups;
    int nblocks;
    fake_block *blocks[FAKE_MAX_BLOCKS]; /* that it uses */
    uint64_t parameters[FAKE_MAX_PARAMETERS];
} fake_launch;

typedef struct fake_item {
    struct fake_item *next;
    fake_what what;
    fake_block *blocks[2]; /* that it uses, or makes ready, or frees */
    fake_record *record;
    void *to;
    const void *from;
    size_t bytes;
    CUhostFn fn;
    void *arg;
    fake_launch *launch; /* OWNED */
    void *taken;         /* OWNED: a copy of what is copied from pageable memory */
    CUgraphExec last_of; /* the graph whose last item it is; NULL: none */
} fake_item;

struct CUfunc_st {
    char name[64];
    int nparameters, nbuffers;
    unsigned shared;
    int users;       /* launches that have not been done */
    int nodes;       /* of graphs */
    gpu_entry entry; /* of an object file; NULL: PTX */
};

struct CUctx_st {
    int ordinal, retained;
    CUresult lost;
    int copying; /* streams that move bytes just now */
    bool held;
    int64_t break_in; /* items; 0: never */
    CUresult break_code;
    fake_block *blocks, *pins;
    CUmodule modules;
    CUgraph graphs;
    CUgraphExec made; /* graphs */
    uint64_t streams, events, bytes;
    size_t reserved, piece; /* by its pool; the largest that came back to it */
    int held_by_libraries;  /* handles, plans */
    unsigned peers;         /* devices for which its pool was opened, a bit for each */
};

#pragma GCC visibility push(default) /* libraries use these, too (library.h) */
void fake_complain(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void fake_lock(void);
void fake_unlock(void);
#pragma GCC visibility pop
void fake_wait(void *changed); /* until a condition of a stream changes; NULL: until something has happened */
void fake_happened(void);      /* to those who wait for the device */
extern fake_counts fake_now;
extern int fake_delay;                  /* us */
extern _Thread_local bool fake_in_host; /* this thread runs a host function */

/* driver.c: what its functions begin and end with; the lock is taken by the first, and dropped by the last. */
void fake_enter(const char *name, bool context); /* context: it needs a current one */
CUresult fake_meet(bool context);                /* of calls that may fail: whether this one does */
CUresult fake_leave(CUresult result);
#define BEGIN(context)                                                                                                 \
    fake_enter(__func__, context);                                                                                     \
    CUresult result = fake_meet(context);                                                                              \
    if (result)                                                                                                        \
    return fake_leave(result)
CUcontext fake_context_now(void);
void fake_check_stream(const char *name, CUstream stream);
/* A block of a device that work is about to use. */
fake_block *fake_check_block(const char *name, CUcontext context, CUdeviceptr memory, size_t bytes);
void fake_enqueue_item(CUstream stream, fake_item item);
bool fake_can_launch(const CUDA_KERNEL_NODE_PARAMS *how);
void fake_launch_now(CUstream stream, CUfunction function, unsigned groups, void **parameters, CUgraphExec last_of);

/* graphs.c */
void fake_graph_done(CUgraphExec graph); /* its last item */
void fake_free_graphs(CUcontext context);

/* streams.c */
void fake_enqueue(CUstream stream, fake_item *item); /* TAKES */
bool fake_idle(CUstream stream);
CUcontext fake_stream_context(CUstream stream);
CUstream fake_stream_make(CUcontext context);
void fake_stream_end(CUstream stream); /* waits for its thread; drops the lock meanwhile */
void fake_wake_streams(void);          /* all of them may go on */
void fake_lose(CUcontext context, CUresult code);
void fake_record_drop(fake_record *record);
fake_block *fake_block_at(fake_block *first, const void *address, size_t bytes); /* NULL: none */
void *fake_host_memory(const void *address);                                     /* without FOREIGN */
void *fake_foreign(void *memory);

#endif
