/* control/mesh.c: control flow on arrays that lie on a mesh.
 *
 * Settling. A node's programs are traced on stand-ins for what their caller had in hand. What a loop carries may come
 * to vary over more axes than it did at first, or come to lie on the mesh at all; the results of branches may lie
 * differently. So before the node is made its programs are replayed on inputs that lie as all turns need them, until
 * nothing changes, and so that all branches, and all turns, give results that lie alike. What decides, the index of a
 * cond or the condition of a while loop, makes results vary as it varies itself.
 *
 * Blocks. The node is one for all devices, and belongs to tapes and programs like others. Where it can be computed, its
 * programs are lowered, and what is recorded for the blocks are ordinary nodes:
 *
 *      no block needs another    a node for each device (more exactly, for each block that anything tells apart): its
 *                                programs are the parts of the lowered ones that make its blocks; they run side by
 *                                side, and each decides for itself
 *      else, or with effects     one node over all blocks, side by side: one loop for all devices, which must agree
 *                                about what decides
 */
#include <string.h>

#include "lazy/control/control.h"
#include "lazy/dtype/scalar.h"
#include "lazy/effect/effect.h"
#include "lazy/program/program.h"

bool control_mesh_needed(const lazy_control *control, int nin, neap_node *const *in) {
    bool meshed = false;
    for (int k = 0; k < nin; k++)
        meshed |= graph_is_meshed(in[k]);
    for (int p = 0; p < control_bodies(control); p++)
        meshed |= control->programs[p]->meshed;
    return meshed;
}

/* ---- Settling ---------------------------------------------------------------------------------------------------- */
typedef struct sharding_fixpoint {
    neap_ctx *ctx;
    const lazy_control *control;
    const char *name;
    const lazy_sharding **types;     /* by input of the node: how it has to lie; NULL: ordinary */
    const lazy_sharding **shardings; /* by output of the program that gives the results; of branches, of all of them */
    const lazy_sharding *base;       /* some sharding of what is there */
    neap_program **programs;         /* as they are by now; one reference each */
} sharding_fixpoint;

/* `of`, or something that lies whole like `like`, varying and differing over further axes. */
static int widen_sharding(const lazy_sharding *of, const lazy_sharding *like, const lazy_sharding **out) {
    const lazy_sharding *from = of ? of : shard_sharding_whole(like);
    if (!from)
        return NEAP_E_MEMORY;
    lazy_sharding wider = *from;
    wider.manual |= like->manual;
    wider.varies |= like->varies;
    wider.differs |= like->differs | (like->splits & like->manual);
    return (*out = shard_sharding_intern(&wider)) ? 0 : NEAP_E_MEMORY;
}

/* How input k of program p has to lie. */
static int type_of_input(const sharding_fixpoint *s, int p, int k, const lazy_sharding **out) {
    *out = s->types[control_input_of(&s->control->shape, p, k)];
    if (*out && control_is_xs(&s->control->shape, k) && !(*out = shard_sharding_part(*out)))
        return NEAP_E_MEMORY;
    return 0;
}

/* Does input j go into a branch that devices choose differently? Then it has to vary as the choice does before that: in
 * reverse the cotangents of all devices are added, which must not be done inside of the branches. */
static bool is_chosen_for(const sharding_fixpoint *s, int j) {
    const lazy_sharding *index = s->control->shape.kind->branches ? s->types[0] : NULL;
    return j > 0 && index && index->varies && dtype_is_inexact(s->control->shape.in[j].dtype);
}

