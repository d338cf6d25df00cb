/* lazy.h: public interface of the lazy room: arrays as expressions, programs, gradients.
 *
 * A *context* belongs to one user thread (one Lua state). It records *nodes*: an op, its inputs, and the inferred shape
 * and dtype. Lua holds nodes through *handles*, small integers with a slot and a generation, which are checked at each
 * use. Nothing here waits: what would wait returns NEAP_PENDING and is called again after the context's waker woke.
 *
 *      record ──▶ pending nodes ──flush──▶ plan (cached by structure) ──▶ engine ops ──▶ buffers
 *
 * Functions return a status (engine.h); NEAP_SAFEPOINT means success and that neap_safepoint() has something to tell.
 */
#ifndef NEAP_LAZY_H
#define NEAP_LAZY_H

#include "effects/effects.h"
#include "lazy/dtype/dtype.h"

/* ---- Dtypes (rows and numbers: dtype.h) -------------------------------------------------------------------------- */
enum { NEAP_MAX_DIMS = 16, NEAP_MAX_INPUTS = 64, NEAP_MESH_AXES = 8 };

NEAP_API const char *neap_dtype_name(int dtype); /* "f32"; NULL for no dtype. BORROWED forever */
NEAP_API int neap_dtype_parse(const char *name); /* the dtype, or NEAP_E_DTYPE */
NEAP_API int neap_dtype_bytes(int dtype);
NEAP_API int neap_dtype_kind(int dtype);              /* 'b' 'u' 'i' 'f' 'c' */
NEAP_API int neap_dtype_promote(int left, int right); /* JAX's promotion table */

/* ---- Context --------------------------------------------------------------------------------------------------- */
typedef struct neap_ctx neap_ctx;

NEAP_API const char *neap_abi_hash(void); /* of the declarations in the public headers */
NEAP_API const char *neap_version(void);
NEAP_API int neap_ctx_new(neap_ctx **out); /* OWNED; starts the engine with defaults if it was not started */
NEAP_API void neap_ctx_free(neap_ctx *ctx);
NEAP_API neap_waker *neap_ctx_waker(neap_ctx *ctx);     /* BORROWED */
NEAP_API neap_effects *neap_ctx_effects(neap_ctx *ctx); /* BORROWED */

enum {
    NEAP_SAFEPOINT_SWEEP = 1,     /* Lua's collector finished a cycle: release the ids of dead handles */
    NEAP_SAFEPOINT_COLLECT = 2,   /* native bytes have grown: run a full collection, then sweep */
    NEAP_SAFEPOINT_SITE = 4,      /* tell the script line of the last recorded node with neap_site */
    NEAP_SAFEPOINT_INTERRUPT = 8, /* raise the interrupt */
    NEAP_SAFEPOINT_STEP = 32,     /* some bytes were allocated: let Lua's collector make a step */
    NEAP_SAFEPOINT_CALLBACK = 64, /* callbacks wait for neap_callback_take, or callees for neap_callback_dropped */
    NEAP_SAFEPOINT_THROTTLE = 16  /* far ahead of the workers: poll neap_throttle until NEAP_OK */
};
/* Why NEAP_SAFEPOINT was returned: a set of bits, which this call clears (but INTERRUPT, which the prompt clears). */
NEAP_API int neap_safepoint(neap_ctx *ctx);
/* Recording may run ahead of the workers by the engine's budget (neap_ahead_poll): NEAP_OK within it; else
 * NEAP_PENDING, and the waker is woken when half of it is free. */
NEAP_API int neap_throttle(neap_ctx *ctx);
/* Asks for NEAP_SAFEPOINT_SWEEP at the next call (from the finalizer of Lua's sentinel). */
NEAP_API void neap_collector_cycled(neap_ctx *ctx);
/* Called after a full collection and sweep: sets the next high-water mark from what is still live. */
NEAP_API void neap_collected(neap_ctx *ctx);
/* What Lua's collector should do while Lua waits, or has been asked for NEAP_SAFEPOINT_STEP: NEAP_COLLECT_CYCLE if a
 * whole cycle and a sweep cost little beside the memory that they may bring back, or NEAP_COLLECT_KEEP if later cycles
 * had better not look at what is alive after this one; else NEAP_COLLECT_STEP if a step is due. The caller does it. A
 * whole cycle, with its sweep, stands between neap_cycle_begin and neap_cycle_end. */
