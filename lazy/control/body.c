/* body.c: making programs ready to be run as bodies (body.h has the picture).
 *
 * The steps of a body run one after the other on one thread, so a value's memory is free as soon as its last reader has
 * run: plan/memory.c says which values share some, in place or not. Prints stand as early as they can: behind the step
 * that makes the last of their values, and never before an effect that the program has before them.
 */
#include <string.h>

#include "lazy/control/lower.h"

typedef struct builder {
    neap_ctx *ctx;
    const neap_program *program;
    lazy_runner *runner;
    lazy_body *body;
    body_address *places;       /* by slot of the plan */
    int32_t *makers;            /* by slot: the last step that writes it, -1 */
    int32_t *until;             /* by slot: the step before which prints and copies read it, -1 */
    int32_t step;               /* that was added last, -1 */
    LAZY_VECTOR(int32_t) slots; /* by pointer: the slot, -1: none */
    int64_t next_effect, root;
    bool carries; /* its first outputs are those of a loop's turn */
} builder;

/* ---- Places ------------------------------------------------------------------------------------------------------ */
static int add_buffer(lazy_body *body, neap_buffer *buffer, body_address *to) {
    if (lazy_push(&body->buffers, buffer))
        return NEAP_E_MEMORY;
    neap_buffer_retain(buffer);
    *to = (body_address){.from = BODY_BUFFER, .index = (int32_t)body->buffers.n - 1};
    return 0;
}

/* Another buffer with the same data, in the memory of a device. */
static int copy_there(neap_buffer *buffer, int device, lazy_body *body, body_address *to) {
    neap_buffer *copy;
    int status = neap_buffer_new(device, neap_buffer_bytes(buffer), &copy);
    if (status)
        return status;
    status = neap_buffer_copy(copy, buffer, &(neap_push){.name = "to device"});
    if (status == 0)
        status = add_buffer(body, copy, to);
    neap_buffer_release(copy);
    return status;
}

/* A body runs on memory of its runner's device: what it is bound to and lies elsewhere is copied there. */
static int leaf_place(const builder *b, const neap_node *leaf, body_address *to) {
    neap_buffer *buffer = leaf->buffer;
    int device = b->runner->device;
    if (graph_is_placeholder(leaf)) {
        *to = (body_address){.from = BODY_INPUT, .index = (int32_t)leaf->value};
        return 0;
    }
    if (neap_device_memory_space(device) == 0) {
        int status = graph_host_buffer(b->ctx, leaf, &buffer);
        return status ? status : add_buffer(b->body, buffer, to);
    }
    return plan_share_memory(neap_buffer_device(buffer), device) ? add_buffer(b->body, buffer, to)
                                                                 : copy_there(buffer, device, b->body, to);
}

/* A pointer of the item that is being made, to a slot (-1: to `place`), `offset` bytes into it. */
static int add_pointer(builder *b, int32_t slot, body_address place, int64_t offset) {
    if (slot >= 0)
        place = b->places[slot];
    place.offset += offset;
    int status = lazy_push(&b->slots, slot);
    return status ? status : lazy_push(&b->body->pointers, place);
}

