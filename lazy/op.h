/* op.h: what one operation is: a row of facts and rules, in one place.
 *
 * A file lazy/ops/FAMILY.c (mesh/ops/FAMILY.c: collectives, ways onto a mesh) holds rows `NEAP_OP(name, .field = value,
 * …)`. The build scans these files (tools/gen/ops.lua) and writes from them the enum LAZY_OP_name, the table
 * lazy_ops[], the Lua constructors, the reference page, the kernel loops of lazy/vm/simd and the list of generated
 * tests. So an op is added by writing one row (docs: CONTRIBUTING.md), and passes read row fields; a test for one op
 * outside of these folders is a design error (tools/check_layers knows the few that are none).
 *
 * Form that the scanner relies on: `NEAP_OP(` starts a line, each field is `.name = value`, texts are C string
 * literals (adjacent literals are joined), and the closing `)` ends the row.
 *
 * Numbered requirements for a row:
 *  1. It rounds once, to its dtype (docs: numbers). No contraction, no reassociation inside kernel text.
 *  2. It is total: every bit pattern of every accepted dtype gives a defined result on every target, without traps.
 *  3. Attributes are integers and structural: they enter hashes. A number that may change from call to call is an
 *     operand, never an attribute.
 *  4. A gradient rule builds graph nodes with graph_build*; it never computes.
 *  5. What a rule needs of its node's inputs or result is declared in .residual (see there).
 */
#ifndef LAZY_OP_H
#define LAZY_OP_H

#include <stdbool.h>

#include "engine/routine.h"
#include "lazy/lazy.h"

typedef struct neap_node neap_node;
typedef struct neap_program neap_program;
typedef struct lazy_batching lazy_batching;         /* batch.h */
typedef struct lazy_shard_rule lazy_shard_rule;     /* sharding.h */
typedef struct lazy_expansion lazy_expansion;       /* the same */
typedef struct lazy_control_kind lazy_control_kind; /* control/control.h */

/* How an op is lowered. A new class touches the planner; a new op of an existing class touches one file. */
typedef enum lazy_class {
    LAZY_SOURCE,   /* no inputs: constant, iota, placeholder */
    LAZY_MAP,      /* elementwise with broadcasting; fused by kernel text */
    LAZY_VIEW,     /* reads its input at other places: costs nothing by itself */
    LAZY_REDUCE,   /* attributes: bit mask of axes, keepdims; the combining text of .kernel over the fixed tree */
    LAZY_ASSEMBLE, /* pieces of the result are copied from inputs: concatenate, pad */
    LAZY_GATHER, /* take: elements of input 0 along an axis, its first attribute, at the places that input 1 says, whose
                    * axes replace that one. Fused into what reads it; input 0 is materialized */
    LAZY_CALL,   /* a function over whole arrays: products, scatters, sorts, random draws ("heavy": operands and
                    * results are materialized, and recording a call starts the call, but for large draws: .drawn) */
} lazy_class;

/* Where a source that no rule infers has its value. */
typedef enum lazy_origin {
    LAZY_ORIGIN_RULES,  /* its rules and attributes say it; so it is for all that is no source */
    LAZY_ORIGIN_VALUE,  /* in the node: a constant */
    LAZY_ORIGIN_CALLER, /* an input of a program that is being traced: each run is given another one */
    LAZY_ORIGIN_BUFFER, /* data: in the buffer that it is made with */
    LAZY_ORIGIN_INDEX   /* element i is i: each reader computes it */
} lazy_origin;

/* Kernel text, C expressions over operands a, b, c of type T giving O: T is the C type of the operands' dtype, U an
 * unsigned type of at least T's width in which nothing overflows, O the type of the result. F(name) names the
 * vector-math function for T, as in "F(exp)(a)"; F(lowest) and F(highest) are the ends of the dtype's row. The most
 * specific text that is set is taken: f32 before real, boolean/integer/real/complex before any. Where neither <, >, /,
 * % nor F stand in a text, signed integers share the loop of unsigned ones. A reduction has the texts of its .combines
 * where it has none of its own. */