enum { NEAP_COLLECT_NOTHING = 0, NEAP_COLLECT_STEP = 1, NEAP_COLLECT_CYCLE = 2, NEAP_COLLECT_KEEP = 3 };
NEAP_API int neap_collector_due(neap_ctx *ctx);
NEAP_API void neap_cycle_begin(neap_ctx *ctx);
NEAP_API void neap_cycle_end(neap_ctx *ctx);
/* Gives the last recorded node its script line. After neap_site_reset (each loaded chunk) every node's line is asked
 * for, until the answers for its op repeat themselves, as in a loop: then more and more rarely, until there is a new
 * line again. Other nodes get the chunk's name, and the last line told of an identical region. */
NEAP_API void neap_site(neap_ctx *ctx, const char *file, int line);
NEAP_API void neap_site_reset(neap_ctx *ctx, const char *chunk);
/* Nodes that are recorded from here on are in this named scope, inside of the open one: their sites name it behind the
 * line. NULL: in none. Returns the one before, for neap_scope_close. */
NEAP_API int32_t neap_scope_open(neap_ctx *ctx, const char *name);
NEAP_API void neap_scope_close(neap_ctx *ctx, int32_t outer);

/* ---- Devices --------------------------------------------------------------------------------------------------- */
/* The devices that a session computes on: n of a kind, in place of the CPU devices. Before any array was made. */
NEAP_API int neap_session_use(const char *kind, int n);
/* How many there are, and the engine's number of the first, which the others follow. */
NEAP_API int neap_session_devices(int *first);
/* On which of them the calling thread's uncommitted work runs: the first, or the one that was last named here. What was
 * recorded before runs where it was to run. *before: which one it was; -1 only asks. */
NEAP_API int neap_default_device(neap_ctx *ctx, int device, int *before);
/* What is done about copies from one memory to another: told of on stderr, or refused; explicit ones, which
 * np.device_put asks for, and those of new arrays, under the last two levels alone. */
enum { NEAP_TRANSFER_TO_DEVICE, NEAP_TRANSFER_TO_HOST, NEAP_TRANSFER_BETWEEN, NEAP_TRANSFER_WAYS };
enum { NEAP_GUARD_ALLOW, NEAP_GUARD_LOG, NEAP_GUARD_DISALLOW, NEAP_GUARD_LOG_EXPLICIT, NEAP_GUARD_DISALLOW_EXPLICIT };
/* Sets the level of a way. level -1: leaves it. Returns the one before. */
NEAP_API int neap_transfer_guard(neap_ctx *ctx, int way, int level);
/* np.device_put is about to move an array to a device (an engine's number): a status, NEAP_E_STATE where that is
 * refused. */
NEAP_API int neap_transfer_asked(neap_ctx *ctx, int32_t id, int device);

/* ---- Handles --------------------------------------------------------------------------------------------------
 * An id is slot | generation << 23; slots are dense from 1. A node has one id as long as Lua knows it. */
enum { NEAP_SLOT_BITS = 23 };
/* Ids by slot, 0 where free; *count is one past the highest slot in use. BORROWED until the next recording. */
NEAP_API const int32_t *neap_handles(neap_ctx *ctx, int32_t *count);
NEAP_API int neap_release(neap_ctx *ctx, int32_t n, const int32_t *ids);
/* Memory k of those in which an array lies: one, or on a mesh one for each block. Views lie in another array's. */
typedef struct neap_holding {
    const void *memory; /* NULL: it has none, or none yet */
    int64_t bytes;
    const char *site; /* the script line that recorded what lies there; NULL: it is not known. BORROWED from ctx */
} neap_holding;
NEAP_API int neap_array_holding(neap_ctx *ctx, int32_t id, int k, neap_holding *out); /* 0: there are not so many */

