/* node.h: the nodes of the graph of arrays.
 *
 * A node is one block: the struct, then its shape, attributes, inputs and (views) strides. It goes through
 *
 *      PENDING ──flush──▶ DONE    has a buffer (its value, or a failure, arrives with the buffer's variable)
 *              └────────▶ RECIPE  was fused away inside a consumer; a second demand computes it
 *
 * Between neap_aside and its end nodes are born as recipes: only a demand computes them, and what nobody refers to is
 * gone.
 *
 * What is recorded while a trace is open and depends on none of its arguments is STAGED instead of PENDING: only a
 * demand flushes it, and what the trace's program reads of it becomes part of the program (program/stage.c).
 *
 * What is recorded in deferred mode is DEFERRED instead of PENDING: the same, but only a demand flushes it. Such a node
 * is *lasting*: it keeps its structure after computing (deferred.c). Its references to its inputs are then *loose*:
 * counted by refs and by loose_refs. What only loose references hold gives its data back and stays as structure
 * (node.c).
 *
 * An example: of x, f32[6] with a buffer, a script records y = (x:reshape(2, 3) + 1):sum(1), and reads y.
 *
 *      node               before y is read                           after it
 *      v = x:reshape      a view: base x, offset 0, strides 3 1      the same; it has no buffer
 *      c = 1              a constant, READY, LAZY_WEAK               the same
 *      a = v + c          PENDING; in: v c; shape 2 3                freed, or a RECIPE where the script holds it
 *      y = a:sum(1)       PENDING; in: a; shape 2                    DONE: a buffer of 8 bytes
 *
 * One kernel reads x through v's map, adds 1 and sums rows of three; a is never stored. If the script reads a later, a
 * kernel computes it from x.
 *
 * Sources (constants, iota, placeholders) and formulas over them are born READY: they are cheap or have no value.
 * Counts are plain: nodes belong to one context, and a context to one thread. Nothing here recurses over the depth of a
 * graph.
 */
#ifndef LAZY_NODE_H
#define LAZY_NODE_H

#include <stdlib.h>

#include "lazy/graph/devices.h"
#include "lazy/op.h"
#include "lazy/vm/kernel.h"

enum { LAZY_READY, LAZY_PENDING, LAZY_RECIPE, LAZY_DONE, LAZY_DEFERRED, LAZY_STAGED };
enum { LAZY_FORMULA_WORK = 8, LAZY_WORK_MOST = 63 }; /* maps of the longest formula; that are counted */
enum { LAZY_MAX_CONTROL_INPUTS = 2047 };             /* of a node that runs programs: what nin can count */

enum {
    LAZY_WEAK = 1,     /* a number: takes the dtype of the array that it meets */
    LAZY_KEPT = 2,     /* an operand or result of a call, a table, or read on another device: materialized */
    LAZY_ABSTRACT = 4, /* belongs to a trace: has no value of its own */
    LAZY_DELETED = 8,
    LAZY_DROPPED = 16,     /* its inputs were released after computing */
    LAZY_RESIDUAL = 32,    /* a gradient will read it: materialized while a level that is no trace is open */
    LAZY_CONSTRUCTED = 64, /* made of constructors by views and maps alone: may be computed again anywhere */
    LAZY_COUNTED = 128     /* pending, and its bytes are in pending_bytes */
};

/* Of number arguments of traces, beside the dtypes that they met: one was no integer when the trace began, and that has
 * decided a dtype. */
#define LAZY_NUMBER_FRACTION (UINT32_C(1) << 31)
#define LAZY_NUMBER_DECIDED (UINT32_C(1) << 30)