typedef struct lazy_kernel_text {
    const char *any, *boolean, *integer, *real, *complex, *f32, *f64;
    const char *half;             /* of f16 and bf16 as they are stored; without it that of f32, between conversions */
    const char *identity;         /* reductions: the neutral element as T, e.g. "(T)-0.0" */
    const char *complex_identity; /* that of complex dtypes, where it is another one */
    const char *worst;            /* reductions of numbers whose neutral element is NaN: the number that never wins */
    /* Reductions: maps whose results have loops that combine them as they are computed, "f" or "f of g". */
    const char *absorbs;
} lazy_kernel_text;

typedef struct lazy_call_desc { /* one input or the list of attributes, as the rules see them */
    int nin;
    const struct lazy_aval *in;
    int nattrs;
    const int64_t *attrs;
} lazy_call_desc;

typedef struct lazy_aval { /* what is known of an array before it has a value */
    uint8_t dtype, ndim;
    bool weak;     /* without a dtype of its own: a number (then ndim is 0 and dtype F64), or a weak array, of f32 */
    bool fraction; /* one that no integer is, as far as is known when it is recorded */
    bool unknown;  /* one whose value is not known then; else `value` is it */
    double value;
    int64_t size;
    const int64_t *shape;
} lazy_aval;

typedef struct lazy_map { /* an affine view: element [i…] is element offset + Σ i[k]·stride[k] of the base */
    int64_t offset;
    int64_t stride[NEAP_MAX_DIMS];
} lazy_map;

typedef struct lazy_piece { /* of a result that is assembled: an input, or one element spread over a box of places */
    int input;
    bool fill;
    lazy_map write;             /* from the axes of the input, or of the box, to the result's elements */
    int64_t box[NEAP_MAX_DIMS]; /* a fill's; its strides are those of the result */
} lazy_piece;

typedef struct lazy_result { /* what dtype and shape rules fill in */
    uint8_t compute;         /* dtype to which inputs are cast before the op */
    uint8_t dtype, ndim;
    int64_t shape[NEAP_MAX_DIMS];
} lazy_result;

typedef struct lazy_tensor { /* an operand of a LAZY_CALL function at run time */
    void *data;
    uint8_t dtype, ndim;
    int64_t size;
    const int64_t *shape;
    const int64_t *stride; /* in elements */
} lazy_tensor;

typedef struct lazy_call { /* what a LAZY_CALL function gets */
    const struct lazy_op *op;
    int nin, nattrs;
    const lazy_tensor *in;
    const lazy_tensor *out; /* contiguous */
    const int64_t *attrs;
    void *prepared; /* what the backend that runs it has made of it; NULL: nothing */
    void *kept;     /* on a CPU, the form of an operand (lazy_kept); NULL: none */
} lazy_call;

/* A call's own form of an operand, such as a matrix in the layout of a library: for each run in which the operand holds
 * the same. */
typedef struct lazy_kept {
    int operand;
    /* For calls with these tensors, without data; sets the bytes of the form. NULL: there is none. OWNED */
    void *(*open)(const lazy_call *call, size_t *bytes);
    void (*close)(void *kept);
} lazy_kept;

typedef struct lazy_grad { /* what a gradient rule gets: the node, the cotangent of its result, who wants one */
    neap_ctx *ctx;
    neap_node *node;
    neap_node *ct;
    int nresults;    /* of a node with several results: how many; its `ct` is NULL */
    neap_node **cts; /* the cotangents of several results; NULL among them is zero */
    bool *wants;     /* by input */
    /* The rule sets out[k] where wants[k]; NULL is zero. BORROWED from the graph. A map's out[k] may have the broadcast
     * shape: the driver sums it back. */
    neap_node **out;
} lazy_grad;

typedef struct lazy_tangent { /* what a forward rule gets: the node and the tangents of its inputs, NULL: zero */
    neap_ctx *ctx;
    neap_node *node;
    neap_node **in;
    /* The rule sets it; NULL is zero. BORROWED from the graph. A number, or a shape that broadcasts to the node's, will
     * do. Of a node with several results it sets `outs` instead. */
    neap_node *out;
    int nresults;
    neap_node **outs;
} lazy_tangent;

enum { LAZY_RESIDUAL_OUT = 1, LAZY_RESIDUAL_IN0 = 2, LAZY_RESIDUAL_IN1 = 4, LAZY_RESIDUAL_IN2 = 8 };