/* Inputs lie as they do, and as the programs have them. */
static int first_types(sharding_fixpoint *s, int nin, neap_node *const *in) {
    const lazy_control_shape *shape = &s->control->shape;
    int status = 0;
    for (int j = 0; j < nin && status == 0; j++) {
        s->types[j] = graph_sharding_of(in[j]);
        bool xs = control_is_xs(shape, j - shape->first) && shape->xs;
        if (xs && s->types[j] && !(s->types[j] = shard_sharding_joined(s->types[j])))
            status = NEAP_E_MEMORY;
    }
    for (int p = 0; p < control_bodies(s->control) && status == 0; p++)
        for (int k = 0; k < s->programs[p]->inputs.n && status == 0; k++) {
            const lazy_sharding *takes = graph_sharding_of(s->programs[p]->inputs.at[k]);
            const lazy_sharding **type = &s->types[control_input_of(shape, p, k)];
            if (takes && control_is_xs(shape, k) && !(takes = shard_sharding_stacked(takes)))
                status = NEAP_E_MEMORY;
            if (status == 0)
                status = shard_sharding_cover(s->name, takes, *type, type);
        }
    for (int j = 0; j < nin && status == 0; j++)
        if (is_chosen_for(s, j))
            status = widen_sharding(s->types[j], s->types[0], &s->types[j]);
    return status;
}

/* Must a value that lies so be changed to be used as one that lies as `to` says? That it differs over less is no
 * matter. */
static bool must_fit(const lazy_sharding *is, const lazy_sharding *to) {
    if (is == to || !to)
        return false;
    return !is || is->manual != to->manual || is->varies != to->varies || is->unreduced != to->unreduced ||
           is->reduced != to->reduced || memcmp(is->split, to->split, sizeof is->split) != 0;
}

/* The program on inputs of other types. With `shardings`, its outputs get those. */
static int replay_typed(sharding_fixpoint *s, int p, const lazy_sharding *const *shardings, neap_node **in,
                        neap_node **out, neap_program **made) {
    neap_ctx *ctx = s->ctx;
    neap_program *program = s->programs[p];
    int level, n = (int)program->outputs.n, status = graph_trace_derived(ctx, &level);
    if (status)
        return status;
    for (int k = 0; k < program->inputs.n && status == 0; k++) {
        const neap_node *like = program->inputs.at[k];
        const lazy_sharding *type;
        lazy_result aval = {.dtype = like->dtype, .ndim = like->ndim};
        memcpy(aval.shape, like->shape, like->ndim * sizeof *like->shape);
        status = type_of_input(s, p, k, &type);
        if (status == 0 &&
            !(in[k] = graph_placeholder(ctx, level, &aval, like->flags & LAZY_WEAK, type ? -1 : like->device, type)))
            status = NEAP_E_MEMORY;
    }
    if (status == 0)
        status = program_apply(ctx, program, in, out);
    for (int k = 0, count = status == 0 ? n : 0; k < count; k++)
        if (!graph_arena(ctx, out[k]))
            status = NEAP_E_MEMORY;
    for (int k = 0; k < n && shardings && status == 0; k++)
        if (must_fit(graph_sharding_of(out[k]), shardings[k]) &&
            !(out[k] = graph_mesh()->fitted(ctx, out[k], shardings[k])))
            status = neap_error_code();
    if (status == 0)
        status = program_trace_end(ctx, level, n, out, made);
    if (status)
        graph_level_end(ctx, level);
    return status;
}

static int replace_program(sharding_fixpoint *s, int p, const lazy_sharding *const *shardings) {
    neap_program *program = s->programs[p], *made = NULL;
    neap_node **in = calloc((size_t)(program->inputs.n + program->outputs.n) + 1, sizeof *in);
    int status = in ? replay_typed(s, p, shardings, in, in + program->inputs.n, &made)
                    : neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    free(in);
    if (status == 0 && made->inputs.n != program->inputs.n) {
        neap_program_free(made);
        return neap_error(NEAP_E_INTERNAL, "%s: a program on a mesh reads what is no input of it", s->name);
    }
    if (status)
        return status;
    neap_program_free(program);
    s->programs[p] = made;
    return 0;
}

/* Makes program p one whose inputs lie as they have to. */
static int fit_inputs(sharding_fixpoint *s, int p) {
    bool fits = true;
    int status = 0;
    for (int k = 0; k < s->programs[p]->inputs.n && status == 0; k++) {
        const lazy_sharding *type;
        status = type_of_input(s, p, k, &type);
        fits &= status || graph_sharding_of(s->programs[p]->inputs.at[k]) == type;
    }
    return status || fits ? status : replace_program(s, p, NULL);
}

