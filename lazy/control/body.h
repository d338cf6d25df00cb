/* body.h: what body.c prepares and body_run.c runs.
 *
 * The body of a control node is the plan of a program, made ready to be run on raw memory any number of times. Its
 * steps find their operands in a *table* of pointers; where each points is known up to the addresses of a run:
 *
 *      INPUT k    the program's input: a carry, a slice of an xs, an operand, a const
 *      OUTPUT k   where result k goes: the step that makes it writes it there
 *      BUFFER k   an array that the program is bound to
 *      SCRATCH    memory of the run, shared by values that do not live at the same time
 *
 * In a loop there are two tables, since carries change places: a turn reads them in one place and writes the other. All
 * that a turn has to do besides its items is to move the pointers into xs and ys. A carry of which a turn only writes
 * parts over (x:at{i}:set(v)) has one place, that of the result: a turn touches what it writes.
 *
 * An example: np.scan(function(c, x) return 2 * c + x, c + x end, c, xs) of f32, c = {1, 1}, xs of the rows {1, 1},
 * {2, 2}, {3, 3}. The body is one item, a kernel of two stores. R is the place of the result c, S the second place of
 * the carry, where the first c is copied to.
 *
 *      pointer           INPUT c   INPUT x   OUTPUT c       OUTPUT y
 *      turn 0, table 0   S         xs        R: {3, 3}      ys: {2, 2}
 *      turn 1, table 1   R         xs + 8    S: {8, 8}      ys + 8: {5, 5}
 *      turn 2, table 0   S         xs + 16   R: {19, 19}    ys + 16: {11, 11}
 *
 * A run needs two pieces of memory, whose sizes are known beforehand: one of the host, which says where it stands, and
 * one of the device that computes, which has what is computed. On the host one follows the other.
 *
 *      frames:  [frame of the node: tables, numbers] [frame of an inner node] …
 *      data:    [second places of the carries] [scratch of its body] [data of an inner node] …
 *
 * What runs items is the backend of the runner's device (lazy/vm/backend.h): on the host it computes; on a device with
 * streams it enqueues, turn by turn, and what is in the tables are addresses there. The turns of a scan are known
 * beforehand. What a condition or an index says is copied to the frame, and the run stops until the stream has come
 * there; where branches take no longer than that, all of them are computed, and one is selected (place.c).
 */
#ifndef LAZY_BODY_H
#define LAZY_BODY_H

#include "lazy/arena.h"
#include "lazy/control/control.h"

typedef enum body_from { BODY_INPUT, BODY_OUTPUT, BODY_BUFFER, BODY_SCRATCH } body_from;

typedef struct body_address { /* what a pointer of the table points to */
    uint8_t from;
    int32_t index;
    int64_t offset; /* in bytes, from there */
} body_address;

typedef enum body_what { BODY_KERNEL, BODY_CALL, BODY_INNER, BODY_COPY, BODY_PRINT, BODY_CALLBACK } body_what;

typedef struct body_item {
    uint8_t what;
    int32_t first;         /* of its pointers in the table: operands, then results; COPY: from, to */
    const lazy_step *step; /* KERNEL, CALL, INNER, CALLBACK */
    /* KERNEL: that of the step, or, in a body of the host, a copy that this has prepared, if another device did. */
    lazy_kernel *kernel;
    const char *site;      /* its script line. BORROWED from the context */
    const char *line;      /* of an exchange: the same, if it is known for sure, else NULL */
    size_t bytes;          /* COPY */
    lazy_runner *inner;    /* INNER. One reference, as of the others */
    lazy_message *message; /* PRINT */
    lazy_work_call call;   /* CALLBACK */
} body_item;

typedef struct body_number { /* an operand of kernels: `value`, or that of an input, an f64 */
    int32_t input;           /* -1: none */
    uint8_t dtype;
    lazy_scalar value;
} body_number;

typedef struct body_move { /* a pointer that moves with each turn */
    int32_t pointer;
    int64_t bytes;
} body_move;

typedef struct body_code body_code;

typedef struct lazy_body {
    lazy_plan *plan; /* one reference */
    int ninputs, noutputs, nnumbers;
    LAZY_VECTOR(body_item) items;
    LAZY_VECTOR(body_address) pointers;
    LAZY_VECTOR(neap_buffer *) buffers; /* one reference each */
    LAZY_VECTOR(body_move) moves;
    LAZY_VECTOR(lazy_result *) arguments; /* of callbacks */
    body_number *numbers;
    int32_t *input_at; /* by input: the input of the node */
    size_t scratch;    /* bytes of scratch */
    size_t frames;     /* the most bytes of frames, and of data, that an inner node needs */
    size_t inner;
    int64_t written; /* bytes that its items write, without those of inner nodes */
    int64_t cost;
} lazy_body;