enum {
    LAZY_OP_DENSE = 1,     /* call: wants contiguous operands */
    LAZY_OP_ZERO_GRAD = 2, /* the gradient is zero everywhere or undefined: differentiation stops here, but for complex
                              numbers of a row that has a rule */
    LAZY_OP_HIDDEN = 4,    /* no Lua constructor is generated */
    LAZY_OP_ARG = 8,       /* a reduction to an index: the first element that wins */
    LAZY_OP_CASTS = 16,    /* its result's dtype is its first attribute */
    LAZY_OP_CHEAP = 32,    /* source: made of nothing but its attributes or one number; map: may be part of formulas */
    LAZY_OP_ALIAS = 64,    /* its input under another name: an argument of a gradient */
    LAZY_OP_PROMPT = 128,  /* call: never pending, whoever records it starts it */
    LAZY_OP_PLACES = 256,  /* its result is committed to the device of its first attribute; -1: to none. A call: it
                              only moves its inputs there, one behind the other, from wherever they are */
    LAZY_OP_SPLITS = 512,  /* call: much work is split over the workers */
    LAZY_OP_INTEGRAL = 2048, /* map: of numbers that are integral it gives one */
    LAZY_OP_PART = 1024,     /* one result of its input, a node with several: the one that its first attribute counts */
    LAZY_OP_AXIS = 4096,     /* over a named axis: its first attribute is the name, its second input the token */
    LAZY_OP_MESH = 8192,     /* its result lies on a mesh, whatever its input is (mesh/ops/mesh.c) */
    LAZY_OP_FAILS = 16384,   /* call: fails for some values of its operands, or for all (plan/unsettled.c) */
    /* What a map is, in each dtype that it accepts, to the bit but for NaNs (tests/ops/facts.c). */
    LAZY_OP_IDENTITY = 32768,  /* its result is its operand */
    LAZY_OP_CHOOSES = 65536,   /* its result is one of its operands; of `where` one of the last two */
    LAZY_OP_COMMUTES = 131072, /* its two operands may change places */
    LAZY_OP_CHAINS = 262144,   /* map: cheap, so it has links for chains (vm/simd/simd.h) */
    LAZY_OP_REAL = 1048576,    /* map: of what is not complex its result is its operand */
    LAZY_OP_HALVES = 524288    /* call of two f32 arrays: its routine takes two halves, too (plan/halves.c) */
};

/* How an op takes arrays whose sums over an axis of a mesh are not done: it is linear in all its values, in the first
 * input, in each of its inputs, or in all but the first. BY_CLASS: views, pieces, gathers and what has
 * derive_jvp_linear are linear; others do not take them. */
enum {
    LAZY_UNDONE_BY_CLASS,
    LAZY_UNDONE_NONE,
    LAZY_UNDONE_LINEAR,
    LAZY_UNDONE_FIRST,
    LAZY_UNDONE_FACTORS,
    LAZY_UNDONE_CHOICES
};

/* The dtypes that the op accepts after its dtype rule has chosen one. LAZY_REAL has f16 and bf16; but calls and
 * reductions without LAZY_HALF get those as f32, and their result is rounded (record.c). LAZY_ANY is for calls that
 * only move elements. */
enum {
    LAZY_BOOL = 1,
    LAZY_INT = 2,
    LAZY_REAL = 4,
    LAZY_HALF = 8,
    LAZY_NUMERIC = LAZY_INT | LAZY_REAL,
    LAZY_COMPLEX = 16,
    LAZY_INEXACT = LAZY_REAL | LAZY_COMPLEX,
    LAZY_ORDERED = LAZY_BOOL | LAZY_INT | LAZY_REAL, /* all but the complex ones */
    LAZY_ALL = LAZY_ORDERED | LAZY_COMPLEX,
    LAZY_ANY = LAZY_ALL | LAZY_HALF,
    LAZY_BITS = LAZY_BOOL | LAZY_INT
};

