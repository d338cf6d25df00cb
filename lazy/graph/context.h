/* context.h: the context of one Lua state, made of what its modules keep in it.
 *
 *   neap_ctx ─┬─ handles:   id → node                     (what Lua holds)
 *             ├─ pending:   nodes recorded since the last flush; the context holds one reference on each, so what a
 *             │             flush computes depends on what was recorded and not on which handles Lua has freed
 *             ├─ start:     whether recorded work may start now
 *             ├─ levels:    open tapes and traces, and the nodes that belong to them
 *             ├─ plans:     structure of a flushed region → its steps
 *             └─ …          one structure for each further owner
 *
 * A structure is written by the file named above it; others read it, or call that file.
 */
#ifndef LAZY_CONTEXT_H
#define LAZY_CONTEXT_H

#include <stdatomic.h>

#include "lazy/graph/node.h"
#include "lazy/graph/table.h"

typedef struct lazy_effect lazy_effect; /* a print or a callback inside a trace (effect.h) */
typedef struct lazy_callback lazy_callback;
typedef struct neap_program neap_program;
typedef struct neap_jit neap_jit;
typedef struct neap_transcript neap_transcript;
struct graph_note;

/* node.c */
typedef struct lazy_handles {
    LAZY_VECTOR(neap_node *) slots; /* [0] is unused */
    LAZY_VECTOR(int32_t) ids;       /* id of a used slot, 0 */
    LAZY_VECTOR(int32_t) unused;    /* slots without a node */
    LAZY_VECTOR(uint16_t) generations;
    uint64_t live;
} lazy_handles;

typedef struct lazy_blocks {
    neap_node *dead; /* nodes about to be freed, or to give their data back */
    void *free[16];  /* free lists of nodes by size */
} lazy_blocks;

/* record.c, plan/run.c */
typedef struct lazy_pending {
    lazy_nodes nodes;
    int64_t n;         /* of `nodes`, those that are still pending */
    int64_t bytes;     /* that a flush would write, without what is fused away */
    int64_t unread;    /* of these bytes, those that the newest node keeps from being written (plan/run.c) */
    int64_t exchanges; /* how many of the pending nodes are exchanges with other processes */
    int64_t most_nodes, most_bytes;
    int64_t left;         /* bytes of what stands in `nodes` and is pending no more */
    bool short_of_memory; /* the last flush of everything found no memory for some of it */
} lazy_pending;

/* plan/start.c */
typedef struct lazy_start {
    int hold;           /* > 0: recording does not flush */
    int expanding;      /* how many of these holds are for ops on meshed arrays (mesh/spmd.c) */
    int deferring;      /* > 0: deferred mode (program/deferred.c) */
    bool aside;         /* what is recorded is born a recipe (neap_aside) */
    bool any_deferred;  /* arrays of it may be without their values */
    bool has_calls;     /* a call was recorded during the hold */
    int64_t first_call; /* the first pending node that may be such a call */
    lazy_nodes arena;   /* nodes that rules have built, released when hold returns to 0 */
} lazy_start;

/* level.c */
enum { LAZY_MAX_LEVELS = 32 };
enum { LAZY_RULES_AS_THEY_ARE, LAZY_RULES_KEPT, LAZY_RULES_USED };
typedef struct lazy_level {
    bool open, trace;
    bool closed;         /* a trace that captures what it reads from outside (graph/capture.c) */
    bool stages;         /* a closed trace whose program makes what it reads of its own constants; others capture it */
    bool derived;        /* a closed trace that derives a program of another: it leaves alone what no level knows */
    bool lowers;         /* a trace in which what lies on a mesh has blocks (program/lower.h) */
    bool without_device; /* those blocks are committed to no device */
    uint64_t serial;     /* of a trace: its number, from 1 up */
    int64_t staged;      /* levels.staged when it was opened */
    int64_t start;       /* first index of the tape */
    int64_t end;         /* the tape's length when its function had returned: what is behind makes constants */
    int64_t pending;     /* first index of what is pending and was recorded since it was opened */
    lazy_nodes inputs;   /* its placeholders; the last of them stand for the captured arrays */
    lazy_nodes captured; /* one reference each */
    graph_table places;  /* 1 + index into captured, by node */
    LAZY_VECTOR(lazy_effect *) effects;
} lazy_level;

/* A callback with results is called once, also where a derivative applies the program again: that gets its *answers*.
 * These are results of such callbacks, and of nodes that run some, which a program hands out behind its other outputs.
 * Set as ctx->levels.answers, which the next program_apply takes. */
typedef struct lazy_answers {
    lazy_nodes *taken; /* the program's answers are appended (in the arena); NULL: nobody takes them */
    /* Answers that are given: what the program's outputs from `first` on are. What they come from is not recorded.
     * NULL among them: that answer is not given. */
    const struct neap_program *program;
    int64_t first;
    neap_node *const *given;
    /* By node: whether its effects happen although levels.without_effects is set; NULL: no such node. */
    const bool *late;
} lazy_answers;