/* Makes program p one whose outputs lie as s->shardings says. */
static int fit_outputs(sharding_fixpoint *s, int p) {
    const lazy_nodes *out = &s->programs[p]->outputs;
    bool fits = true;
    for (int k = 0; k < out->n; k++)
        fits &= !must_fit(graph_sharding_of(out->at[k]), s->shardings[k]);
    return fits ? 0 : replace_program(s, p, s->shardings);
}

/* Carries lie as the body gives them, and vary as the condition does. *more: some did not. */
static int widen_carries(sharding_fixpoint *s, bool *more) {
    const lazy_control *control = s->control;
    const lazy_nodes *out = &s->programs[control_giver(control->shape.kind)]->outputs;
    const lazy_sharding *decides =
        control->shape.kind->condition ? graph_sharding_of(s->programs[0]->outputs.at[0]) : NULL;
    int status = 0;
    for (int k = 0; k < control->shape.operands && status == 0; k++) {
        const lazy_sharding **type = &s->types[k], *was = *type;
        status = shard_sharding_cover(s->name, was, graph_sharding_of(out->at[k]), type);
        if (status == 0 && decides && decides->varies | decides->differs)
            status = widen_sharding(*type, decides, type);
        *more |= *type != was;
    }
    return status;
}

/* How results lie, as the programs give them. */
static int find_shardings(sharding_fixpoint *s) {
    const lazy_control *control = s->control;
    const lazy_sharding *decides = control->shape.kind->branches ? s->types[0] : NULL;
    int status = 0;
    for (int k = 0; k < control->nresults && status == 0; k++) {
        const lazy_sharding **sharding = &s->shardings[k];
        *sharding = control->shape.kind->loop && k < control->shape.operands
                        ? s->types[k]
                        : graph_sharding_of(s->programs[control_giver(control->shape.kind)]->outputs.at[k]);
        for (int p = 1; p < control_bodies(control) && control->shape.kind->branches && status == 0; p++)
            status =
                shard_sharding_cover(s->name, *sharding, graph_sharding_of(s->programs[p]->outputs.at[k]), sharding);
        if (status == 0 && decides && decides->varies | decides->differs)
            status = widen_sharding(*sharding, decides, sharding);
    }
    return status;
}

static int settle_shardings(sharding_fixpoint *s) {
    int n = control_bodies(s->control), status = 0;
    bool more = true;
    while (more && status == 0) {
        more = false;
        for (int p = 0; p < n && status == 0; p++)
            status = fit_inputs(s, p);
        if (status == 0 && s->control->shape.kind->loop)
            status = widen_carries(s, &more);
    }
    if (status == 0)
        status = find_shardings(s);
    for (int p = 0; p < n && status == 0; p++)
        if (p == control_giver(s->control->shape.kind) || s->control->shape.kind->branches)
            status = fit_outputs(s, p);
    return status;
}

/* Of what is there, the sharding with most manual axes. */
static void find_base(sharding_fixpoint *s, int nin) {
    for (int j = 0; j < nin; j++)
        if (s->types[j] && (!s->base || (s->types[j]->manual & s->base->manual) == s->base->manual))
            s->base = s->types[j];
    for (int k = 0; k < s->control->nresults; k++)
        if (s->shardings[k] && (!s->base || (s->shardings[k]->manual & s->base->manual) == s->base->manual))
            s->base = s->shardings[k];
    for (int p = 0; p < control_bodies(s->control) && !s->base; p++)
        for (int64_t k = 0; k < s->programs[p]->nodes.n && !s->base; k++)
            s->base = graph_sharding_of(s->programs[p]->nodes.at[k]);
}

