/* control/guard.c: effects of a branch or a loop that some examples of a batch take and others do not.
 *
 * Such an effect happens for the examples of a mask, in their order. It becomes a loop over the examples, whose turn is
 * a branch, so it takes as many nodes for two examples as for a thousand:
 *
 *      scan  mask, batched inputs ──▶ cond  index = mask of the example ──▶ 0: nothing
 *                                                                      ──▶ 1: the effect
 *
 * A call that does not happen gives a block of zeros, which nobody looks at: who takes the branch has called.
 */
#include <string.h>

#include "lazy/control/control.h"
#include "lazy/derive/build.h"

typedef struct guarded { /* an effect that is being recorded */
    neap_ctx *ctx;
    const lazy_effect *effect;
    int n;
    neap_node *const *in;
    const bool *batched;
    neap_node **to; /* the inputs of the program at hand, as many as there are */
} guarded;

/* The bytes of what a call gives; 0: nothing. */
static int64_t block_bytes(const guarded *e) {
    return e->effect->node ? effect_callback_of(e->effect->node)->bytes : 0;
}

/* A placeholder of the trace for input k of one example; BORROWED. */
static neap_node *example_like(const guarded *e, int level, int k) {
    const neap_node *like = e->in[k];
    int examples = e->batched[k];
    const lazy_sharding *lies = graph_sharding_of(like);
    if (lies && examples) { /* as the slices of the loop will lie */
        lies = shard_sharding_joined(lies);
        lies = lies ? shard_sharding_part(lies) : NULL;
        if (!lies)
            return NULL;
    }
    lazy_result aval = {.dtype = like->dtype, .ndim = (uint8_t)(like->ndim - examples)};
    memcpy(aval.shape, like->shape + examples, aval.ndim * sizeof *aval.shape);
    return graph_placeholder(e->ctx, level, &aval, like->flags & LAZY_WEAK, like->device, lies);
}

/* Inside a trace: `out` gets what the program gives, of which there is one at most. */
typedef int recorder(guarded *e, int level, neap_node **out);

static int end_guarded(guarded *e, int level, int status, neap_node **out, neap_program **made) {
    if (status == 0)
        status = program_trace_end(e->ctx, level, block_bytes(e) > 0, out, made);
    if (status)
        graph_level_end(e->ctx, level);
    return status;
}

static int make_guarded(guarded *e, recorder *record, neap_program **made) {
    neap_node *out = NULL;
    int level, status = graph_trace_derived(e->ctx, &level);
    return status ? status : end_guarded(e, level, record(e, level, &out), &out, made);
}

static int take_inputs(guarded *e, int level) {
    for (int k = 0; k < e->n; k++)
        if (!(e->to[k] = example_like(e, level, k)))
            return NEAP_E_MEMORY;
    return 0;
}

static int record_nothing(guarded *e, int level, neap_node **out) {
    int64_t bytes = block_bytes(e);
    int status = take_inputs(e, level);
    if (status || bytes == 0)
        return status;
    neap_node *zero = graph_arena(e->ctx, graph_constant(e->ctx, NEAP_DTYPE_U8, false, 0));
    *out = zero ? graph_build_broadcast(e->ctx, zero, 1, &bytes) : NULL;
    return *out ? 0 : neap_error_code();
}

static int record_effect(guarded *e, int level, neap_node **out) {
    const lazy_effect *effect = e->effect;
    int status = take_inputs(e, level);
    if (status)
        return status;
    if (!effect->node)
        return effect_print_nodes(e->ctx, &effect->how, effect->nfragments, effect->fragments, e->to);
    *out = graph_arena(e->ctx, effect_callback_again(e->ctx, effect_callback_of(effect->node), e->n, e->to));
    return *out ? 0 : neap_error_code();
}

/* Records a node of control flow with these programs (TAKES them), and gives its result, if it has one. */
static int record_guarded(guarded *e, int op, int n, neap_program **programs, lazy_nodes *in, int nattrs,
                          const int64_t *attrs, neap_node **out) {
    graph_call call = {.op = op, .nin = (int)in->n, .nattrs = nattrs, .in = in->at, .attrs = attrs};
    neap_node *node = graph_arena(e->ctx, control_record(e->ctx, n, programs, &call));
    for (int p = 0; p < n; p++)
        neap_program_free(programs[p]);
    *out = node && block_bytes(e) ? graph_arena(e->ctx, control_result(e->ctx, node, 0)) : node;
    return *out ? 0 : neap_error_code();
}

/* The branch of one example, whose inputs are the mask and what the effect reads: batched ones, then the others. */
static int record_branch(guarded *e, int level, neap_node **out) {
    neap_program *programs[2] = {0};
    lazy_nodes in = {0};
    lazy_result flag = {.dtype = NEAP_DTYPE_BOOL};
    neap_node **to = calloc((size_t)e->n + 1, sizeof *to);
    neap_node *holds = to ? graph_placeholder(e->ctx, level, &flag, false, -1, NULL) : NULL;
    int status = holds ? 0 : NEAP_E_MEMORY;
    for (int batched = 1; batched >= 0; batched--)
        for (int k = 0; k < e->n && status == 0; k++)
            if (e->batched[k] == batched && !(to[k] = example_like(e, level, k)))
                status = NEAP_E_MEMORY;
    neap_node *index = status == 0 ? graph_build_cast(e->ctx, holds, NEAP_DTYPE_I32) : NULL;
    if (status == 0)
        status = index ? lazy_push(&in, index) : neap_error_code();
    for (int k = 0; k < e->n && status == 0; k++)
        status = lazy_push(&in, to[k]);
    if (status == 0 && (status = make_guarded(e, record_nothing, &programs[0])) == 0)
        status = make_guarded(e, record_effect, &programs[1]);
    int64_t attrs[] = {e->n, 0, 0};
    if (status == 0)
        status = record_guarded(e, LAZY_OP_cond, 2, programs, &in, 3, attrs, out);
    else if (programs[0])
        neap_program_free(programs[0]);
    lazy_vector_free(&in);
    free(to);
    return status;
}

/* The inputs of the loop: the mask, what is batched, what all examples share. Returns how many of them have a slice for
 * each turn, or a status. */
static int loop_inputs(const guarded *e, neap_node *mask, lazy_nodes *in) {
    int sliced = 1, status = lazy_push(in, mask);
    for (int batched = 1; batched >= 0; batched--)
        for (int k = 0; k < e->n && status == 0; k++)
            if (e->batched[k] == batched) {
                status = lazy_push(in, e->in[k]);
                sliced += batched;
            }
    return status ? status : sliced;
}

int control_guarded(const lazy_batch_guard *guard, neap_ctx *ctx, const lazy_effect *effect, int n,
                    neap_node *const *in, const bool *batched, neap_node **out) {
    guarded e = {.ctx = ctx, .effect = effect, .n = n, .in = in, .batched = batched};
    lazy_nodes of_loop = {0};
    neap_program *body = NULL;
    int sliced = loop_inputs(&e, guard->mask, &of_loop), status = sliced < 0 ? sliced : 0;
    if (status == 0 && !(e.to = calloc((size_t)n + 1, sizeof *e.to)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    if (status == 0)
        status = make_guarded(&e, record_branch, &body);
    int64_t attrs[] = {guard->mask->shape[0], 0, 1, 0, sliced};
    if (status == 0)
        status = record_guarded(&e, LAZY_OP_scan, 1, &body, &of_loop, 5, attrs, out);
    lazy_vector_free(&of_loop);
    free(e.to);
    return status;
}