struct neap_node {
    uint32_t refs;
    int16_t op;
    uint8_t dtype, ndim;
    uint16_t nin : 11;
    uint16_t state : 3;
    uint16_t lasting : 1; /* it keeps its structure after computing */
    uint16_t loose : 1;   /* its references to inputs and base are to structure alone */
    uint8_t flags;
    uint8_t work : 6;     /* the maps that make an element of what is CONSTRUCTED, up to LAZY_WORK_MOST */
    uint8_t yields : 1;   /* a weak array: takes the dtype of arrays that it meets, though it has one, f32 (weak.c) */
    uint8_t fraction : 1; /* one whose elements are no integers, as far as is known when it is recorded */
    int32_t id;           /* handle, 0: none */
    uint32_t levels;      /* open levels that it belongs to, one bit each */
    uint32_t mark;        /* the last traversal that met it */
    uint32_t index;       /* its number in that traversal */
    int32_t tape;         /* index on the tape while levels is not 0 */
    int32_t site;         /* script line, an index into the context's sites */
    uint32_t loose_refs;  /* how many of its references are to its structure alone */
    union {             /* PENDING: the elements of its views; RECIPE: those computed in kernels of others (region.c) */
        uint32_t asked; /* at most UINT32_MAX */
        uint32_t meets; /* number arguments of traces: dtypes but real ones that they met, a set; checked at each run;
                           of DROPPED numbers: such dtypes that they can meet. And LAZY_NUMBER_… */
    };
    int16_t nattrs;
    int16_t device;    /* that it is committed to, -1: none (see record.c) */
    int32_t consumers; /* reads recorded, counted through views */
    bool counts : 1;   /* a constant: a number of elements, which follows from shapes */
    bool drawn : 1;    /* large, and a draw, or made of draws and numbers by maps, element by element (record.c) */
    int64_t size;
    union {
        double value;         /* constants */
        uint64_t ran;         /* DONE: the plan and slot that made it (plan.h), 0: none did. Not of constants */
        uint64_t trace;       /* STAGED, or a RECIPE that was: the serial number of its trace; of other RECIPEs 0 */
        neap_node *next_dead; /* while it is being freed, or gives its data back */
    };
    neap_buffer *buffer; /* DONE: row-major elements */
    neap_node *base;     /* views: the node whose elements `map` counts, itself not a view. One reference */
    int64_t *shape, *attrs;
    neap_node **in;
    lazy_map *map;
    union {
        struct lazy_shards *shards; /* of what lies on a mesh (sharding.h): then device is LAZY_MESHED, buffer NULL */
        neap_buffer *mirror;        /* with a buffer: a copy of it that the host can read (devices.c), or NULL */
    };
};
/* A constant without a shape takes one block of four times 32 bytes, two lines of the cache (node.c). */
_Static_assert(sizeof(neap_node) <= 128, "nodes of constants would take a fifth block");

/* A growing array of pointers or of plain values. */
#define LAZY_VECTOR(type)                                                                                              \
    struct {                                                                                                           \
        type *at;                                                                                                      \
        int64_t n, capacity;                                                                                           \
    }
#define lazy_push(vector, item)                                                                                        \
    (((vector)->n < (vector)->capacity ||                                                                              \
      lazy_vector_grow((void **)&(vector)->at, &(vector)->capacity, sizeof *(vector)->at) == 0)                        \
         ? ((vector)->at[(vector)->n++] = (item), 0)                                                                   \
         : NEAP_E_MEMORY)
#define lazy_vector_free(vector) (free((vector)->at), (vector)->at = NULL, (vector)->n = (vector)->capacity = 0)
int lazy_vector_grow(void **at, int64_t *capacity, size_t item);

typedef LAZY_VECTOR(neap_node *) lazy_nodes;

static inline neap_node *graph_retain(neap_node *node) {
    node->refs++;
    return node;
}
/* References that are to more than its structure. */
static inline uint32_t graph_node_holders(const neap_node *node) {
    return node->refs - node->loose_refs;
}
static inline const lazy_op *graph_node_op(const neap_node *node) {
    return lazy_ops[node->op];
}
/* Is it computed wherever it is read, inside the kernel that reads it? */
static inline bool graph_is_fusible(const neap_node *node) {
    return graph_node_op(node)->kind == LAZY_MAP || graph_node_op(node)->kind == LAZY_GATHER;
}
/* More was asked of it. */
static inline void graph_ask(neap_node *node, int64_t elements) {
    node->asked = (uint64_t)elements > UINT32_MAX - node->asked ? UINT32_MAX : node->asked + (uint32_t)elements;
}
/* Is the node a large draw, which waits for readers, since these may want few elements? */
enum { LAZY_LARGE_SIZE = 1 << 14 }; /* elements */
static inline bool graph_is_waiting_draw(const neap_node *node) {
    return graph_node_op(node)->drawn && node->size >= LAZY_LARGE_SIZE;
}
/* Can a reader of a few of its elements do without the others? */
static inline bool graph_is_made_in_place(const neap_node *node) {
    return graph_is_fusible(node) || graph_node_op(node)->kind == LAZY_ASSEMBLE || graph_is_waiting_draw(node);
}
/* Is it an array with parts of it written over? */
static inline bool graph_is_update(const neap_node *node) {
    return graph_node_op(node)->updates != 0;
}
/* Is it a small part of an array, which it takes longer to copy than to write? */
static inline bool graph_is_small_part(int64_t part, int64_t whole) {
    return part <= whole / 4;
}
/* Does it start as soon as it is recorded? An update of a small part waits, with those that will follow it, and a large
 * draw for its readers. */