/* The programs that a node runs. */
typedef struct lazy_inner {
    int n;         /* how many there are, with those of its derivatives */
    int bodies;    /* how many it runs: the first ones */
    bool one;      /* it runs one of these, not all */
    bool inlined;  /* a call: in its place is run what the first one records, of its first inputs (program/lower.h) */
    int64_t turns; /* how often it runs them; -1: nobody knows */
    neap_program *const *programs;
} lazy_inner;

struct graph_call;  /* graph.h */
struct lazy_launch; /* plan.h */
struct lazy_text;   /* format.h */
struct vm_gpu_call; /* vm/gpu_calls.h */

/* What nodes carry besides inputs and attributes: a function of the script, programs, an exchange between processes.
 * There is one structure for each kind, which the rows of the kind name. It is all that others know of the kind: code
 * that plans, runs, replays, prints or frees a node looks whether its row has a payload, and then asks that. Each
 * function gets a node of the kind; NULL says that there is nothing to do or to tell. */
typedef struct lazy_payload {
    /* The first attribute of a node is a pointer, to which the node has a reference. It is no structure: no key, no
     * file and no text has it, and nobody but the kind's own functions makes such a node. */
    bool pointer;
    /* Other processes take part: such nodes run in the order in which they were recorded, whoever reads them. */
    bool exchange;
    /* Gives up the reference of a node that is freed. */
    void (*release)(const neap_node *node);
    /* Which effects it has, LAZY_EFFECTS_… (effect.h); 0: none. */
    int (*effects)(const neap_node *node);
    /* Its place among the context's effects, in the order of recording. */
    uint64_t (*serial)(const neap_node *node);

    /* Plans. Makes ready what planning a region with the node needs. */
    int (*prepare)(neap_ctx *ctx, const neap_node *node);
    /* Writes the words that tell apart nodes of one row, at most key_words, for keys of regions. Returns their end. */
    uint64_t *(*key)(uint64_t *to, const neap_node *node);
    int (*key_words)(const neap_node *node);
    /* Estimated ns on a device; NULL: what the row says. */
    int64_t (*cost)(const neap_node *node, int device);
    /* Bytes of memory of its own that a run on a device needs. */
    size_t (*scratch)(const neap_node *node, int device);
    /* Why a device whose memory is not the host's does not run it, as lazy_backend.lacks_call; NULL: none does. */
    const char *(*lacks)(const neap_ctx *ctx, const neap_node *node, int device);
    /* Pushes its op. Never NULL. */
    int (*push)(neap_ctx *ctx, const struct lazy_launch *launch);
    /* Is it run by machine code of its own on a device? Why it is run so there: as lazy_backend.why. */
    bool (*is_native)(const neap_node *node, int device);
    const char *(*why)(const neap_node *node, int device, char *text, size_t capacity);
    /* Asks for that code, or for that of its parts: as lazy_backend.compile. */
    bool (*compile)(const neap_node *node, int device);

    /* Programs. Records it anew, on programs and attributes (without the pointer) that were read from a file. OWNED. */
    neap_node *(*record)(neap_ctx *ctx, int nprograms, neap_program *const *programs, const struct graph_call *call);
    /* Records it again on other inputs: it happens, or is an effect of the innermost open trace. OWNED. Never NULL. */
    neap_node *(*again)(neap_ctx *ctx, const neap_node *node, neap_node *const *in);
    /* The same without its effects; NULL: as again, it is never without them. OWNED. */
    neap_node *(*without_effects)(neap_ctx *ctx, const neap_node *node, neap_node *const *in);
    /* Can it not be run again for a derivative, so that its results are answers (graph/context.h)? NULL: it can. */
    bool (*once)(const neap_node *node);
    /* It leaves the innermost derivative that it belongs to, and other levels are open; NULL: that is nothing to it. */
    int (*leave_tape)(neap_ctx *ctx, neap_node *node);
    /* The programs that it runs. BORROWED. */
    void (*programs)(const neap_node *node, lazy_inner *out);
    /* Are these the attributes of one of its results, a node of a row with LAZY_OP_PART? */
    bool (*has_part)(const neap_node *node, int64_t nattrs, const int64_t *attrs);
    /* Is the node, or a node of its programs, batched by a rule of the batch's caller? NULL: no. */
    bool (*has_batch_rules)(const neap_node *node);

    /* Printing. Writes what stands behind the name of the op; NULL: the attributes stand there. */
    int (*print)(const neap_node *node, struct lazy_text *to);
    /* Is this attribute as it is where nobody asks for another value? Then it is not printed. */
    bool (*is_default)(const neap_node *node, int attr);
} lazy_payload;

