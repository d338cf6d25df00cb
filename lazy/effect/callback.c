/* callback.c: Lua functions that are called when their arguments are there: the effect whose work the user thread does.
 *
 *      record ──▶ node `callback`: reads the arguments, its value is a block of bytes
 *                    └─▶ nodes `callback_part`: each copies one result out of the block
 *      flush  ──▶ request (run.c) ──▶ turn of its token ──▶ neap_callback_take … return … end, called by Lua
 *
 * Recorded once and run at once, or recorded in a trace and run with each run of the program: both go this way. The
 * function is a number to which Lua knows the closure; it stands in a lazy_callback, which the node refers to. This is
 * no part of the structure of a region (region.c leaves it out of the key), so a fresh closure needs no new plan.
 *
 * Where arguments differ between devices it is a node on a mesh, whose blocks are the calls: one for each device
 * (callback_blocks.c).
 *
 * Callbacks and their parts are never pending: a flush of everything must not start what failed to be recorded.
 *
 * Open callbacks form a stack of frames. While one is open the gradients and traces that its caller has open are not
 * seen (ctx->levels.floor): what the function prints happens, it is not recorded by a trace that merely waits.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"
#include "ops_gen.h"

enum { BLOCK_ALIGN = 64 };

/* ---- What is known of a callback --------------------------------------------------------------------------------- */
static int check_spec(const neap_spec *spec, int k, int64_t *bytes) {
    if (spec->dtype < 0 || spec->dtype >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "callback: result %d: no such dtype", k + 1);
    if (spec->ndim < 0 || spec->ndim > NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "callback: result %d: expected at most %d axes", k + 1, NEAP_MAX_DIMS);
    *bytes = neap_dtype_bytes(spec->dtype);
    for (int a = 0; a < spec->ndim; a++)
        if (spec->shape[a] < 0 || __builtin_mul_overflow(*bytes, spec->shape[a], bytes) || *bytes > INT64_MAX / 16)
            return neap_error(NEAP_E_SHAPE, "callback: result %d: bad size of an axis", k + 1);
    return 0;
}