typedef struct lazy_levels {
    lazy_nodes tape; /* nodes that belong to an open level, in order of recording */
    lazy_level at[LAZY_MAX_LEVELS];
    int n;
    int floor;           /* levels below it are not seen: they are open around an open callback */
    int closed;          /* how many of the levels are closed traces */
    uint64_t traces;     /* serial number of the newest */
    int64_t staged;      /* how many nodes were STAGED so far */
    int without_effects; /* > 0: programs are applied without their effects */
    uint32_t walked;     /* tapes that are being walked over, one bit each: what is recorded then is no part of them */
    int rules;           /* LAZY_RULES_…: how programs are applied that have calls with rules (control/rules.c) */
    const bool *depends; /* for the program that is applied next, by node: where that holds; NULL: everywhere */
    const bool *active;  /* the same for the node that is recorded next, by input. NULL: all of them */
    const struct lazy_stand_ins *stand_ins; /* for constants of programs that are applied (deferred.c). NULL: none */
    const lazy_answers *answers;            /* for the program that is applied, or the node recorded, next */
} lazy_levels;

/* effect/callback.c */
typedef struct lazy_open_callback { /* an open callback */
    neap_request *request;
    int nlevels, floor, deferring; /* as they were before it */
    bool aside;                    /* so was this */
    bool reported;                 /* its arguments have ids */
    bool again;                    /* there was no memory for those ids once */
} lazy_open_callback;

typedef struct lazy_callbacks {
    LAZY_VECTOR(lazy_open_callback) open;
    uint64_t last;                  /* serial number of the newest callback, or control flow with effects */
    _Atomic int64_t requests;       /* calls of functions in flight that arrays wait for */
    lazy_callback *_Atomic dropped; /* callbacks that nobody refers to, pushed by any thread */
    lazy_callback *dropping;        /* those taken off `dropped`, on their way to Lua */
} lazy_callbacks;

/* Scratch of traversals, which everybody uses and nobody keeps. */
typedef struct lazy_traversal {
    uint32_t epoch;    /* of traversals of nodes */
    uint32_t programs; /* of walks over programs inside each other */
    lazy_nodes stack, order;
} lazy_traversal;

/* site.c */
typedef struct lazy_site_sampling { /* when the next node of an op is asked for its line */
    int16_t gap, left;              /* nodes of this op between two questions, and until the next one */
    int32_t repeats;                /* answers in a row that were known lines */
} lazy_site_sampling;

typedef struct lazy_sites {
    LAZY_VECTOR(const char *) texts; /* interned "file:line"; [0] is "" */
    int32_t *table;                  /* hash → index into texts, 0: free; a power of two of places, or NULL */
    int64_t places;
    lazy_site_sampling *asks; /* by op; NULL: no line is asked for */
    bool every;               /* every node's line is asked for */
    int32_t chunk;
    LAZY_VECTOR(int32_t) scopes; /* by text: the named scope in it, a text, or 0; empty until one is opened */
    int32_t scope, scoped;       /* the open one, and the site of a node in it whose line nobody told; 0: none */
    int32_t again;               /* the site of the program node that is being recorded again; 0: none is */
    neap_node *node;             /* the last recorded node, if its line is wanted. BORROWED until the next call */
} lazy_sites;

/* context.c */
typedef struct lazy_collector {
    int requests;    /* NEAP_SAFEPOINT bits for Lua */
    uint64_t above;  /* live bytes that ask for a collection */
    int64_t unseen;  /* bytes allocated since live bytes were last looked at */
    int64_t since;   /* bytes allocated since the last whole cycle, and those of `awaited` */
    int64_t much;    /* bytes of pending arrays that are worth a whole cycle */
    int64_t asks_at; /* pending bytes from which a cycle is due: `much` above those that the last one left */
    int64_t awaited; /* bytes that the last flush for somebody who waits has allocated: no cycle meanwhile frees them */
    int64_t took;    /* time of a thread in ns that a whole cycle takes, less by each one in steps; 0: not known */
    uint64_t made;   /* bytes of blocks taken from the system until the last whole cycle */
    int64_t grown;   /* so many more may be taken before another one */
    int64_t began;   /* of the thread's time, when the cycle began that is going on */
    int64_t handles; /* live ones when it began */
    bool keeping;    /* after it, later ones do not look at what is alive */
    int64_t keep;    /* time that such a one took; 0: not known */
    int64_t least;   /* that a whole cycle has taken since; 0: there was no such one, or none since */
    int64_t excess;  /* what all of them have taken beyond that */
    int64_t said;    /* neap_debug_collector */
    /* Of an update of a large array that only a dead handle may name (graph_collects_first): how often its flush was
     * put off for a cycle (-1: Lua runs one), a measure of how often cycles found it alive, and how many flushes ask
     * for none. */
    int put_off, in_vain, pass;
} lazy_collector;