/* ---- Arrays ---------------------------------------------------------------------------------------------------- */
typedef struct neap_info {
    int32_t dtype, ndim;
    int32_t weak;     /* 1: a number that takes the dtype of the array that it meets; 2: one that is no integer */
    int32_t yields;   /* 1: a weak array, which does so, too, though its elements are f32; 2: of fractions */
    int32_t deferred; /* 1: not computed yet */
    int32_t latent;   /* 1: recorded in deferred mode and not computed yet: only a demand will compute it */
    int32_t deleted, device;
    int32_t traced;      /* 1: belongs to an open trace, so it has no value */
    int32_t taped;       /* 1: an open gradient or trace depends on it */
    int32_t committed;   /* 1: to its device; 0: it follows the arrays that it meets */
    int32_t constructed; /* 1: made of constructors and not computed: a program that reads it makes it again */
    int32_t sharding;    /* how it lies on a mesh (mesh/mesh.h); 0: an ordinary array */
    int64_t size;
    int64_t shape[NEAP_MAX_DIMS];
} neap_info;
NEAP_API int neap_array_info(neap_ctx *ctx, int32_t id, neap_info *out);
/* Whoever asked neap_array_info for `weak` lets something depend on whether it is 1 or 2. Arguments of traces of which
 * the number is computed note that, and calls of jitted functions with the other kind get a program of their own. */
NEAP_API int neap_number_decides(neap_ctx *ctx, int32_t id);
/* What is said of a shape that does not broadcast to another one, if a remedy is sure to fit: "; (4,) fits as
 * x:reshape(4, 1)"; else "". Writes it to `text` (600 bytes hold every one), and returns that. */
NEAP_API const char *neap_broadcast_remedy(int ndim, const int64_t *shape, int to_ndim, const int64_t *to, char *text,
                                           size_t capacity);
/* A new array with a copy of `data` (row-major, size·bytes long). */
NEAP_API int neap_array_new(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape, const void *data, int32_t *out);
/* A new array whose memory the caller fills before the next call into neap: *data is BORROWED until then. */
NEAP_API int neap_array_empty(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape, void **data, int32_t *out);
/* A new array over memory of somebody else, row-major, elements at addresses that are multiples of their size, which
 * nobody writes while the array lives; bools are 0 or 1. `release` (may be NULL) gets `arg`, on any thread, after the
 * last use of the memory, which is at once after an error. */
NEAP_API int neap_array_borrow(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape, const void *data,
                               void (*release)(void *arg), void *arg, int32_t *out);
/* DLPack, the exchange of arrays between libraries within a process: https://dmlc.github.io/dlpack. Its header declares
 * this structure; neap needs no other part of it. */
struct DLManagedTensor;
/* *out (OWNED: its deleter is to be called once, on any thread) shares the array's memory, which is not to be written.
 * Polls. */
NEAP_API int neap_array_to_dlpack(neap_ctx *ctx, int32_t id, struct DLManagedTensor **out);
/* An array of a tensor in the memory of the CPU. TAKES the tensor, whose deleter is called after the last use, unless
 * it is refused; NEAP_E_MEMORY has called it. Memory is shared if it lies row by row in neap's form, which then nobody
 * may write; else, and if `copy` is not 0, it is copied. NEAP_E_DTYPE, NEAP_E_SHAPE, NEAP_E_ARGUMENT: refused, since
 * neap has no such arrays, or an array has the memory of this tensor already. */
NEAP_API int neap_array_from_dlpack(neap_ctx *ctx, struct DLManagedTensor *tensor, int copy, int32_t *out);
/* A 0-d constant; dtype -1 makes it weak. It is an operand: its value enters no hash. */
NEAP_API int neap_array_number(neap_ctx *ctx, int dtype, double value, int32_t *out);

/* How the elements of arrays are written, one for the process. It may be changed while nothing is printed that was
 * asked for before (neap_effects_poll). */
typedef struct neap_print_options {
    int64_t threshold; /* of more elements than that only the edges are written */
    int32_t edgeitems; /* at each end of an axis */
    int32_t linewidth; /* columns */
    int32_t precision; /* digits after the point, at most: 0 … 17 */
    int32_t suppress;  /* 1: no exponents for small numbers */
    char sign;         /* '-'; '+': of all numbers; ' ': room for it */
    char nan[16], inf[16];
} neap_print_options;
NEAP_API neap_print_options *neap_print_options_now(void);

/* Records an op (LAZY_OP number from the generated list). Errors name the op, the expected and the actual. */
NEAP_API int neap_op(neap_ctx *ctx, int op, int nin, const int32_t *in, int nattrs, const int64_t *attrs, int32_t *out);

/* What Lua holds of an array. It has more than 16 bytes: of a smaller one in a variable that no code assigns, LuaJIT
 * compiles the value; but a function that is recorded has others in its variables (staging.lua). */
typedef struct neap_handle {
    const int32_t _id;
    const double _unused1, _unused2;
} neap_handle;