/* What machine code of a loop does in place of a call (lazy_op.intrinsic). Operands are row-major where nothing else
 * is said; places and strides are in elements. */
typedef struct lazy_intrinsic {
    enum {
        LAZY_INTRINSIC_COPY, /* the result is what stands in input 0 from `first` bytes on */
        /* The result is input 0, in whose memory it is made, as rows of `inner` elements, `size` of them. Row in[1][k]
         * becomes row k of input 2, or what a map makes of both: n rows in order; those out of range are left out. */
        LAZY_INTRINSIC_PUT,
        /* Element r of the result, of `size`, is the sum of `inner` products, but 0, if it is -0: of the other input,
         * which lies in one piece, and of in[matrix][r * step + apart * …]; one of these distances is 1. */
        LAZY_INTRINSIC_DOT
    } what;
    int64_t first, size, inner, n, step, apart;
    int joins, matrix; /* PUT: the map; -1: none */
} lazy_intrinsic;

/* A draw: element k of its result depends on its key and on the counter k alone. With keys of shape (…, 2) the first
 * axes of the result are theirs, and each key counts from 0. */
typedef struct lazy_drawing lazy_drawing; /* plan/drawing.h */
typedef struct lazy_drawn {
    int keys;                            /* the input with the keys, behind the bounds */
    int first;                           /* the attribute where the shape of the elements of a key begins */
    int32_t (*element)(lazy_drawing *d); /* writes the maps that make an element; returns its value */
} lazy_drawn;