static inline bool graph_starts_at_once(const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    return row->kind == LAZY_CALL && !graph_is_waiting_draw(node) &&
           (!row->updates || !graph_is_small_part(node->in[row->updates]->size, node->size));
}
/* Where a source has its value (lazy_origin). */
static inline bool graph_is_constant(const neap_node *node) {
    return graph_node_op(node)->origin == LAZY_ORIGIN_VALUE;
}
static inline bool graph_is_placeholder(const neap_node *node) {
    return graph_node_op(node)->origin == LAZY_ORIGIN_CALLER;
}
static inline bool graph_is_data(const neap_node *node) {
    return graph_node_op(node)->origin == LAZY_ORIGIN_BUFFER;
}
/* The effects that it has, LAZY_EFFECTS_… (effect.h). */
static inline int graph_node_effects(const neap_node *node) {
    const lazy_payload *payload = graph_node_op(node)->payload;
    return payload && payload->effects ? payload->effects(node) : 0;
}
static inline bool graph_is_effect(const neap_node *node) {
    return graph_node_effects(node) != 0;
}
/* Is it a collective between processes (exchange.h)? */
static inline bool graph_is_exchange(const neap_node *node) {
    const lazy_payload *payload = graph_node_op(node)->payload;
    return payload && payload->exchange;
}
/* Is its first attribute a pointer, which is no structure? */
static inline bool graph_has_pointer(const lazy_op *row) {
    return row->payload && row->payload->pointer;
}
/* Does it run programs? */
static inline bool graph_has_programs(const neap_node *node) {
    const lazy_payload *payload = graph_node_op(node)->payload;
    return payload && payload->programs;
}
/* The programs that it runs; n is 0 if it runs none. */
static inline lazy_inner graph_node_programs(const neap_node *node) {
    lazy_inner inner = {0};
    if (graph_has_programs(node))
        graph_node_op(node)->payload->programs(node, &inner);
    return inner;
}
static inline bool graph_is_view(const neap_node *node) {
    return node->map != NULL;
}
/* Is it made of constructors by so few and cheap maps (eye, tri, linspace) that each reader makes the elements it
 * needs? Such a node is never pending, and gets a buffer only if that is asked for or a call reads it. */
static inline bool graph_is_formula(const neap_node *node) {
    return node->flags & LAZY_CONSTRUCTED && node->work <= LAZY_FORMULA_WORK && !node->buffer;
}
/* Does its structure stay after computing? That of formulas too, which cost little: so it does not matter to programs
 * whether a constructor has been computed. */
static inline bool graph_keeps_structure(const neap_node *node) {
    return node->lasting || (node->flags & LAZY_CONSTRUCTED && node->work <= LAZY_FORMULA_WORK);
}
static inline size_t graph_node_bytes(const neap_node *node) {
    return (size_t)node->size * (size_t)neap_dtype_bytes(node->dtype);
}
/* Where its value is computed, and its buffer lies: uncommitted work that nobody pulls elsewhere runs on the default
 * device. */
static inline int graph_node_runs_on(const neap_node *node) {
    return node->device < 0 ? graph_home_device() : node->device;
}
static inline int graph_node_space(const neap_node *node) {
    int device = graph_node_runs_on(node);
    return device == 0 ? 0 : neap_device_memory_space(device); /* 0 is a CPU device: no call for most nodes */
}
/* What a view reads: its base, unless it has a buffer of its own. */
static inline neap_node *graph_read_target(neap_node *node) {
    return graph_is_view(node) && !node->buffer ? node->base : node;
}
/* Was it recorded from constants alone while this trace (its serial number), or one inside it, was open? And has nobody
 * computed it since? */
static inline bool graph_is_staged(neap_node *node, uint64_t trace) {
    const neap_node *target = graph_read_target(node);
    return !node->buffer && !(node->flags & LAZY_ABSTRACT) &&
           (target->state == LAZY_STAGED || target->state == LAZY_RECIPE) && target->trace >= trace;
}
/* Does a gather read so few elements of its table that a reader of the gather may make these alone? */
static inline bool graph_takes_little(const neap_node *gather) {
    const neap_node *table = graph_read_target(gather->in[0]);
    return table->drawn && graph_is_small_part(gather->size, table->size);
}
/* Is it materialized for the sake of a gradient? Not in a trace: all that reads it is part of the program. */
static inline bool graph_is_residual(const neap_node *node) {
    return node->flags & LAZY_RESIDUAL && node->levels && !(node->flags & LAZY_ABSTRACT);
}
static inline bool graph_is_number(const neap_node *node) {
    return node->nin == 0 && !node->buffer &&
           (graph_is_constant(node) || (node->flags & LAZY_WEAK && graph_is_placeholder(node)));
}
/* Is it a number that follows from shapes alone? */
static inline bool graph_counts_elements(const neap_node *node) {
    return graph_is_constant(node) && node->counts && !node->buffer;
}

#endif