/* Lua's fast paths: one call with few arguments, each of which costs an interpreter something. They return the new id
 * (always positive) if that is all there is to say; else 0, and neap_quick_outcome has the id, and the status that
 * neap_op would have returned. */
NEAP_API int32_t neap_quick_op1(neap_ctx *ctx, int op, const neap_handle *a);
NEAP_API int32_t neap_quick_op2(neap_ctx *ctx, int op, const neap_handle *a, const neap_handle *b);
/* Array with number, or with FIRST number with array. COUNTS: it is a number of elements, which follows from shapes;
 * so it is part of the keys of plans, and equal means are computed once. */
enum { NEAP_NUMBER_FIRST = 1, NEAP_NUMBER_COUNTS = 2 };
NEAP_API int32_t neap_quick_number(neap_ctx *ctx, int op, const neap_handle *a, double number, int how);
/* A reduction over all axes. */
NEAP_API int32_t neap_quick_reduce(neap_ctx *ctx, int op, const neap_handle *a);
/* Part `index` of the first axis, from its end if negative; it must be an integer. An error too where the axis is
 * divided over a mesh: then the library finds the part where it is. */
NEAP_API int32_t neap_quick_part(neap_ctx *ctx, const neap_handle *a, double index);
/* The array with a small part written over: the one at integers at[0] … at[n - 1] along its first n axes, from their
 * ends if negative. By `value`, an array of the part's shape and the array's dtype; NULL: by `number`. An error too
 * where more is to be done than to record that: then the library does it. */
NEAP_API int32_t neap_quick_set(neap_ctx *ctx, const neap_handle *a, int n, const double *at, const neap_handle *value,
                                double number);
NEAP_API int neap_quick_outcome(neap_ctx *ctx, int32_t *out);
/* neap_array_poll. */
NEAP_API int neap_quick_poll(neap_ctx *ctx, const neap_handle *a);
/* The value of an array of one number if it is there, or can be computed at once; NaN: ask neap_array_item. */
NEAP_API double neap_quick_item(neap_ctx *ctx, const neap_handle *a);

/* Starts computing n arrays and what they need, together; does not wait. `awaited`: the caller will, next. */
NEAP_API int neap_array_start(neap_ctx *ctx, int32_t n, const int32_t *ids, int awaited);
/* Starts it; NEAP_OK when it is there, NEAP_PENDING when not yet; its permanent failure with the original op and
 * line. */
NEAP_API int neap_array_poll(neap_ctx *ctx, int32_t id);
/* After NEAP_OK of neap_array_poll: row-major elements. BORROWED until the array is released or deleted. May return
 * NEAP_PENDING (a view is copied first). */
NEAP_API int neap_array_data(neap_ctx *ctx, int32_t id, const void **data);
/* The value of an array of one element as a double (i64 up to 2^53; a NaN is always the same one, without a sign), and
 * its dtype; the two parts of a complex one, so *out has room for two. Polls: NEAP_PENDING. */
NEAP_API int neap_array_item(neap_ctx *ctx, int32_t id, double *out, int32_t *dtype);
/* The text of an array, as NumPy's str(). Polls. *bytes gets the full length; at most `capacity` are written. */
NEAP_API int neap_array_text(neap_ctx *ctx, int32_t id, char *text, size_t capacity, size_t *bytes);
/* Gives the memory back now; later uses raise. */
NEAP_API int neap_array_delete(neap_ctx *ctx, int32_t id);
/* For results of a function that few callers look at: what is recorded while `on` is set is computed when it is read,
 * or when something is that needs it; by no limit, nor by neap_flush. Returns what was set before, for the way back.
 * Exchanges with other processes are excepted, which wait for them. */
NEAP_API int neap_aside(neap_ctx *ctx, int on);
/* Starts all pending work. */
NEAP_API int neap_flush(neap_ctx *ctx);
/* Flushes; NEAP_OK once all work has finished. NEAP_E_STATE in a callback, for whose end work may wait. */
NEAP_API int neap_poll_everything(neap_ctx *ctx);

/* For Ctrl-C: if nobody can see any result of the work in flight, gives it up (neap_engine_cancel) and returns NEAP_OK.
 * NEAP_PENDING: some of it is wanted, by an effect, a program, pending work, or an array that Lua holds; it goes on. */
NEAP_API int neap_abandon(neap_ctx *ctx);