/* Lays the results out in the block. */
static int lay_out_callback(lazy_callback *callback, const neap_spec *results) {
    for (int k = 0; k < callback->nresults; k++) {
        int64_t bytes = 0;
        int status = check_spec(&results[k], k, &bytes);
        if (status)
            return status;
        callback->results[k] = results[k];
        callback->offsets[k] = callback->bytes;
        callback->bytes += (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
        if (callback->bytes > INT64_MAX / 16)
            return neap_error(NEAP_E_SHAPE, "callback: the results are too large");
    }
    callback->bytes += callback->bytes == 0; /* its variable is what the results wait for */
    return 0;
}

int effect_callback_new(neap_ctx *ctx, const neap_callback *how, lazy_callback **out) {
    if (!neap_effect_name(how->kind) || how->callee == 0)
        return neap_error(NEAP_E_ARGUMENT, "callback: no such kind of effect, or no function");
    size_t n = how->nresults > 0 ? (size_t)how->nresults : 0, name = strlen(how->name) + 1;
    size_t site = strlen(how->site) + 1, tables = n * (sizeof(neap_spec) + sizeof(int64_t));
    lazy_callback *callback = calloc(1, sizeof *callback + tables + name + site);
    if (!callback)
        return neap_error(NEAP_E_MEMORY, "out of memory for a callback");
    *callback = (lazy_callback){.refs = 1,
                                .kind = how->kind,
                                .unordered = how->unordered || how->pure,
                                .tolerant = how->tolerant,
                                .nresults = (int32_t)n,
                                .pure = how->pure,
                                .family = how->family,
                                .numbers = how->numbers,
                                .serial = ++ctx->callbacks.last,
                                .ctx = ctx};
    callback->offsets = (int64_t *)(callback + 1);
    callback->results = (neap_spec *)(callback->offsets + n);
    char *text = (char *)(callback->results + n);
    callback->name = memcpy(text, how->name, name);
    callback->site = memcpy(text + name, how->site, site);
    int status = lay_out_callback(callback, how->results);
    if (status) {
        free(callback);
        return status;
    }
    callback->callee = how->callee;
    ctx->counters.callees++;
    *out = callback;
    return 0;
}

lazy_callback *effect_callback_retain(lazy_callback *callback) {
    atomic_fetch_add_explicit(&callback->refs, 1, memory_order_relaxed);
    return callback;
}

void effect_callback_release(lazy_callback *callback) {
    if (atomic_fetch_sub_explicit(&callback->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (callback->owner || !callback->callee) {
        if (callback->owner)
            effect_callback_release(callback->owner);
        free(callback);
        return;
    }
    lazy_callback *_Atomic *queue = &callback->ctx->callbacks.dropped;
    callback->next = atomic_load_explicit(queue, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(queue, &callback->next, callback))
        continue;
}

int32_t neap_callback_dropped(neap_ctx *ctx, int32_t capacity, int32_t *callees) {
    int32_t n = 0;
    while (n < capacity) {
        lazy_callback *callback = ctx->callbacks.dropping;
        if (!callback && !(callback = atomic_exchange(&ctx->callbacks.dropped, NULL)))
            break;
        ctx->callbacks.dropping = callback->next;
        callees[n++] = callback->callee;
        ctx->counters.callees--;
        free(callback);
    }
    return n;
}

void effect_callback_free_all(neap_ctx *ctx) {
    int32_t callees[16];
    while (neap_callback_dropped(ctx, 16, callees) > 0)
        continue;
    lazy_vector_free(&ctx->callbacks.open);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */
/* Results are constants to derivatives. A pure function may be called in the walk of one: by a rule. */
static int check_constant(neap_ctx *ctx, const lazy_callback *callback, int n, neap_node *const *in) {
    uint32_t others = graph_trace_levels(ctx) | (callback->pure ? ctx->levels.walked : 0);
    for (int k = 0; k < n && callback->nresults; k++)
        if (in[k]->levels & ~others)
            return neap_error(
                NEAP_E_ARGUMENT,
                "%s: the results of the function at %s, called at %s, cannot be differentiated; give it "
                "np.stop_gradient(x) for its arguments, or call it inside of a function with a rule (np.custom_jvp)",
                effect_callback_name(callback), callback->name, callback->site);
    return 0;
}

static int check_arguments(neap_ctx *ctx, const lazy_callback *callback, int n, neap_node *const *in) {
    for (int k = 0; k < n; k++)
        if (in[k]->flags & LAZY_ABSTRACT && !in[k]->levels)
            return neap_error(NEAP_E_TRACE, "callback: argument %d belongs to a trace that has ended", k + 1);
    return check_constant(ctx, callback, n, in);
}

/* What lies on a mesh is given to the function as a whole; of a trace, when it is lowered. */
static int take_whole(neap_ctx *ctx, int n, neap_node *const *in, neap_node **whole) {
    int status = 0;
    for (int k = 0; k < n && status == 0; k++) {
        whole[k] = in[k];
        if (graph_is_meshed(in[k]) && graph_has_blocks(in[k]))
            status = plan_host_node(ctx, in[k], &whole[k]);
    }
    return status;
}

/* The trace that a call belongs to; NULL: it happens. */
static lazy_level *trace_of_call(neap_ctx *ctx, const lazy_callback *callback, int n, neap_node *const *in) {
    return callback->pure ? effect_pure_trace(ctx, n, in) : effect_open_trace(ctx);
}

/* A node of the callback, which belongs to the open trace, if there is one. `each`: how a call for each device lies;
 * NULL: it is one call. OWNED. */
static neap_node *new_node(neap_ctx *ctx, lazy_callback *callback, int n, neap_node *const *in,
                           const lazy_sharding *each) {
    lazy_level *trace = trace_of_call(ctx, callback, n, in);
    lazy_result block = {.dtype = NEAP_DTYPE_U8, .ndim = 1, .shape = {callback->bytes}};
    int64_t attr = (int64_t)(intptr_t)callback;
    neap_node *node = graph_node_new(ctx, LAZY_OP_callback, &block, n, in, 1, &attr);
    if (!node)
        return NULL;
    if (graph_is_meshed(node)) /* by its arguments; in a trace these may have no values yet */
        node->device = -1;
    effect_callback_retain(callback);
    if (trace) {
        node->flags |= LAZY_ABSTRACT;
        node->levels |= 1u << (trace - ctx->levels.at);
    }
    if ((!each || graph_node_mesh(node, each) == 0) && graph_enroll(ctx, node) == 0)
        return node;
    graph_release(ctx, node);
    return NULL;
}

/* Makes the blocks of a node: a call for each device of this process, on what that device has. */
static int record_calls(neap_ctx *ctx, neap_node *node) {
    const lazy_sharding *each = node->shards->sharding;
    neap_node *in[NEAP_MAX_INPUTS];
    int status = 0;
    plan_hold(ctx);
    for (int32_t b = 0; b < each->nblocks && status == 0; b++) {
        status = effect_call_arguments(ctx, node, each->position[b], in);
        if (status == 0 && !(node->shards->blocks[b] = new_node(ctx, effect_callback_of(node), node->nin, in, NULL)))
            status = neap_error_code();
    }
    int held = plan_unhold(ctx);
    return status ? status : held;
}

/* The node of a call. In a trace it belongs to that, whatever it reads. *starts: the call has to be started, since it
 * is none that was there. OWNED. */
static neap_node *record_node(neap_ctx *ctx, lazy_callback *callback, int n, neap_node *const *in, bool *starts) {
    *starts = true;
    if (check_arguments(ctx, callback, n, in))
        return NULL;
    lazy_level *trace = trace_of_call(ctx, callback, n, in);
    neap_node *captured[NEAP_MAX_INPUTS], *whole[NEAP_MAX_INPUTS];
    if (trace && trace->closed) {
        if (graph_capture_into(ctx, (int)(trace - ctx->levels.at), n, in, captured))
            return NULL;
        in = captured;
    }
    neap_node *twin = trace && !trace->lowers ? effect_pure_twin(trace, callback, n, in) : NULL;
    if (twin) {
        *starts = false;
        return graph_retain(twin);
    }
    const lazy_sharding *each;
    if (effect_calls_sharding(n, in, &each))
        return NULL;
    if (!each)
        return take_whole(ctx, n, in, whole) == 0 ? new_node(ctx, callback, n, whole, NULL) : NULL;
    neap_node *node = new_node(ctx, callback, n, in, each);
    if (!node || (trace && !trace->lowers) || record_calls(ctx, node) == 0)
        return node;
    graph_release(ctx, node);
    return NULL;
}

/* Lets the call happen: at once, with its ancestors, or as an effect of the open trace. Of a node on a mesh that has
 * blocks, these are the calls. */
static int start_callback_node(neap_ctx *ctx, neap_node *node) {
    lazy_level *trace = trace_of_call(ctx, effect_callback_of(node), node->nin, node->in);
    if (!trace)
        return plan_flush_roots(ctx, 1, &node);
    if (!graph_is_meshed(node) || !trace->lowers)
        return effect_record(ctx, trace, node);
    int status = 0;
    for (int32_t b = 0; b < node->shards->sharding->nblocks && status == 0; b++)
        status = effect_record(ctx, trace, node->shards->blocks[b]);
    return status;
}

neap_node *effect_callback_again(neap_ctx *ctx, lazy_callback *callback, int n, neap_node *const *in) {
    bool starts;
    neap_node *node = record_node(ctx, callback, n, in, &starts);
    if (node && starts && start_callback_node(ctx, node)) {
        graph_release(ctx, node);
        return NULL;
    }
    return node;
}

neap_node *effect_callback_part(neap_ctx *ctx, neap_node *node, int k) {
    const lazy_callback *callback = effect_callback_of(node);
    const neap_spec *spec = &callback->results[k];
    lazy_result aval = {.dtype = (uint8_t)spec->dtype, .ndim = (uint8_t)spec->ndim};
    int64_t attrs[2 + NEAP_MAX_DIMS] = {callback->offsets[k], spec->dtype};
    for (int a = 0; a < spec->ndim; a++)
        aval.shape[a] = attrs[2 + a] = spec->shape[a];
    if (graph_is_meshed(node))
        return graph_record(ctx, LAZY_OP_callback_part, 1, &node, 2 + spec->ndim, attrs);
    neap_node *part = graph_node_new(ctx, LAZY_OP_callback_part, &aval, 1, &node, 2 + spec->ndim, attrs);
    if (part && graph_enroll(ctx, part)) {
        graph_release(ctx, part);
        return NULL;
    }
    return part;
}

/* Starts the copies of results; what finds no memory now is started by whoever asks for it. */
static void start_callback_parts(neap_ctx *ctx, int n, neap_node *const *parts) {
    if (n > 0 && !(parts[0]->flags & LAZY_ABSTRACT))
        (void)plan_start_now(ctx, n, parts);
}

/* Records the node, its parts and their ids, all that may fail, before the call is started. Nothing starts by itself
 * meanwhile: a part would start its own call, before that of the device in front of it. What cannot be started at the
 * end of that raises when it is read. */
static int push_callback(neap_ctx *ctx, lazy_callback *callback, int n, neap_node *const *in, neap_node **parts,
                         int32_t *results) {
    bool starts;
    plan_hold(ctx);
    neap_node *node = record_node(ctx, callback, n, in, &starts);
    int published = 0, status = node ? 0 : neap_error_code();
    for (int k = 0; k < callback->nresults && status == 0; k++) {
        parts[k] = effect_callback_part(ctx, node, k);
        status = parts[k] ? graph_publish(ctx, graph_retain(parts[k]), &results[k]) : NEAP_E_MEMORY;
        published += status == 0;
    }
    if (status == 0 && starts)
        status = start_callback_node(ctx, node);
    (void)plan_unhold(ctx);
    if (status == 0)
        start_callback_parts(ctx, callback->nresults, parts);
    else
        neap_release(ctx, published, results); /* what stays for want of memory is swept as a handle that died */
    for (int k = 0; k < callback->nresults; k++)
        graph_release(ctx, parts[k]);
    graph_release(ctx, node);
    return status;
}

static int push_on_ids(neap_ctx *ctx, lazy_callback *callback, int n, const int32_t *ids, int32_t *results) {
    neap_node *in[NEAP_MAX_INPUTS];
    for (int k = 0; k < n; k++)
        if (!(in[k] = graph_lookup(ctx, ids[k])))
            return neap_error_code();
    neap_node **parts = calloc((size_t)callback->nresults + 1, sizeof *parts);
    int status = parts ? push_callback(ctx, callback, n, in, parts, results)
                       : neap_error(NEAP_E_MEMORY, "out of memory for a callback");
    free(parts);
    return status ? status : graph_safepoint(ctx);
}

static int play_callback(neap_ctx *ctx, graph_note *note) {
    return push_on_ids(ctx, note->held, note->nin, note->in, note->out);
}

static void hold_callback(void *held) {
    effect_callback_retain(held);
}

static void let_callback_go(void *held) {
    effect_callback_release(held);
}

const graph_note_kind effect_note_callback = {
    .name = "callback",
    .play = play_callback,
    .shapes = GRAPH_NOTE_FIXED,
    .hold = hold_callback,
    .release = let_callback_go,
    .form = {.ints = "", .nin = GRAPH_NOTE_ANY, .nout = GRAPH_NOTE_ANY, .calls = true}};

int neap_callback_push(neap_ctx *ctx, const neap_callback *how, int n, const int32_t *ids, int32_t *results) {
    lazy_callback *callback = NULL;
    if (n < 0 || n > NEAP_MAX_INPUTS)
        return neap_error(NEAP_E_ARGUMENT, "callback: expected at most %d arrays, got %d", NEAP_MAX_INPUTS, n);
    for (int k = 0; k < n; k++)
        if (!graph_lookup(ctx, ids[k]))
            return neap_error_code();
    int status = effect_callback_new(ctx, how, &callback);
    if (status)
        return status;
    status = push_on_ids(ctx, callback, n, ids, results);
    if (status < 0) {
        callback->callee = 0;
        ctx->counters.callees--;
    }
    status = graph_noted(ctx, status,
                         &(graph_note){.kind = &effect_note_callback,
                                       .level = -1,
                                       .nin = n,
                                       .in = ids,
                                       .nout = callback->nresults,
                                       .out = results,
                                       .held = callback});
    effect_callback_release(callback);
    return status;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */
typedef struct argument {
    neap_buffer *buffer;
    int16_t device; /* that it is committed to */
    lazy_result aval;
} argument;

typedef struct request {           /* a call in flight, or work with calls */
    lazy_callback *callback;       /* of a call; NULL: this is work */
    const lazy_work_kind *kind;    /* of work: its kind */
    void *work;                    /* the work itself */
    const lazy_work_call *waiting; /* of work: the callback that it has come to */
    void *const *operands;
    bool exchanges; /* of work: other processes take part in it */
    neap_ctx *ctx;
    neap_buffer *block;
    bool results;
    int n;
    argument args[];
} request;

static void request_free(void *arg) {
    request *r = arg;
    if (r->results)
        atomic_fetch_sub_explicit(&r->ctx->callbacks.requests, 1, memory_order_relaxed);
    for (int k = 0; k < r->n; k++)
        neap_buffer_release(r->args[k].buffer);
    neap_buffer_release(r->block);
    if (r->callback)
        effect_callback_release(r->callback);
    if (r->work)
        r->kind->free(r->work);
    free(r);
}

/* Pushes the request of a callback's node: the buffers are those of its arguments, then its block. */
static int push_request(neap_ctx *ctx, const lazy_launch *launch) {
    const neap_node *node = launch->node;
    neap_buffer *const *bufs = launch->bufs;
    request *r = malloc(sizeof *r + node->nin * sizeof *r->args);
    neap_var *reads[NEAP_MAX_INPUTS], *block = neap_buffer_var(bufs[node->nin]);
    int nreads = 0;
    if (!r)
        return neap_error(NEAP_E_MEMORY, "out of memory for a callback");
    *r = (request){.callback = effect_callback_retain(effect_callback_of(node)), .ctx = ctx, .n = node->nin};
    r->block = neap_buffer_retain(bufs[node->nin]);
    for (int k = 0; k < node->nin; k++) {
        const neap_node *in = node->in[k];
        r->args[k] = (argument){neap_buffer_retain(bufs[k]), in->device, {.dtype = in->dtype, .ndim = in->ndim}};
        memcpy(r->args[k].aval.shape, in->shape, in->ndim * sizeof *in->shape);
        reads[nreads] = neap_buffer_var(bufs[k]);
        bool again = false;
        for (int j = 0; j < nreads; j++)
            again |= reads[j] == reads[nreads];
        nreads += !again;
    }
    bool results = r->results = r->callback->nresults > 0;
    neap_push push = {.name = effect_callback_name(r->callback),
                      .site = r->callback->site,
                      .release = request_free,
                      .device = graph_host_device(graph_node_runs_on(node)),
                      .flags = results && !r->callback->tolerant ? 0 : NEAP_PUSH_ALWAYS,
                      .nreads = nreads,
                      .reads = reads,
                      .nwrites = results,
                      .writes = &block};
    if (results)
        atomic_fetch_add_explicit(&ctx->callbacks.requests, 1, memory_order_relaxed);
    int kinds = r->callback->unordered ? 0 : 1 << r->callback->kind;
    int status = neap_effects_request(ctx->effects, kinds, r, &push);
    if (status)
        request_free(r);
    return status;
}

/* Work goes on to its next callback, on any thread. */
static int advance_request(void *arg, const neap_run *run) {
    request *r = arg;
    return r->kind->advance(r->work, run, &r->waiting, &r->operands);
}

int effect_callback_loop(neap_ctx *ctx, const lazy_work_kind *kind, void *work, int effects, const neap_push *push) {
    request *r = calloc(1, sizeof *r);
    if (!r)
        return neap_error(NEAP_E_MEMORY, "out of memory for a callback");
    bool exchanges = (effects & LAZY_EFFECTS_EXCHANGE) != 0;
    int kinds = effects & LAZY_EFFECTS_ORDERED;
    *r = (request){.kind = kind, .work = work, .exchanges = exchanges, .ctx = ctx, .results = true};
    neap_push timed = *push;
    timed.release = request_free;
    timed.flags |= NEAP_PUSH_ALWAYS;
    atomic_fetch_add_explicit(&ctx->callbacks.requests, 1, memory_order_relaxed);
    int status = exchanges ? neap_effects_alternate(ctx->effects, kinds, advance_request, r, &timed)
                           : neap_effects_request(ctx->effects, kinds, r, &timed);
    if (status) {
        r->work = NULL; /* stays the caller's */
        request_free(r);
    }
    return status;
}

/* ---- Callbacks as payloads of nodes ------------------------------------------------------------------------------ */
static void release_callback(const neap_node *node) {
    effect_callback_release(effect_callback_of(node));
}

static int effects_of_callback(const neap_node *node) {
    const lazy_callback *callback = effect_callback_of(node);
    return LAZY_EFFECTS_CALLBACK | (callback->pure        ? 0
                                    : callback->unordered ? LAZY_EFFECTS_UNORDERED
                                                          : 1 << callback->kind);
}

static uint64_t serial_of_callback(const neap_node *node) {
    return effect_callback_of(node)->serial;
}

static neap_node *call_again(neap_ctx *ctx, const neap_node *node, neap_node *const *in) {
    return effect_callback_again(ctx, effect_callback_of(node), node->nin, in);
}

/* Of a call that does not happen nothing is left: it has no results, or these are given. A pure one is made again. */
static neap_node *leave_out_call(neap_ctx *ctx, const neap_node *node, neap_node *const *in) {
    const lazy_callback *callback = effect_callback_of(node);
    if (callback->pure)
        return call_again(ctx, node, in);
    if (check_constant(ctx, callback, node->nin, in))
        return NULL;
    if (callback->nresults == 0 || (ctx->levels.answers && ctx->levels.answers->given))
        return graph_constant(ctx, NEAP_DTYPE_U8, false, 0);
    neap_error(NEAP_E_ARGUMENT,
               "the results of the function at %s, called at %s, cannot be differentiated: it would be called again",
               callback->name, callback->site);
    return NULL;
}

static bool is_asked_once(const neap_node *node) {
    return effect_asks_once(effect_callback_of(node));
}

/* "[ordered]", and where the function is. */
static int print_callback(const neap_node *node, lazy_text *to) {
    const lazy_callback *callback = effect_callback_of(node);
    const char *order = callback->pure ? "pure" : callback->unordered ? "unordered" : "ordered";
    if (callback->kind == NEAP_EFFECT_CALLBACK)
        return graph_text_addf(to, "[%s] %s", order, callback->name);
    return graph_text_addf(to, "[%s %s] %s", neap_effect_name(callback->kind), order, callback->name);
}

const lazy_payload effect_callback_payload = {
    .pointer = true,
    .release = release_callback,
    .effects = effects_of_callback,
    .serial = serial_of_callback,
    .push = push_request,
    .again = call_again,
    .without_effects = leave_out_call,
    .once = is_asked_once,
    .print = print_callback,
};

/* ---- The user thread's part -------------------------------------------------------------------------------------- */
static lazy_open_callback *innermost(neap_ctx *ctx) {
    return ctx->callbacks.open.n ? &ctx->callbacks.open.at[ctx->callbacks.open.n - 1] : NULL;
}

/* Opens a frame for the next request. *out is NULL when none waits. */
static int open_callback(neap_ctx *ctx, lazy_open_callback **out) {
    lazy_open_callback frame = {.nlevels = ctx->levels.n,
                                .floor = ctx->levels.floor,
                                .deferring = ctx->start.deferring,
                                .aside = ctx->start.aside};
    if (lazy_push(&ctx->callbacks.open, frame)) /* before the request, which could not be given back */
        return NEAP_E_MEMORY;
    *out = innermost(ctx);
    if (!((*out)->request = neap_request_take(ctx->effects))) {
        ctx->callbacks.open.n--;
        *out = NULL;
        return 0;
    }
    ctx->levels.floor = ctx->levels.n;
    ctx->start.deferring = 0;
    ctx->start.aside = false;
    return 0;
}

/* An argument of a loop's callback: its memory will be written again, so it is copied. */
static int copy_argument(const request *r, int k, argument *to) {
    const lazy_result *aval = &r->waiting->arguments[k];
    size_t bytes = (size_t)neap_dtype_bytes(aval->dtype);
    for (int a = 0; a < aval->ndim; a++)
        bytes *= (size_t)aval->shape[a];
    *to = (argument){.device = -1, .aval = *aval};
    int status = neap_buffer_new(0, bytes, &to->buffer);
    if (status == 0 && bytes)
        memcpy(neap_buffer_data(to->buffer), r->operands[k], bytes);
    return status;
}

static int give_argument(neap_ctx *ctx, const request *r, int k, int32_t *id) {
    argument arg;
    int status = 0;
    if (r->waiting) {
        status = copy_argument(r, k, &arg);
    } else {
        arg = r->args[k];
        neap_buffer_retain(arg.buffer);
    }
    if (status)
        return status;
    neap_node *node = graph_node_of_buffer(ctx, &arg.aval, arg.buffer);
    if (!node)
        return NEAP_E_MEMORY;
    node->device = arg.device;
    return graph_publish(ctx, node, id);
}

static int give_arguments(neap_ctx *ctx, const request *r, neap_taken *out) {
    int n = r->waiting ? r->waiting->narguments : r->n;
    for (out->n = 0; out->n < n; out->n++) {
        int status = give_argument(ctx, r, out->n, &out->args[out->n]);
        if (status) {
            neap_release(ctx, out->n, out->args);
            return status;
        }
    }
    return 0;
}

/* The callback whose turn it is. */
static lazy_callback *callback_of(const request *r) {
    return r->waiting ? r->waiting->callback : r->callback;
}

/* Where its results go. */
static char *block_of(const request *r) {
    return r->waiting ? r->operands[r->waiting->narguments] : neap_buffer_data(r->block);
}

static int end_request(neap_ctx *ctx, int status) {
    lazy_open_callback *frame = innermost(ctx);
    int ended = neap_request_end(ctx->effects, frame->request, status);
    if (ended == 0) {
        ctx->levels.floor = frame->floor;
        ctx->start.deferring = frame->deferring;
        ctx->start.aside = frame->aside;
        ctx->callbacks.open.n--;
    }
    return ended;
}

/* A loop goes on to its next callback (NEAP_PENDING), or ends. One with collectives is left to the communication
 * thread, once the request is closed. */
static int advance_loop(neap_ctx *ctx, lazy_open_callback *frame, request *r) {
    if (r->exchanges)
        return end_request(ctx, 0);
    int status = advance_request(r, neap_request_run(frame->request));
    frame->reported = frame->again = false;
    return status == NEAP_PENDING ? status : end_request(ctx, status);
}

/* Does a callback have to be called now? Else it failed, or the loop has none (any more), and it is over. */
static int begin_request(neap_ctx *ctx, lazy_open_callback *frame, request *r, bool *calls) {
    int status = 0;
    *calls = true;
    if (r->work && !r->waiting) {
        status = advance_loop(ctx, frame, r);
        *calls = status == NEAP_PENDING;
        return status == NEAP_PENDING ? 0 : status;
    }
    for (int k = 0; k < r->n && *calls && !r->callback->tolerant; k++)
        *calls = (status = neap_var_poll(neap_buffer_var(r->args[k].buffer), NULL)) >= 0;
    return *calls ? 0 : end_request(ctx, status);
}

int effect_exchange_check(neap_ctx *ctx, const char *name) {
    for (int64_t k = 0; k < ctx->callbacks.open.n; k++) {
        const request *r = neap_request_arg(ctx->callbacks.open.at[k].request);
        if (r->exchanges)
            return neap_error(NEAP_E_STATE,
                              "%s: collectives cannot be done in the function at %s, since the processes are in the "
                              "loop that calls it: return what they need, and do them in the loop or behind it",
                              name, r->waiting->callback->name);
    }
    return 0;
}

int neap_callback_take(neap_ctx *ctx, neap_taken *out) {
    lazy_open_callback *frame = innermost(ctx);
    int status = 0;
    bool calls;
    out->callee = 0;
    if (!frame || frame->reported)
        status = open_callback(ctx, &frame);
    if (status || !frame)
        return status;
    request *r = neap_request_arg(frame->request);
    status = begin_request(ctx, frame, r, &calls);
    if (!calls)
        return status;
    if ((status = give_arguments(ctx, r, out)) == 0) {
        frame->reported = true;
        out->callee = callback_of(r)->callee;
    } else if (frame->again) {
        return end_request(ctx, status);
    }
    frame->again = true;
    return status;
}

int neap_callback_return(neap_ctx *ctx, int k, int32_t id) {
    lazy_open_callback *frame = innermost(ctx);
    const request *r = frame ? neap_request_arg(frame->request) : NULL;
    if (!r || k < 0 || k >= callback_of(r)->nresults)
        return neap_error(NEAP_E_STATE, "no callback is open that has a result %d", k + 1);
    neap_node *node = graph_lookup(ctx, id);
    if (!node || plan_host_node(ctx, node, &node))
        return neap_error_code();
    const neap_spec *spec = &callback_of(r)->results[k];
    if (node->dtype != spec->dtype || node->ndim != spec->ndim ||
        memcmp(node->shape, spec->shape, node->ndim * sizeof *node->shape) != 0) {
        char left[256], right[256];
        return neap_error(NEAP_E_SHAPE, "expected shape %s and dtype %s, got shape %s and dtype %s",
                          graph_shape_text(spec->ndim, spec->shape, left, sizeof left), neap_dtype_name(spec->dtype),
                          graph_shape_text(node->ndim, node->shape, right, sizeof right), neap_dtype_name(node->dtype));
    }
    neap_buffer *value;
    int status = plan_force(ctx, node);
    if (status == 0)
        status = graph_host_poll(ctx, node, &value);
    if (status == 0 && graph_node_bytes(node))
        memcpy(block_of(r) + callback_of(r)->offsets[k], neap_buffer_data(value), graph_node_bytes(node));
    return status;
}

int neap_callback_end(neap_ctx *ctx, int status, const char *text) {
    lazy_open_callback *frame = innermost(ctx);
    if (!frame)
        return neap_error(NEAP_E_STATE, "no callback is open");
    while (ctx->levels.n > frame->nlevels)
        graph_level_end(ctx, ctx->levels.n - 1);
    if (status < 0 && text)
        neap_error(status, "%s", text);
    request *r = neap_request_arg(frame->request);
    if (!r->waiting)
        return end_request(ctx, status);
    if (status < 0 && status != NEAP_E_INTERRUPT && r->waiting->callback->nresults == 0) {
        neap_effects_report(r->waiting->callback->site, "callback", neap_error_text());
        status = 0;
    }
    if (status < 0)
        return end_request(ctx, r->kind->fail(r->work, status));
    return advance_loop(ctx, frame, r);
}