/* program/program.c, program/jit.c */
typedef struct lazy_programs {
    neap_program *first; /* all of them, linked */
    neap_jit *jits;      /* the same */
    int64_t jit_bytes, jit_limit;
    struct jit_entry *jit_newest, *jit_oldest; /* by their last call, linked */
    _Atomic int64_t donations;                 /* runs under way of programs that were given arrays */
    int32_t rules;                             /* numbers for batching rules that were given out, */
    LAZY_VECTOR(int32_t) unused_rules;         /* and those that no program has any more */
} lazy_programs;

/* derive/batch.c: the batch that is being made; NULL: none, or nobody asks */
typedef struct lazy_batch_state {
    const struct neap_batch *how;
    struct neap_batch_wanted *wanted;
} lazy_batch_state;

/* plan/region.c; what follows the serial number is scratch of a flush (plan/run.c) */
struct lazy_plan;
typedef struct lazy_asked { /* what a region asks of a node */
    int64_t elements;       /* so many, those that several read counted for each */
    bool viewed;            /* also a view that gets a buffer */
} lazy_asked;
typedef struct lazy_plans {
    struct lazy_plan **table; /* hash table, chained */
    int64_t n, buckets, bytes;
    uint64_t last;                 /* serial number of the newest */
    LAZY_VECTOR(uint64_t) key;     /* of a flush: its structure as words */
    LAZY_VECTOR(uint8_t) made;     /* by node of the region: why it gets a buffer */
    LAZY_VECTOR(lazy_asked) asked; /* by node of the region, if `counted` */
    LAZY_VECTOR(int64_t) origins;  /* by node of the region, if `sliced`: see plan_origin */
    LAZY_VECTOR(int32_t) same;     /* by node of the region, while it is planned: see plan_same */
    bool counted, sliced;
    int32_t placing;          /* bodies around what is planned that are to run on a device (control/place.c) */
    bool awaited;             /* who asked for the flush goes on when it has been computed, not before */
    lazy_nodes wanted, views; /* the roots of a flush */
    LAZY_VECTOR(neap_buffer *) unsettled; /* may fail yet, with a call that has not finished (plan/unsettled.c) */
} lazy_plans;

/* mesh/spmd.c, mesh/mesh.c */
typedef struct lazy_mesh_state {
    struct mesh_call *call; /* the op on meshed arrays that is being recorded (mesh/internal.h) */
    lazy_nodes tokens;      /* of axes of meshes. One reference each */
    int32_t open;           /* the mesh of the open bodies of shard_map */
    uint32_t manual;        /* its axes that are manual in the innermost of them */
    uint32_t undone;        /* axes over which ops leave sums undone (mesh/unreduced.c) */
} lazy_mesh_state;

/* guard.c */
typedef struct lazy_guard {
    uint8_t levels[NEAP_TRANSFER_WAYS]; /* NEAP_GUARD_… */
    bool any;                           /* one of them is not NEAP_GUARD_ALLOW */
} lazy_guard;

/* record.c, quick.c */
typedef struct lazy_quick {
    uint8_t *plain;    /* by op and dtype: see plain_result in record.c */
    neap_node *number; /* a weak constant to be used again, if nobody kept it */
    int status;        /* outcome of the last quick call */
    int32_t id;        /* its result */
} lazy_quick;

/* What recording calls in folders above it. Set when the context is made (context/context.c). */
typedef struct graph_hooks {
    /* A node was recorded that may have to start, or that makes others start (plan/start.c). */
    void (*recorded)(neap_ctx *ctx, neap_node *node);
    /* The last recorded node has its script line, for which it may have waited (plan/start.c). */
    void (*located)(neap_ctx *ctx, neap_node *node);
    /* A level that recorded this effect has ended (effect/effect.c). */
    void (*effect_free)(neap_ctx *ctx, lazy_effect *effect);
    /* Something was recorded while a transcript is open. Returns the status, or another one (sizes/transcript.c). */
    int (*noted)(neap_ctx *ctx, int status, struct graph_note *note);
    /* The host is about to read a node while a transcript is open. A status: 0, or why it must not. */
    int (*read)(neap_ctx *ctx, const neap_node *node);
    const struct graph_note_kind *const *kinds; /* of notes, those that files may have; NULL behind the last */
} graph_hooks;

struct neap_ctx {
    const graph_hooks *hooks;
    neap_effects *effects;
    neap_waker *waker;
    neap_counters counters;
    lazy_handles handles;
    lazy_blocks blocks;
    lazy_pending pending;
    lazy_start start;
    lazy_levels levels;
    lazy_traversal walk;
    lazy_sites sites;
    lazy_collector collector;
    lazy_quick quick;
    lazy_callbacks callbacks;
    lazy_programs programs;
    lazy_batch_state batch;
    lazy_plans plans;
    lazy_mesh_state mesh;
    lazy_guard guard;
    neap_transcript *transcript; /* the open one (sizes/transcript.c); NULL: none is */
    int32_t transcripts;         /* how many there have been */
};

#endif