/* Pending work is flushed by itself past these limits; 0: no such limit. With both 0 nothing starts by itself, calls
 * (products, gathers, …) included. */
NEAP_API void neap_limits(neap_ctx *ctx, int64_t nodes, int64_t bytes);
typedef struct neap_counters {
    uint64_t nodes;    /* recorded */
    uint64_t pending;  /* of these, not yet computed */
    uint64_t flushes;  /* regions started */
    uint64_t plans;    /* regions that had to be planned ("compiled") */
    uint64_t launches; /* kernels and calls pushed to the engine */
    uint64_t written;  /* bytes that these write; loops and branches count theirs when they have run */
    uint64_t programs; /* programs traced */
    uint64_t compared; /* entries of jitted functions that were looked at to find one */
    uint64_t live_handles;
    uint64_t callees; /* of callbacks: those that may still be called, or wait for neap_callback_dropped */
} neap_counters;
NEAP_API void neap_counters_get(neap_ctx *ctx, neap_counters *out);
/* Whether kernels that are planned from now on become native code: "auto", when it pays; "vm", never; "native", before
 * they first run, which waits for it. NULL: "auto". NEAP_E_ARGUMENT. */
NEAP_API int neap_tier_set(const char *name);
/* Whether native code can be made, and by what, or why not, into `text`, which is returned. */
NEAP_API const char *neap_tier_generator(char *text, size_t bytes);
/* NULL, or why the host computes kernels in place of a device (an engine's number), over copies: into `text`. */
NEAP_API const char *neap_tier_lacks(int device, char *text, size_t bytes);
/* For tests, while no kernel runs. No result depends on these; what is 0 is as it was at the start. */
typedef struct neap_kernel_limits {
    const char *isa;  /* "baseline", "avx2", "avx512"; NULL: the best that the CPU has. For kernels yet to be planned */
    const char *tier; /* "auto", "vm", "native"; NULL: auto */
    int64_t hot;      /* estimated ns that a kernel has run when native code is asked for */
    /* Elements that an instruction runs over at once: 256, 512 or 1024. For kernels yet to be planned */
    int64_t chunk;
    /* Bytes of traffic from which results go past the caches. For kernels yet to be planned */
    int64_t stream_min;
    int64_t parallel_min; /* ns of work from which a kernel is split over the workers */
    int64_t task_min;     /* ns of work of the shortest part of a kernel */
} neap_kernel_limits;
/* NEAP_E_ARGUMENT: an instruction set that is unknown or that the CPU does not have; another chunk. */
NEAP_API int neap_debug_kernels(const neap_kernel_limits *limits);
/* What a whole cycle of Lua's collector is taken to cost, instead of what is measured; 0: as at the start. For tests,
 * since measured times decide otherwise what is mapped. */
NEAP_API void neap_debug_collector(neap_ctx *ctx, int64_t cycle_ns);
/* In plans that are made from now on, buffers of at least so many bytes share memory if they can, and runs take over
 * such ones from work in flight; 0: as at the start. For tests: no result depends on the number. */
NEAP_API void neap_debug_memory_plan(int64_t bytes);
/* on = 1: from now on an op on the host fails if its result has a NaN and none of its operands has. Plans that are made
 * then have a step for each op; in those that were made before a step may fail that has several. 0: not. */
NEAP_API void neap_debug_nans(neap_ctx *ctx, int on);

/* ---- Effects: printing ------------------------------------------------------------------------------------------- */
typedef struct neap_piece {
    /* Of an array: a conversion for its only element, of printf ("%.4f", "%d") or of a field (":>8.3f"), or NULL for
     * its text. */
    const char *text;
    size_t bytes;
    int32_t id; /* 0: `text` itself */
} neap_piece;
typedef struct neap_emit { /* how to print */
    int32_t kind;          /* NEAP_EFFECT_… */
    int32_t unordered;     /* 1: as soon as the values are there */
    int32_t stream;
    const char *site; /* the script line, "file:line", for traces and errors; copied. May be NULL */
} neap_emit;
/* Prints the pieces, joined, in order, when their values are there; does not wait. A failed array prints its error in
 * place. Inside a trace the effect becomes part of the program. */
NEAP_API int neap_print(neap_ctx *ctx, const neap_emit *how, int n, const neap_piece *pieces);
/* The text that such a print would write. Polls. *bytes gets the full length; at most `capacity` are written. */
NEAP_API int neap_pieces_text(neap_ctx *ctx, int n, const neap_piece *pieces, char *text, size_t capacity,
                              size_t *bytes);