typedef struct lazy_op {
    const char *name;
    const char *doc; /* one paragraph: shapes, dtypes, what is defined at the edges, the source of a formula */
    /* Of a function that users call by name: a line of Lua, then what it prints, for help (tools/gen/help.lua) and the
     * tests; annotations of the library have it for what it defines itself. */
    const char *example;
    const char *attrs; /* names of the attributes, "axes keepdims", by which files know them (attrs.c); "shape…" at the
                        * end: any number of that name; "(start step count)…": any number of such groups */
    lazy_class kind;
    uint8_t arity; /* number of inputs; 255: any number, at least one */
    uint8_t types; /* accepted dtypes */
    uint32_t flags;
    uint8_t residual;
    uint8_t origin; /* LAZY_SOURCE: lazy_origin */
    /* LAZY_CALL: what its nodes carry; NULL: nothing but inputs and attributes. */
    const lazy_payload *payload;
    /* Which kind of control flow it is; NULL: none. */
    const lazy_control_kind *control;
    /* Chooses the dtype to compute in and the dtype of the result. */
    int (*dtype)(const lazy_call_desc *call, lazy_result *out);
    /* Infers the shape. NULL for maps (broadcasting). */
    int (*shape)(const lazy_call_desc *call, lazy_result *out);
    /* LAZY_VIEW: the map from the result to the input, whose elements count in row-major order. */
    int (*view)(const lazy_call_desc *call, const lazy_result *out, lazy_map *map);
    /* LAZY_ASSEMBLE: where the pieces go, in the order in which they are written. Returns their
     * number (at most NEAP_MAX_INPUTS + 1) or a status. */
    int (*pieces)(const lazy_call_desc *call, const lazy_result *out, lazy_piece *pieces);
    /* LAZY_CALL: the work. Runs on any thread; may use neap_parallel_for. */
    int (*call)(const lazy_call *call, const neap_run *run);
    /* LAZY_CALL: the library that does the work on the host, a name for people; NULL, or without this rule: our own
     * code. The tensors may be without data. */
    const char *(*library)(const lazy_call *call);
    /* LAZY_CALL: the same as work for a library of a device (engine/routine.h), of operands that lie where their data
     * says, if that is set. NULL, or why no library does it: a clause for np.explain, BORROWED for ever. NULL: no
     * library has it. */
    const char *(*routine)(const lazy_call *call, neap_routine *out);
    /* LAZY_CALL: whether an operand may lie so (its data is not set); else it gets a buffer of its own, row-major.
     * NULL: any strides, with LAZY_OP_DENSE row-major ones. */
    bool (*reads)(const lazy_tensor *operand);
    /* LAZY_CALL: as launches on a GPU: fills in the plan (lazy/vm/gpu_calls.h). Returns why it cannot, a clause, or
     * NULL. NULL: there is no code for GPUs. */
    const char *(*gpu)(const lazy_call *call, struct vm_gpu_call *plan);
    /* LAZY_CALL: a draw, whose readers make a few elements by themselves. NULL: not a draw. */
    const lazy_drawn *drawn;
    /* LAZY_CALL: the form of an operand to keep on a CPU. NULL: none. */
    const lazy_kept *keeps;
    /* LAZY_CALL: what else does the work where a loop's turns are machine code. false, or NULL: they call it. */
    bool (*intrinsic)(const lazy_call *call, lazy_intrinsic *out);
    /* LAZY_CALL: its result is input 0 with the elements of this input written, or added, over parts of it; 0: it is a
     * new array. Such a call finds input 0 in the memory of its result, and touches what it writes. It waits with what
     * is pending, if it writes little, so that a chain of such calls is planned as one array. */
    uint8_t updates;
    /* LAZY_CALL: with these attributes, is its result what its input begins with, as it lies there? Then there is
     * nothing to do where both are one piece of memory. NULL: never. */
    bool (*begins)(const int64_t *attrs);
    /* LAZY_CALL: estimated ns on one core, for scheduling only. NULL: about the bytes moved. */
    int64_t (*cost)(const lazy_call_desc *call, const lazy_result *out);
    /* Operations on elements that it takes (cost.c). NULL: maps one for each element of the result, reductions one for
     * each of the input, others none. */
    double (*flops)(const lazy_call_desc *call, const lazy_result *out);
    int (*grad)(lazy_grad *g);
    /* Forward mode. NULL: a map, whose gradient rule is used; or linear in its float inputs (derive_jvp_linear), which
     * calls and reductions have to say. */
    int (*jvp)(lazy_tangent *g);
    /* How it takes arrays whose sums over an axis of a mesh are not done (LAZY_UNDONE_…; mesh/unreduced.c). */
    uint8_t undone;
    /* How many results a node has that parts are taken from (LAZY_OP_PART); NULL: it is its only result. */
    int (*results)(const neap_node *node);
    /* The op for many examples at once (batch.h). NULL: that of the class, which maps and reductions have. */
    int (*batch)(lazy_batching *g);
    /* The op on arrays that are split over a mesh (sharding.h). NULL: that of the class, which maps and reductions
     * have; others gather first. */
    int (*shard)(lazy_shard_rule *g);
    /* What becomes of meshed inputs (sharding.h). NULL: the op on their blocks. */
    int (*expand)(lazy_expansion *g);
    /* LAZY_OP_MESH: the input may be where the op leads already, as programs are replayed on other inputs. Returns the
     * attributes of what is left to do, in *rest if they change; NULL: nothing is left. A row without this rule always
     * does all of it. */
    const int64_t *(*left)(const neap_node *in, const int64_t *attrs, int64_t *rest);
    /* LAZY_OP_MESH: its input lies as its first attribute, a sharding, says; one that does not is moved there first. */
    bool lies;
    lazy_kernel_text kernel;
    /* LAZY_REDUCE, without LAZY_OP_ARG: the map of two operands that combines elements, in the dtypes for which .kernel
     * has no text of its own (lazy_combines). */
    int16_t combines;
    /* Maps that combine what devices have: what that is called, for people. */
    const char *collective;
    /* Maps and gathers: estimated ns for an element of 4 bytes on one core, where operands and result are in its first
     * cache (with AVX2). 0: 0.06, what plain arithmetic takes. Plans weigh it against memory (vm_ins_cost). */
    double ns;
    /* For generated tests: where inputs are drawn from (per op, all inputs alike), the reference in Lua over
     * Lua numbers a, b, c ("math.exp(a)"), and the allowed error in ulp of the result (0: exact). */
    double domain[2];
    const char *reference;
    double ulp;
} lazy_op;