struct lazy_runner {
    _Atomic int32_t refs;
    const lazy_control_kind *kind;
    int nbodies, nin, nresults;
    int operands, xs, first; /* as in lazy_control_shape */
    int64_t length;
    bool reverse;
    lazy_body **bodies;              /* one for each program that is run: not those of a rule */
    int64_t *in_bytes;               /* by input; of xs: of one slice */
    int64_t *out_bytes;              /* by result; of ys: of one slice */
    int64_t *places;                 /* of the results in the block */
    LAZY_VECTOR(neap_buffer *) held; /* of constants of the bodies, and of those inside them. BORROWED from these */
    bool *fixed;          /* by carry: each turn hands it on as it is, so it has one place, that of its input */
    bool *updated;        /* by carry: each turn writes parts of it over, so it has one place, that of its result */
    size_t frame, frames; /* bytes of the frame with its tables; with those inside */
    size_t second, data;  /* bytes of the second places of carries, and of the condition's; of all data */
    int64_t cost;
    bool begins;      /* where it is pushed (push.c): its turns are short, and nobody knows how many there are */
    int64_t launches; /* steps that a turn runs, without those of loops inside, and what they touch */
    int64_t touched;  /* bytes */
    int64_t waits;    /* how often the host has to see something of a turn */
    int effects;
    bool selects; /* it computes all branches of a cond, and takes the results of one */
    int device;   /* on which it runs, and what runs its items there */
    const lazy_backend *backend;
    uint8_t *out_dtypes;        /* by result */
    body_code *code;            /* of a loop: its machine code (lower.h). OWNED */
    int64_t graph_turns;        /* of a loop on a device: turns that are enqueued as one launch graph; 0: none are */
    lazy_launch_graphs *graphs; /* NULL: it has none. OWNED */
};

static inline bool body_is_on_host(const lazy_runner *runner) {
    return runner->backend == &vm_backend_cpu;
}
static inline size_t body_round(size_t bytes) {
    return lazy_round_up(bytes, LAZY_BLOCK_ALIGN);
}
/* The bytes of a body's two tables and its numbers. */
static inline size_t body_tables(const lazy_body *body) {
    return (2 * (size_t)body->pointers.n + 1) * sizeof(void *) + (size_t)body->nnumbers * sizeof(lazy_scalar);
}

/* On a device with streams: items that are enqueued before the stream comes to them, no more than the queues of drivers
 * take without holding up who enqueues. */
enum { CONTROL_ENQUEUED_MOST = 1000 };

/* body_run.c: a run that is under way. Its memory is the caller's, runner->frames and runner->data bytes long. */
typedef struct body_run {
    struct body_frame *frame; /* of the innermost node; NULL: it is over */
    const body_item *waiting; /* the callback that it has come to */
    void *const *operands;    /* of that: arguments, then the block of results */
    neap_effects *effects;    /* where prints are pushed; NULL: they are written at once */
    int64_t enqueued;         /* items on a stream since it last went on */
    int64_t until;            /* engine_now from which on it pauses between two turns; 0: it does not */
    bool paused;              /* it has, and has not looked for code since */
    bool printed;
    struct {                         /* turns that are not enqueued before they have all come */
        neap_launch_graph *graph;    /* NULL: there are none */
        const struct body_frame *of; /* whose they are */
        int64_t left;                /* to come */
        neap_run run;
    } recorded;
} body_run;

/* The bytes of a node's frame without its tables. */
size_t control_frame_bytes(const lazy_runner *runner);
/* Begins a run: `in` is the memory of its inputs, `block` that of its results. */
int control_body_begin(body_run *r, const lazy_runner *runner, void *const *in, void *block, void *frames, void *data,
                       const neap_run *run);
/* Goes on until the end (0), a failure, or NEAP_PENDING: at a callback; where it pauses; on a device with streams, when
 * so much has been enqueued that the stream is to come to it first. After a failure it must not be continued. */
int control_body_advance(body_run *r, const neap_run *run);
/* The error text of a failed item, with its script line and name. Returns the status. */
int control_body_failure(const body_item *item, int status);
/* Reports a failure in place of the next print of the current turn. */
void control_body_report(body_run *r, const char *text);

/* rows.c: how many turns of a loop are enqueued as a launch graph; 0: its turns are enqueued one by one. */
int64_t control_graph_turns(const lazy_runner *runner);

#endif