/* NEAP_E_ARGUMENT says why no element of the dtype, or, if it is -1, no text, fits a conversion of a piece. */
NEAP_API int neap_conversion_check(int dtype, const char *conversion);
/* The text of a value under it: of an element, or, if dtype is -1, of `size` bytes of text. *bytes gets its length; at
 * most `capacity` are written. */
NEAP_API int neap_conversion_text(int dtype, const void *value, size_t size, const char *conversion, char *text,
                                  size_t capacity, size_t *bytes);

/* ---- Effects: callbacks ------------------------------------------------------------------------------------------
 * A function of the user thread that is called when its arguments are there. C knows it by a number; the caller keeps
 * what that stands for until neap_callback_dropped says that nobody needs it any more. */
typedef struct neap_spec { /* what a result is */
    int32_t dtype, ndim;
    int64_t shape[NEAP_MAX_DIMS];
} neap_spec;
/* A pure function may be called less often than it is asked for, and more often. How a batch of calls is made: */
enum {
    NEAP_PURE_SEQUENTIAL = 1, /* a call for each example */
    NEAP_PURE_EXPAND,         /* one, on all; what the examples share has an axis of size 1 in front */
    NEAP_PURE_BROADCAST       /* one, on all; what the examples share is repeated */
};
typedef struct neap_callback {
    int32_t callee; /* the number of the function, not 0. Only this call has it */
    int32_t kind;   /* NEAP_EFFECT_… */
    int32_t unordered;
    int32_t tolerant; /* 1: called also with arguments that failed; else their failure is that of the results */
    int32_t nresults;
    const neap_spec *results;
    const char *name, *site; /* of the function, and the script line of the call; copied */
    int32_t pure;            /* 0: an effect; else NEAP_PURE_…: results are all that there is of the call */
    int32_t family;          /* of pure ones: calls of one family on the same arrays are one call; 0: of none */
    uint64_t numbers;        /* of pure ones: bit k: array k stands for a number, which has no axes of a batch */
} neap_callback;
/* Records a call with n arrays, and starts it; results gets an id for each result. Inside a trace the call becomes part
 * of the program. A negative status: nothing was recorded, and the callee will not be dropped. */
NEAP_API int neap_callback_push(neap_ctx *ctx, const neap_callback *how, int n, const int32_t *ids, int32_t *results);
typedef struct neap_taken {
    int32_t callee; /* 0: no callback waits, or one ended at once, since an argument failed */
    int32_t n, args[NEAP_MAX_INPUTS];
} neap_taken;
/* Opens the next callback whose turn has come, and gives its arguments ids; they have their values. NEAP_E_MEMORY: call
 * again; a callback that finds no memory then has failed. Callbacks may be taken inside each other. */
NEAP_API int neap_callback_take(neap_ctx *ctx, neap_taken *out);
/* Result k (from 0) of the innermost open callback. Polls. NEAP_E_SHAPE says what was expected. */
NEAP_API int neap_callback_return(neap_ctx *ctx, int k, int32_t id);
/* Closes the innermost open callback. A negative status, with its text (NULL: the thread's last error), is the failure
 * of its results; a callback without results has its failure reported on stderr, in its place among the effects.
 * NEAP_PENDING: the callback belongs to a loop, whose next one has to be taken now. */
NEAP_API int neap_callback_end(neap_ctx *ctx, int status, const char *text);
/* Writes up to `capacity` callees that will not be called any more; returns how many. */
NEAP_API int32_t neap_callback_dropped(neap_ctx *ctx, int32_t capacity, int32_t *callees);

/* ---- Explanations ------------------------------------------------------------------------------------------------
 * What will run for n arrays that are computed together, or has run: their expressions, the planned kernels and calls
 * with bytes, estimates and times. Starts nothing; a plan that was made for it is kept. The text is of bounded length.
 * *bytes gets the full length; at most `capacity` are written. */
enum {
    NEAP_EXPLAIN_TEXT,
    NEAP_EXPLAIN_DOT /* a picture, in the language of Graphviz's dot */
};
NEAP_API int neap_explain(neap_ctx *ctx, int n, const int32_t *ids, int form, char *text, size_t capacity,
                          size_t *bytes);

#endif