#define NEAP_OP(id, ...) const lazy_op lazy_op_##id = {.name = #id, __VA_ARGS__};

/* The generated table and enum. */
extern const lazy_op *const lazy_ops[];
extern const int lazy_op_count;

/* The map that a reduction of a dtype combines by; -1: none does the same. */
static inline int lazy_combines(int reduction, int dtype) {
    const lazy_op *row = lazy_ops[reduction];
    bool own = row->flags & LAZY_OP_ARG || (row->kernel.complex && neap_dtype_kind(dtype) == 'c');
    return own ? -1 : row->combines;
}

/* ---- Rules that rows share (rules.c) ---------------------------------------------------------------------------- */
int graph_dtype_promote(const lazy_call_desc *call, lazy_result *out); /* JAX's table; result as computed */
int graph_dtype_real(const lazy_call_desc *call, lazy_result *out);    /* promoted; bool and integers become f32 */
int graph_dtype_compare(const lazy_call_desc *call, lazy_result *out); /* promoted, result bool */
int graph_dtype_part(const lazy_call_desc *call, lazy_result *out);    /* promoted, complex gives its parts' dtype */
int graph_dtype_parts(const lazy_call_desc *call, lazy_result *out);   /* of real numbers, result complex */
int graph_dtype_same(const lazy_call_desc *call, lazy_result *out);    /* that of the first input, no casts */
int graph_dtype_where(const lazy_call_desc *call, lazy_result *out);   /* inputs 1 and 2 promoted; input 0 is bool */
int graph_dtype_sum(const lazy_call_desc *call, lazy_result *out);     /* the dtype's row says which */
int graph_shape_reduce(const lazy_call_desc *call, lazy_result *out);
int graph_shape_same(const lazy_call_desc *call, lazy_result *out);
int derive_jvp_linear(lazy_tangent *g); /* the op itself on tangents (tangent.c) */
/* Normalises an axis in [-ndim, ndim); errors name the op. */
int graph_axis(const char *op, int64_t axis, int ndim, int *out);

/* ---- Building nodes in rules ------------------------------------------------------------------------------------
 * Nodes come back BORROWED: the context owns what was recorded until the rule's caller has finished. A NULL input
 * gives NULL, so a rule checks once at its end. Numbers are weak. */
neap_node *graph_build(neap_ctx *ctx, int op, int nin, neap_node *const *in, int nattrs, const int64_t *attrs);
neap_node *graph_build1(neap_ctx *ctx, int op, neap_node *a);
neap_node *graph_build2(neap_ctx *ctx, int op, neap_node *a, neap_node *b);
neap_node *graph_build3(neap_ctx *ctx, int op, neap_node *a, neap_node *b, neap_node *c);
neap_node *graph_build_number(neap_ctx *ctx, double value); /* a weak 0-d constant */
neap_node *graph_build_cast(neap_ctx *ctx, neap_node *a, int dtype);
neap_node *graph_build_broadcast(neap_ctx *ctx, neap_node *a, int ndim, const int64_t *shape);
neap_node *graph_build_reshape(neap_ctx *ctx, neap_node *a, int ndim, const int64_t *shape);
neap_node *graph_build_place(neap_ctx *ctx, neap_node *a, int device); /* -1: uncommitted */
neap_node *graph_build_add(neap_ctx *ctx, neap_node *a, neap_node *b);
neap_node *graph_build_sum(neap_ctx *ctx, neap_node *a, int64_t axes);            /* axes: a bit mask; they go away */
neap_node *graph_build_slice(neap_ctx *ctx, neap_node *a, const int64_t *ranges); /* by axis: start, step, count */
neap_node *graph_build_transpose(neap_ctx *ctx, neap_node *a, const int64_t *axes);
neap_node *graph_build_concatenate(neap_ctx *ctx, int n, neap_node *const *parts, int axis);
/* Inputs and attributes of a node, and what is known of it. */
neap_node *graph_node_in(const neap_node *node, int k);
const int64_t *graph_node_attrs(const neap_node *node);
int graph_node_nattrs(const neap_node *node);
lazy_aval graph_node_aval(const neap_node *node);
int graph_node_device(const neap_node *node); /* that it is committed to, -1: none */

#endif