static int add_item(builder *b, body_item item) {
    return lazy_push(&b->body->items, item);
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */
/* The slot or leaf that a root of the program is, which is read now. */
static int root_place(builder *b, int64_t root, const neap_node *node, int32_t *slot, body_address *place) {
    *slot = b->program->root_slots.at[root];
    *place = (body_address){0};
    if (*slot >= 0)
        b->until[*slot] = b->step + 1;
    return *slot >= 0 ? 0 : leaf_place(b, plan_is_leaf(node) ? node : node->base, place);
}

static int add_print(builder *b, const lazy_effect *effect) {
    body_item item = {.what = BODY_PRINT, .first = (int32_t)b->body->pointers.n};
    int status = 0;
    for (int64_t k = 0; k < effect->nodes.n && status == 0; k++) {
        int32_t slot;
        body_address place;
        status = root_place(b, b->root + k, effect->nodes.at[k], &slot, &place);
        if (status == 0)
            status = add_pointer(b, slot, place, 0);
    }
    if (status == 0 && !(item.message = effect_message_new(effect)))
        status = NEAP_E_MEMORY;
    if (status == 0 && (status = add_item(b, item)) != 0)
        effect_message_free(item.message);
    return status;
}

static bool is_ready(const builder *b, const lazy_effect *effect, int32_t step) {
    bool ready = true;
    for (int64_t k = 0; k < effect->nodes.n && ready; k++) {
        int32_t slot = b->program->root_slots.at[b->root + k];
        ready = slot < 0 || b->makers[slot] <= step;
    }
    return ready;
}

/* The prints whose turn has come behind a step. */
static int add_prints(builder *b, int32_t step) {
    int status = 0;
    while (b->next_effect < b->program->effects.n && status == 0) {
        const lazy_effect *effect = b->program->effects.at[b->next_effect];
        if (effect->node || !is_ready(b, effect, step))
            break;
        if ((status = add_print(b, effect)) == 0) {
            b->next_effect++;
            b->root += effect->nodes.n;
        }
    }
    return status;
}

static int add_callback(builder *b, body_item *item, const neap_node *node) {
    lazy_result *arguments = calloc((size_t)node->nin + 1, sizeof *arguments);
    if (!arguments || lazy_push(&b->body->arguments, arguments)) {
        free(arguments);
        return neap_error(NEAP_E_MEMORY, "out of memory for a callback");
    }
    for (int k = 0; k < node->nin; k++) {
        const neap_node *in = node->in[k];
        arguments[k] = (lazy_result){.dtype = in->dtype, .ndim = in->ndim};
        memcpy(arguments[k].shape, in->shape, in->ndim * sizeof *in->shape);
    }
    item->what = BODY_CALLBACK;
    item->call = (lazy_work_call){
        .callback = effect_callback_retain(effect_callback_of(node)), .narguments = node->nin, .arguments = arguments};
    return 0;
}

static const char *site_of(const builder *b, const lazy_step *step, const neap_node *node) {
    return node->site && node->site != b->ctx->sites.chunk ? graph_site_text(b->ctx, node->site) : step->site;
}

/* The kernel of a step for what runs the body: a body of the host has its own of what another device would do. */
static int own_kernel(const lazy_runner *runner, const lazy_step *step, lazy_kernel **out) {
    *out = (lazy_kernel *)&step->kernel;
    if (step->backend == runner->backend)
        return 0;
    lazy_kernel *own = *out = malloc(sizeof *own);
    if (!own)
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    *own = step->kernel;
    own->prepared = NULL;
    int status = runner->backend->prepare(own, runner->device);
    if (status) {
        free(own);
        *out = NULL;
    }
    return status;
}

static void free_kernel(const lazy_runner *runner, const body_item *item) {
    if (!item->kernel || item->kernel == &item->step->kernel)
        return;
    runner->backend->unprepare(item->kernel);
    free(item->kernel);
}

/* Is it the copy of a carry to its own next value, of which the turn goes on to write parts? */
static bool copies_carry(const builder *b, const lazy_step_walk *w) {
    if (!w->step->copies || !b->carries)
        return false;
    const body_address *from = &b->places[plan_walk_slot(w, 0)], *to = &b->places[plan_walk_slot(w, 1)];
    return from->from == BODY_INPUT && to->from == BODY_OUTPUT && from->index == to->index &&
           to->index < b->runner->operands && b->runner->updated[to->index];
}

/* No more is told of costs (ns, estimated) and of numbers, so that sums fit, also where programs inside each other
 * double them. */
static const int64_t MOST_COUNTED = INT64_C(1) << 44;

static int64_t add_counts(int64_t a, int64_t b) {
    return a < MOST_COUNTED && b < MOST_COUNTED ? a + b : MOST_COUNTED;
}

/* Of a step, or the node inside that it is. */
static void count_launches(lazy_runner *runner, const lazy_step *step, const lazy_runner *inner) {
    lazy_traffic bytes = plan_step_traffic(step);
    bool one = !inner || inner->kind->loop;
    runner->launches = add_counts(runner->launches, inner ? !one * inner->launches : 1);
    runner->touched = add_counts(runner->touched, one ? bytes.read + bytes.written : inner->touched);
    runner->waits = add_counts(runner->waits, inner && !one ? inner->waits : 0);
}

static void free_item(const lazy_runner *runner, const body_item *item) {
    control_runner_release(item->inner);
    if (item->message)
        effect_message_free(item->message);
    if (item->call.callback)
        effect_callback_release(item->call.callback);
    free_kernel(runner, item);
}

/* What the item of a step is, and what it holds for that. */
static int fill_item(builder *b, const lazy_step *step, const neap_node *node, body_item *item) {
    if (step->kind == LAZY_STEP_KERNEL) {
        item->what = BODY_KERNEL;
        return own_kernel(b->runner, step, &item->kernel);
    }
    if (control_is_control(node)) {
        item->what = BODY_INNER;
        return control_runner_on(b->ctx, node, b->runner->device, &item->inner);
    }
    if (step->payload == &effect_callback_payload)
        return add_callback(b, item, node);
    item->what = BODY_CALL;
    item->line = graph_is_exchange(node) ? effect_exchange_line(b->ctx, node) : NULL;
    return 0;
}

static int add_step(builder *b, const lazy_step_walk *w) {
    const lazy_step *step = w->step;
    b->step = w->t;
    if (copies_carry(b, w))
        return add_prints(b, w->t);
    const neap_node *node = b->program->region.at[step->node];
    bool inner = step->kind == LAZY_STEP_CALL && control_is_control(node);
    int status = step->effect ? add_prints(b, INT32_MAX) : 0; /* which read what was made before it */
    body_item item = {.first = (int32_t)b->body->pointers.n, .step = step, .site = site_of(b, step, node)};
    for (int32_t k = 0; k < step->nbufs && status == 0; k++) {
        int64_t offset = inner && k < step->call.nin ? step->offsets[k] * neap_dtype_bytes(node->in[k]->dtype) : 0;
        status = add_pointer(b, plan_walk_slot(w, k), (body_address){0}, offset);
    }
    if (status == 0)
        status = fill_item(b, step, node, &item);
    if (status == 0)
        status = add_item(b, item);
    if (status) {
        free_item(b->runner, &item);
        return status;
    }
    if (step->effect) {
        b->next_effect++;
        b->root++;
    }
    return add_prints(b, w->t);
}

/* ---- Outputs ----------------------------------------------------------------------------------------------------- */
/* A slot that an output is, and no output before it, is made where that goes. */
static void bind_outputs(builder *b) {
    const neap_program *program = b->program;
    for (int64_t k = 0; k < program->outputs.n; k++) {
        int32_t slot = program->root_slots.at[program->effect_roots + k];
        if (slot >= 0 && b->places[slot].from == BODY_SCRATCH)
            b->places[slot] = (body_address){.from = BODY_OUTPUT, .index = (int32_t)k};
    }
}

/* Copies what is an output but was not made in its place. */
static int add_copies(builder *b) {
    const neap_program *program = b->program;
    lazy_runner *runner = b->runner;
    int status = 0;
    for (int32_t k = 0; k < program->outputs.n && status == 0; k++) {
        const neap_node *node = program->outputs.at[k];
        int32_t slot;
        body_address from;
        status = root_place(b, program->effect_roots + k, node, &slot, &from);
        if (status || (slot >= 0 && b->places[slot].from == BODY_OUTPUT && b->places[slot].index == k))
            continue;
        if (slot < 0 && from.from == BODY_INPUT && from.index == k && b->carries && k < runner->operands) {
            runner->fixed[k] = true;
            continue;
        }
        body_item item = {.what = BODY_COPY, .first = (int32_t)b->body->pointers.n, .bytes = graph_node_bytes(node)};
        body_address to = {.from = BODY_OUTPUT, .index = k};
        if ((status = add_pointer(b, slot, from, 0)) == 0 && (status = add_pointer(b, -1, to, 0)) == 0)
            status = add_item(b, item);
    }
    return status;
}

/* ---- Carries that are written over ------------------------------------------------------------------------------- */
/* Is input k of the program, as it is, among the roots other than output k? Those are read when the steps have run. */
static bool is_root_as_it_is(const neap_program *program, int32_t k) {
    bool found = false;
    for (int64_t r = 0; r < program->root_slots.n && !found; r++) {
        const neap_node *root = program->nodes.at[program->root_nodes.at[r]];
        const neap_node *leaf = graph_is_view(root) ? root->base : root;
        found = program->root_slots.at[r] < 0 && r != program->effect_roots + k && graph_is_placeholder(leaf) &&
                (int32_t)leaf->value == k;
    }
    return found;
}

typedef struct carry_copy { /* of a carry */
    int32_t from;           /* the slot that is it, -1 */
    int32_t at;             /* the step that copies it to its next value, -1 */
    bool read;              /* steps behind that one read it */
} carry_copy;

/* A carry is written over if a step copies it to where its next value is made, and nothing reads it from there on. */
static void find_updated(builder *b) {
    const neap_program *program = b->program;
    const lazy_plan *plan = b->program->plan;
    for (int32_t k = 0; k < b->runner->operands && b->carries; k++) {
        carry_copy copy = {.from = -1, .at = -1};
        int32_t to = program->root_slots.at[program->effect_roots + k];
        if (to < 0 || b->places[to].from != BODY_OUTPUT || b->places[to].index != k || is_root_as_it_is(program, k))
            continue;
        for (lazy_step_walk w = plan_walk(plan); plan_walk_next(&w);)
            for (int32_t i = 0; i < w.step->nbufs - w.step->nouts; i++) {
                int32_t slot = plan_walk_slot(&w, i);
                bool carry =
                    !plan->slots[slot].made && b->places[slot].from == BODY_INPUT && b->places[slot].index == k;
                copy.read |= carry && copy.at >= 0;
                if (carry && w.step->copies && plan_walk_slot(&w, 1) == to && copy.at < 0)
                    copy.at = w.t;
            }
        b->runner->updated[k] = copy.at >= 0 && !copy.read;
    }
}

/* ---- Scratch ----------------------------------------------------------------------------------------------------- */
static int assign_scratch(builder *b) {
    const lazy_plan *plan = b->program->plan;
    int32_t *home;
    size_t *bytes, n = (size_t)plan->nslots + 1;
    bool *inside;
    if (!LAZY_ARENA(LAZY_PART(bytes, n), LAZY_PART(home, n), LAZY_PART(inside, n)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    for (int32_t s = 0; s < plan->nslots; s++)
        inside[s] = b->places[s].from == BODY_SCRATCH;
    int status = plan_memory_of_body(plan, inside, b->until, home, bytes);
    for (int32_t s = 0; s < plan->nslots && status == 0; s++)
        if (inside[s] && home[s] == s) {
            b->places[s].offset = (int64_t)b->body->scratch;
            b->body->scratch += body_round(bytes[s] + !bytes[s]);
        }
    for (int64_t p = 0; p < b->body->pointers.n && status == 0; p++)
        if (b->slots.at[p] >= 0 && inside[b->slots.at[p]])
            b->body->pointers.at[p].offset += b->places[home[b->slots.at[p]]].offset;
    free(bytes);
    return status;
}

/* Is it a copy to where that lies already? */
static bool is_idle(const lazy_body *body, const body_item *item) {
    const body_address *from = &body->pointers.at[item->first], *to = from + 1;
    return item->what == BODY_CALL && item->step->copies && from->from == to->from && from->index == to->index &&
           from->offset == to->offset;
}

/* Leaves out the items that do nothing, and sums up what the others do. */
static void sum_items(builder *b) {
    lazy_body *body = b->body;
    int64_t n = 0;
    for (int64_t k = 0; k < body->items.n; k++) {
        const body_item *item = &body->items.at[k];
        if (is_idle(body, item))
            continue;
        body->written += (int64_t)item->bytes;
        if (item->step) {
            count_launches(b->runner, item->step, item->inner);
            body->cost += item->inner ? item->inner->cost : item->step->cost;
            body->written += item->inner ? 0 : item->step->written;
        }
        if (item->inner) { /* memory for it */
            body->frames = body->frames < item->inner->frames ? item->inner->frames : body->frames;
            body->inner = body->inner < item->inner->data ? item->inner->data : body->inner;
        }
        body->items.at[n++] = *item;
    }
    body->items.n = n;
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
static int list_body_numbers(builder *b) {
    const lazy_plan *plan = b->program->plan;
    lazy_body *body = b->body;
    body->nnumbers = plan->nnumbers;
    if (!(body->numbers = calloc((size_t)plan->nnumbers + 1, sizeof *body->numbers)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    for (int32_t k = 0; k < plan->nnumbers; k++) {
        const neap_node *node = b->program->region.at[plan->numbers[k].node];
        bool input = graph_is_placeholder(node);
        body->numbers[k] = (body_number){.input = input ? (int32_t)node->value : -1, .dtype = plan->numbers[k].dtype};
        if (!input)
            body->numbers[k].value = dtype_scalar(plan->numbers[k].dtype, node->value);
    }
    return 0;
}

/* Pointers into xs and ys of a scan move with the turns. */
static int fill_moves(builder *b) {
    const lazy_runner *runner = b->runner;
    lazy_body *body = b->body;
    int status = 0;
    for (int32_t p = 0; p < body->pointers.n && runner->kind->stacks && status == 0; p++) {
        const body_address *place = &body->pointers.at[p];
        int32_t k = place->index - runner->operands;
        bool slice = k >= 0 && ((place->from == BODY_INPUT && k < runner->xs) || place->from == BODY_OUTPUT);
        if (!slice)
            continue;
        int64_t bytes = place->from == BODY_INPUT ? runner->in_bytes[place->index] : runner->out_bytes[place->index];
        status = lazy_push(&body->moves, ((body_move){.pointer = p, .bytes = runner->reverse ? -bytes : bytes}));
    }
    return status;
}

/* Slots that are not made lie where the program's leaves do. */
static int fill_places(builder *b) {
    const lazy_plan *plan = b->program->plan;
    int status = 0;
    for (int32_t s = 0; s < plan->nslots && status == 0; s++) {
        b->makers[s] = b->until[s] = -1;
        b->places[s] = (body_address){.from = BODY_SCRATCH};
        if (!plan->slots[s].made)
            status = leaf_place(b, b->program->region.at[plan->slots[s].node], &b->places[s]);
    }
    for (lazy_step_walk w = plan_walk(plan); plan_walk_next(&w);)
        for (int32_t k = w.step->nbufs - w.step->nouts; k < w.step->nbufs; k++)
            b->makers[plan_walk_slot(&w, k)] = w.t;
    return status;
}

static int build_body(builder *b) {
    int status = fill_places(b);
    if (status == 0) {
        bind_outputs(b);
        find_updated(b);
        status = add_prints(b, -1);
    }
    for (lazy_step_walk w = plan_walk(b->program->plan); status == 0 && plan_walk_next(&w);)
        status = add_step(b, &w);
    if (status == 0)
        status = add_prints(b, INT32_MAX);
    if (status == 0)
        status = add_copies(b);
    if (status == 0)
        status = assign_scratch(b);
    if (status == 0) {
        sum_items(b);
        status = fill_moves(b);
    }
    return status ? status : list_body_numbers(b);
}

static void body_free(const lazy_runner *runner, lazy_body *body) {
    if (!body)
        return;
    for (int64_t k = 0; k < body->items.n; k++)
        free_item(runner, &body->items.at[k]);
    for (int64_t k = 0; k < body->buffers.n; k++)
        neap_buffer_release(body->buffers.at[k]);
    for (int64_t k = 0; k < body->arguments.n; k++)
        free(body->arguments.at[k]);
    lazy_vector_free(&body->items);
    lazy_vector_free(&body->pointers);
    lazy_vector_free(&body->buffers);
    lazy_vector_free(&body->moves);
    lazy_vector_free(&body->arguments);
    plan_release(body->plan);
    free(body->numbers);
    free(body->input_at);
    free(body);
}

/* Which inputs of the node the body's inputs are. */
static void map_inputs(const lazy_control *control, int p, lazy_body *body) {
    for (int k = 0; k < body->ninputs; k++)
        body->input_at[k] = control_input_of(&control->shape, p, k);
}

static int body_new(neap_ctx *ctx, const lazy_control *control, int p, lazy_runner *runner, lazy_body **out) {
    const neap_program *program = program_runs(control->programs[p]);
    size_t n = (size_t)program->plan->nslots + 1;
    lazy_body *body = *out = calloc(1, sizeof *body);
    if (!body)
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    body->plan = program->plan;
    __atomic_add_fetch(&body->plan->refs, 1, __ATOMIC_RELAXED);
    body->ninputs = (int)program->inputs.n;
    body->noutputs = (int)program->outputs.n;
    body->input_at = malloc(((size_t)body->ninputs + 1) * sizeof *body->input_at);
    builder b = {.ctx = ctx, .program = program, .runner = runner, .body = body, .step = -1};
    b.carries = runner->kind->loop && p == control_giver(runner->kind);
    b.places = malloc(n * sizeof *b.places);
    b.makers = malloc(2 * n * sizeof *b.makers);
    int status = body->input_at && b.places && b.makers ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a body");
    if (status == 0) {
        b.until = b.makers + n;
        map_inputs(control, p, body);
        status = build_body(&b);
    }
    free(b.places);
    free(b.makers);
    lazy_vector_free(&b.slots);
    return status;
}

/* ---- Runners ----------------------------------------------------------------------------------------------------- */
static int64_t slice_bytes(const lazy_result *aval, bool slice) {
    int64_t bytes = neap_dtype_bytes(aval->dtype);
    for (int a = slice ? 1 : 0; a < aval->ndim; a++)
        bytes *= aval->shape[a];
    return bytes;
}

/* As many turns a loop is taken to have for scheduling where nobody knows; and its least cost: so much that no thread
 * that waits runs it, which could see to nothing else, Ctrl-C included, before a loop without end has ended. */
enum { LOWER_GUESSED = 1000, UNKNOWN_LEAST = LAZY_AWAITED_COST };

/* Of a loop, whose turns cost so much: may its first turns run where it is pushed? */
static bool begins_at_push(const lazy_runner *runner, int64_t cost, int64_t turns) {
    for (int k = 0; k < runner->operands; k++)
        cost = add_counts(cost, runner->fixed[k] ? 0 : runner->in_bytes[k] / 10); /* copied before the first turn */
    return turns < 0 && body_is_on_host(runner) && cost < LAZY_SMALL_COST;
}

/* How much a run costs and needs, of what its bodies do. */
static void sum_up(lazy_runner *runner) {
    size_t most = 0, frames = 0;
    int64_t cost = 0, longest = 0;
    for (int p = 0; p < runner->nbodies; p++) {
        const lazy_body *body = runner->bodies[p];
        size_t bytes = body_round(body->scratch) + body->inner;
        most = most < bytes ? bytes : most;
        frames = frames < body->frames ? body->frames : frames;
        runner->frame += body_round(body_tables(body));
        cost += body->cost;
        longest = longest < body->cost ? body->cost : longest;
    }
    for (int k = 0; k < runner->operands && runner->kind->loop; k++)
        runner->second += runner->updated[k] ? 0 : body_round((size_t)runner->in_bytes[k]);
    if (runner->kind->condition)
        runner->second += LAZY_BLOCK_ALIGN;
    runner->waits += runner->kind->condition || runner->kind->branches;
    runner->frames = runner->frame + frames;
    runner->data = runner->second + most;
    runner->cost = runner->kind->branches ? longest : cost;
    int64_t turns = control_turns(runner->kind, runner->length);
    runner->begins = runner->kind->loop && begins_at_push(runner, cost, turns);
    if (runner->kind->loop && __builtin_mul_overflow(cost + 50, turns < 0 ? LOWER_GUESSED : turns, &runner->cost))
        runner->cost = MOST_COUNTED;
    if (turns < 0 && runner->cost < UNKNOWN_LEAST)
        runner->cost = UNKNOWN_LEAST;
    runner->cost = runner->cost < MOST_COUNTED ? runner->cost + 200 : MOST_COUNTED;
}

/* Finds the buffers of constants, which were computed as any other array, and may be under way yet. */
static int find_held(lazy_runner *runner) {
    int status = 0;
    for (int p = 0; p < runner->nbodies; p++) {
        const lazy_body *body = runner->bodies[p];
        for (int64_t k = 0; k < body->buffers.n && status == 0; k++)
            status = lazy_push(&runner->held, body->buffers.at[k]);
        for (int64_t k = 0; k < body->items.n; k++) {
            const lazy_runner *inner = body->items.at[k].inner;
            for (int64_t i = 0; inner && i < inner->held.n && status == 0; i++)
                status = lazy_push(&runner->held, inner->held.at[i]);
        }
    }
    return status;
}

int control_runner_new(neap_ctx *ctx, const lazy_control *control, int device, lazy_runner **out) {
    const lazy_control_shape *shape = &control->shape;
    int nbodies = control_bodies(control), nin = shape->nin, nresults = control->nresults;
    size_t words = (size_t)(nin + 2 * nresults + nbodies), bools = 2 * (size_t)shape->operands + (size_t)nresults + 1;
    lazy_runner *runner = calloc(1, sizeof *runner + words * sizeof(int64_t) + bools);
    if (!runner)
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    *runner = (lazy_runner){.refs = 1,
                            .kind = shape->kind,
                            .nin = nin,
                            .nresults = nresults,
                            .operands = shape->operands,
                            .xs = shape->xs,
                            .first = shape->first,
                            .length = shape->length,
                            .reverse = shape->reverse,
                            .effects = control->effects,
                            .device = device,
                            .backend = vm_backend_of(device),
                            .in_bytes = (int64_t *)(runner + 1)};
    runner->out_bytes = runner->in_bytes + nin;
    runner->places = runner->out_bytes + nresults;
    runner->bodies = (lazy_body **)(runner->places + nresults);
    runner->fixed = (bool *)(runner->bodies + nbodies);
    runner->updated = runner->fixed + shape->operands;
    runner->out_dtypes = (uint8_t *)(runner->updated + shape->operands);
    for (int k = 0; k < nin; k++)
        runner->in_bytes[k] = slice_bytes(&shape->in[k], control_is_xs(shape, k));
    for (int k = 0; k < nresults; k++) {
        runner->out_bytes[k] = slice_bytes(&control->results[k], control_is_stacked(shape, k));
        runner->places[k] = control->places[k];
        runner->out_dtypes[k] = control->results[k].dtype;
    }
    int status = 0;
    if (body_is_on_host(runner) && shape->kind->loop && !(runner->code = calloc(1, sizeof *runner->code)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a body");
    for (; runner->nbodies < nbodies && status == 0; runner->nbodies++)
        status = body_new(ctx, control, runner->nbodies, runner, &runner->bodies[runner->nbodies]);
    runner->frame = control_frame_bytes(runner);
    if (status == 0) {
        sum_up(runner);
        status = find_held(runner);
    }
    if (status == 0 && (runner->graph_turns = control_graph_turns(runner)) > 0 &&
        !(runner->graphs = vm_launch_graphs_new(device, 1)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a body");
    if (status) {
        control_runner_release(runner);
        return status;
    }
    if (runner->code)
        lower_begin(runner);
    *out = runner;
    return 0;
}

lazy_runner *control_runner_retain(lazy_runner *runner) {
    atomic_fetch_add_explicit(&runner->refs, 1, memory_order_relaxed);
    return runner;
}

void control_runner_release(lazy_runner *runner) {
    if (!runner || atomic_fetch_sub_explicit(&runner->refs, 1, memory_order_acq_rel) > 1)
        return;
    vm_launch_graphs_free(runner->graphs); /* which launch what the bodies hold */
    for (int p = 0; p < runner->nbodies; p++)
        body_free(runner, runner->bodies[p]);
    lazy_vector_free(&runner->held);
    lower_free(runner->code);
    free(runner);
}

int64_t control_runner_cost(const lazy_runner *runner) {
    return runner->cost;
}

size_t control_runner_bytes(const lazy_runner *runner) {
    return (body_is_on_host(runner) ? runner->frames : 0) + runner->data + LAZY_BLOCK_ALIGN;
}