/* Writes down how the node's inputs and results lie, and what tells its blocks apart. */
static int describe_shardings(sharding_fixpoint *s, lazy_control *control) {
    int nin = control->shape.nin;
    uint32_t distinct = 0;
    find_base(s, nin);
    control->shardings = calloc((size_t)(nin + 2 * control->nresults) + 1, sizeof *control->shardings);
    if (!control->shardings)
        return neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    for (int j = 0; j < nin; j++) {
        control->shardings[j] = s->types[j];
        distinct |= s->types[j] ? s->types[j]->distinct : 0;
    }
    for (int k = 0; k < control->nresults; k++) {
        const lazy_sharding *sharding = s->shardings[k];
        bool stacked = control_is_stacked(&control->shape, k);
        control->shardings[nin + control->nresults + k] = sharding;
        sharding = !sharding ? shard_sharding_whole(s->base) : stacked ? shard_sharding_stacked(sharding) : sharding;
        if (!(control->shardings[nin + k] = sharding))
            return NEAP_E_MEMORY;
        distinct |= sharding->distinct;
    }
    control->apart = shard_sharding_apart(s->base, distinct);
    return control->apart ? 0 : NEAP_E_MEMORY;
}

int control_fix_shardings(neap_ctx *ctx, const lazy_control *control, const graph_call *call, neap_node **to,
                          lazy_control **out) {
    neap_node *const *in = call->in;
    int nin = call->nin;
    graph_call fitted = *call;
    fitted.in = to;
    size_t n = (size_t)nin + (size_t)control->nresults;
    sharding_fixpoint s = {.ctx = ctx, .control = control, .name = lazy_ops[control->shape.op]->name};
    int made = 0, status = 0;
    s.types = calloc(n + 1, sizeof *s.types);
    s.programs = calloc((size_t)control->nprograms + 1, sizeof *s.programs);
    if (!s.types || !s.programs)
        status = neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    s.shardings = s.types + nin;
    for (; status == 0 && made < control->nprograms; made++)
        s.programs[made] = program_retain(control->programs[made]);
    if (status == 0)
        status = first_types(&s, nin, in);
    if (status == 0)
        status = settle_shardings(&s);
    for (int j = 0; j < nin && status == 0; j++) {
        to[j] = must_fit(graph_sharding_of(in[j]), s.types[j]) ? graph_mesh()->fitted(ctx, in[j], s.types[j]) : in[j];
        status = to[j] ? 0 : neap_error_code();
    }
    if (status == 0)
        program_take_rule(s.programs[0], control->programs[0]);
    if (status == 0)
        status = control_new(control->nprograms, s.programs, &fitted, out);
    if (status == 0 && (status = describe_shardings(&s, *out)) != 0)
        control_release(*out);
    while (made-- > 0)
        neap_program_free(s.programs[made]);
    free(s.programs);
    free(s.types);
    return status;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
typedef struct control_spreading {
    neap_ctx *ctx;
    const neap_node *node;
    const lazy_control *control;
    lazy_lowered **lowered; /* by program that is run */
    lazy_nodes in;          /* of an ordinary node; BORROWED */
    LAZY_VECTOR(int64_t) attrs;
} control_spreading;

/* Appends the blocks of input j: all of them, or that of one position of the mesh; at home, or committed to nothing
 * (-1). */
static int add_input_blocks(control_spreading *s, int j, int position, int home) {
    neap_node *node = graph_untaped(s->ctx, s->node->in[j]);
    if (!node)
        return neap_error_code();
    const lazy_sharding *is = graph_sharding_of(node), *sharding = s->control->shardings[j];
    int32_t n = position < 0 ? shard_block_count(sharding) : 1;
    int status = 0;
    for (int32_t b = 0; b < n && status == 0; b++) {
        int at = position >= 0 ? position : sharding ? sharding->position[b] : 0;
        neap_node *block = graph_build_place(s->ctx, shard_block(node, shard_block_at(is, at)), home);
        status = block ? lazy_push(&s->in, block) : neap_error_code();
    }
    return status;
}

/* Appends inputs from .. to - 1; *count is how many ordinary ones that makes. */
static int add_inputs(control_spreading *s, int from, int to, int position, int home, int64_t *count) {
    int64_t before = s->in.n;
    int status = 0;
    for (int j = from; j < to && status == 0; j++)
        status = add_input_blocks(s, j, position, home);
    *count = s->in.n - before;
    return status;
}

static int push_words(control_spreading *s, int n, const int64_t *words) {
    int status = 0;
    for (int k = 0; k < n && status == 0; k++)
        status = lazy_push(&s->attrs, words[k]);
    return status;
}

/* Inputs and attributes (see ops/control.c) of an ordinary node for one position, or for all (-1), which gives
 * `results`. */
static int list_inputs(control_spreading *s, int position, int home, int64_t results) {
    const lazy_control_shape *shape = &s->control->shape;
    int64_t index, operands, xs, consts;
    int at = shape->first + shape->operands;
    s->in.n = s->attrs.n = 0;
    int status = add_inputs(s, 0, shape->first, position, home, &index);
    if (status == 0)
        status = add_inputs(s, shape->first, at, position, home, &operands);
    if (status == 0)
        status = add_inputs(s, at, at + shape->xs, position, home, &xs);
    int64_t attrs[LAZY_CONTROL_ATTRS];
    if (status == 0)
        status = push_words(s, shape->kind->write(shape, operands, xs, results, attrs), attrs);
    for (int p = 0; p < control_bodies(s->control) && status == 0; p++) {
        status = add_inputs(s, shape->const_at[p], shape->const_at[p] + shape->consts[p], position, home, &consts);
        bool counted = !(shape->kind->rest && p == control_bodies(s->control) - 1);
        if (status == 0 && counted)
            status = push_words(s, 1, &consts);
    }
    return status;
}

/* An ordinary node; OWNED. */
static neap_node *record_over_blocks(control_spreading *s, neap_program *const *programs) {
    const neap_node *node = s->node;
    graph_call call = {
        .op = node->op, .nin = (int)s->in.n, .nattrs = (int)s->attrs.n, .in = s->in.at, .attrs = s->attrs.at};
    neap_node *made = control_record(s->ctx, control_bodies(s->control), programs, &call);
    if (made) {
        made->site = node->site;
        if (s->ctx->sites.node == made)
            s->ctx->sites.node = NULL;
    }
    return made;
}

static int lower_programs(control_spreading *s) {
    const lazy_control *control = s->control;
    const lazy_sharding *const *shardings = control->shardings + control->shape.nin + control->nresults;
    int status = 0;
    for (int p = 0; p < control_bodies(control) && status == 0; p++) {
        bool gives = control->shape.kind->branches || p == control_giver(control->shape.kind);
        status = program_lower_on(s->ctx, control->programs[p], false, gives ? shardings : NULL, &s->lowered[p]);
    }
    return status;
}

/* ---- A node for each device -------------------------------------------------------------------------------------- */
/* Inside a trace: the outputs of a lowered program at one position, of its inputs there; NULL: they need others. */
static int cut_outputs(neap_ctx *ctx, int level, const lazy_lowered *lowered, int position, neap_node **in,
                       neap_node **all, neap_node **out) {
    const neap_program *program = lowered->program;
    int status = 0;
    for (int64_t k = 0; k < lowered->nin && status == 0; k++) {
        int32_t b = lowered->first[k] + shard_block_at(lowered->shardings[k], position);
        if (!(in[b] = graph_placeholder_like(ctx, level, program->inputs.at[b])))
            status = NEAP_E_MEMORY;
    }
    if (status == 0)
        status = program_apply(ctx, lowered->program, in, all);
    for (int64_t k = 0, count = status == 0 ? program->outputs.n : 0; k < count; k++)
        if (all[k] && !graph_arena(ctx, all[k]))
            status = NEAP_E_MEMORY;
    for (int64_t k = 0; k < lowered->nout && status == 0; k++)
        out[k] =
            all[lowered->first[lowered->nin + 1 + k] + shard_block_at(lowered->shardings[lowered->nin + k], position)];
    return status;
}

/* The part of a lowered program that makes the blocks of one position. *out is NULL if they need those of others. */
static int cut_program(neap_ctx *ctx, const lazy_lowered *lowered, int position, neap_program **out) {
    size_t nin = (size_t)lowered->program->inputs.n, nall = (size_t)lowered->program->outputs.n;
    neap_node **in = calloc(nin + nall + (size_t)lowered->nout + 1, sizeof *in), **all = in + nin, **own = all + nall;
    int level, status = in ? graph_trace_begin(ctx, 0, &level)
                           : neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    *out = NULL;
    if (status) {
        free(in);
        return status;
    }
    status = cut_outputs(ctx, level, lowered, position, in, all, own);
    bool whole = true;
    for (int64_t k = 0; k < lowered->nout; k++)
        whole &= own[k] != NULL;
    if (status == 0 && whole)
        status = program_trace_end(ctx, level, (int)lowered->nout, own, out);
    if (status || !whole)
        graph_level_end(ctx, level);
    free(in);
    return status;
}

/* The parts of all programs for all blocks, by block. *whole is set to false if some need other blocks. */
static int cut_programs(control_spreading *s, neap_program **programs, bool *whole) {
    const lazy_sharding *apart = s->control->apart;
    int status = 0, n = control_bodies(s->control);
    for (int j = 0; j < apart->nblocks; j++)
        for (int p = 0; p < n && status == 0 && *whole; p++) {
            status = cut_program(s->ctx, s->lowered[p], apart->position[j], &programs[j * n + p]);
            *whole = status || programs[j * n + p];
        }
    return status;
}

static int record_apart(control_spreading *s, neap_node **blocks, bool *whole) {
    const lazy_sharding *apart = s->control->apart;
    int n = control_bodies(s->control), count = n * apart->nblocks;
    neap_program **programs = calloc((size_t)count + 1, sizeof *programs);
    int status = programs ? cut_programs(s, programs, whole)
                          : neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    for (int j = 0; j < apart->nblocks && status == 0 && *whole; j++) {
        status = list_inputs(s, apart->position[j], graph_home(s->ctx, apart->home[j]), s->lowered[0]->nout);
        if (status == 0)
            status = (blocks[j] = record_over_blocks(s, programs + j * n)) ? 0 : neap_error_code();
    }
    for (int k = 0; k < count && programs; k++)
        neap_program_free(programs[k]);
    free(programs);
    return status;
}

/* ---- One node for all -------------------------------------------------------------------------------------------- */
/* Of the first input that differs along the axes along which devices decide. */
static const char *cause_of_split(const control_spreading *s, uint32_t axes, char *text, size_t capacity) {
    text[0] = 0;
    for (int j = 0; j < s->node->nin && !*text; j++) {
        const lazy_sharding *is = graph_sharding_of(s->node->in[j]);
        if (is && is->differs & axes)
            shard_cause_text(s->ctx, s->node->in[j], is->differs & axes, text, capacity);
    }
    return text;
}

static int refuse_split_minds(const control_spreading *s, const lazy_sharding *decides) {
    char names[NEAP_MESH_AXES * 64] = "", cause[256];
    for (int k = 0; k < decides->mesh->naxes; k++)
        if (decides->distinct >> k & 1) {
            strncat(names, *names ? ", '" : "'", sizeof names - strlen(names) - 1);
            strncat(names, decides->mesh->names[k], sizeof names - strlen(names) - 2);
            strncat(names, "'", sizeof names - strlen(names) - 1);
        }
    bool loop = s->control->shape.kind->condition;
    return neap_error(
        NEAP_E_ARGUMENT,
        "%s: the %s differs between devices along %s, but %s: devices that go different ways would wait for "
        "each other; combine it first, as in np.pmax%s",
        lazy_ops[s->control->shape.op]->name, loop ? "condition" : "index", names,
        s->control->effects ? "the functions have effects, whose order is one for all devices"
                            : "the functions exchange data between them",
        cause_of_split(s, decides->distinct, cause, sizeof cause));
}

/* How the index or condition sharding, if devices may go different ways by it; NULL: they go together. */
static const lazy_sharding *split_minds(const control_spreading *s) {
    const lazy_control *control = s->control;
    const lazy_sharding *decides = control->shape.kind->branches    ? control->shardings[0]
                                   : control->shape.kind->condition ? s->lowered[0]->shardings[s->lowered[0]->nin]
                                                                    : NULL;
    for (int k = 0; decides && k < decides->mesh->naxes; k++)
        if (decides->distinct >> k & 1 && decides->mesh->sizes[k] > 1)
            return decides;
    return NULL;
}

static int record_joined(control_spreading *s, neap_node **blocks) {
    const lazy_control *control = s->control;
    const lazy_sharding *decides = split_minds(s);
    if (decides)
        return refuse_split_minds(s, decides);
    int n = control_bodies(control), status = list_inputs(s, -1, -1, s->lowered[0]->program->outputs.n);
    neap_program **programs = calloc((size_t)n + 1, sizeof *programs);
    if (status == 0 && !programs)
        status = neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    for (int p = 0; p < n && status == 0; p++)
        programs[p] = s->lowered[p]->program;
    neap_node *node = status == 0 ? record_over_blocks(s, programs) : NULL;
    free(programs);
    if (!node)
        return neap_error_code();
    control_of(node)->joined = true;
    for (int j = 0; j < control->apart->nblocks; j++)
        blocks[j] = graph_retain(node);
    graph_release(s->ctx, node);
    return 0;
}

int control_expand(neap_ctx *ctx, neap_node *node) {
    const lazy_control *control = control_of(node);
    int n = control_bodies(control), count = control->apart->nblocks, status = 0;
    control_spreading s = {.ctx = ctx, .node = node, .control = control};
    bool whole, exchanges = false;
    if (!(s.lowered = calloc((size_t)n + 1, sizeof *s.lowered)))
        return neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    plan_hold(ctx);
    status = lower_programs(&s);
    /* One block here may be one of several in other processes. */
    whole = status == 0 && control->effects == 0 && (count > 1 || split_minds(&s));
    for (int p = 0; p < n && status == 0; p++)
        exchanges |= program_exchange(s.lowered[p]->program) != NULL;
    whole &= !exchanges;
    if (status == 0 && whole)
        status = record_apart(&s, node->shards->blocks, &whole);
    if (status == 0 && !whole)
        status = record_joined(&s, node->shards->blocks);
    for (int p = 0; p < n; p++)
        program_lowered_free(s.lowered[p]);
    free(s.lowered);
    lazy_vector_free(&s.in);
    lazy_vector_free(&s.attrs);
    int held = plan_unhold(ctx);
    return status ? status : held;
}

bool control_expands(neap_ctx *ctx, const neap_node *node) {
    bool all = true;
    for (int k = 0; k < node->nin; k++)
        all &= program_expands(ctx, node->in[k]);
    const lazy_level *trace = control_of(node)->effects ? effect_open_trace(ctx) : NULL;
    return all && (!trace || trace->lowers);
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */
int control_part_expand(lazy_expansion *g) {
    neap_node *node = graph_node_in(g->node, 0);
    const lazy_control *control = control_of(node);
    int k = (int)graph_node_attrs(g->node)[0], nin = control->shape.nin;
    const lazy_sharding *sharding = control->shardings[nin + k];
    int32_t first = 0;
    g->sharding = *sharding;
    int status = shard_expansion_begin(g);
    for (int r = 0; r < k; r++)
        first += control->shardings[nin + r]->nblocks;
    for (int32_t b = 0; b < sharding->nblocks && status == 0 && g->blocks; b++) {
        neap_node *made = node->shards->blocks[shard_sharding_block(control->apart, sharding->position[b])];
        neap_node *part = graph_arena(g->ctx, control_result(g->ctx, made, control_of(made)->joined ? first + b : k));
        part = part ? graph_build_place(g->ctx, part, graph_home(g->ctx, sharding->home[b])) : NULL;
        if (part)
            g->node->shards->blocks[b] = graph_retain(part);
        else
            status = neap_error_code();
    }
    return status;
}
