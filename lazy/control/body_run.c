/* body_run.c: interpreting bodies (body.h has the picture).
 *
 * A run is a stack of frames, one for each node inside another's body, so it may stop at a callback and go on later, on
 * any thread. Nothing is allocated while it runs.
 *
 * On a device with streams items are enqueued, and a turn begins when those before it stand in the stream, which keeps
 * their order. After so many of them the run stops, so that a long loop neither fills the driver's queues nor outruns
 * an interrupt; the engine has it go on when the stream has come so far (neap_sync_fn).
 */
#include <stdio.h>
#include <string.h>

#include "engine/device.h"
#include "engine/sync.h"
#include "lazy/control/lower.h"

typedef struct body_frame {
    struct body_frame *parent;
    const lazy_runner *runner;
    const lazy_body *body; /* the body that is run now */
    int which, parity;     /* the number of that body, and which of its tables is used */
    int64_t item, turn;    /* the next item; turns that are over */
    int64_t written;       /* bytes so far */
    bool truth;            /* what the condition of a while gave, */
    char *decision;        /* and where it gives it */
    int32_t index;         /* of a branch */
    bool waits, seen;      /* one of these is on its way from the device; the condition's has come */
    void *const *in;
    void **out;            /* by result */
    void ***tables;        /* by body and parity */
    lazy_scalar **numbers; /* by body */
    char **carries;        /* by parity and carry: what a turn of that parity writes, and the next one reads */
    char *scratch;
} body_frame;

size_t control_frame_bytes(const lazy_runner *runner) {
    size_t words = (size_t)runner->nresults + 3 * (size_t)runner->nbodies + 2 * (size_t)runner->operands;
    return body_round(sizeof(body_frame) + words * sizeof(void *));
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static char *slice(void *base, int64_t bytes, const body_frame *f, int64_t turn) {
    return (char *)base + bytes * (f->runner->reverse ? f->runner->length - 1 - turn : turn);
}

static char *input_at(const body_frame *f, const lazy_body *body, int32_t k, int parity, int64_t turn) {
    const lazy_runner *runner = f->runner;
    int32_t at = body->input_at[k];
    if (!runner->kind->loop || k >= runner->operands + runner->xs)
        return f->in[at];
    if (k >= runner->operands)
        return slice(f->in[at], runner->in_bytes[at], f, turn);
    return runner->fixed[k] ? f->in[at] : f->carries[(1 - parity) * runner->operands + k];
}

static char *output_at(body_frame *f, int which, int32_t k, int parity, int64_t turn) {
    const lazy_runner *runner = f->runner;
    if (runner->kind->condition && which == 0)
        return f->decision;
    if (!runner->kind->loop)
        return f->out[k];
    return k < runner->operands ? f->carries[parity * runner->operands + k]
                                : slice(f->out[k], runner->out_bytes[k], f, turn);
}

/* Points body number `which` at what it reads and writes in turns of one parity, of which `turn` is the first. */
static void fill_table(body_frame *f, int which, int parity, int64_t turn) {
    const lazy_body *body = f->runner->bodies[which];
    void **table = f->tables[2 * which + parity];
    for (int64_t p = 0; p < body->pointers.n; p++) {
        const body_address *place = &body->pointers.at[p];
        char *base = f->scratch;
        if (place->from == BODY_INPUT)
            base = input_at(f, body, place->index, parity, turn);
        else if (place->from == BODY_OUTPUT)
            base = output_at(f, which, place->index, parity, turn);
        else if (place->from == BODY_BUFFER)
            base = neap_buffer_data(body->buffers.at[place->index]);
        table[p] = base + place->offset;
    }
}

static void fill_frame_numbers(body_frame *f, int which) {
    const lazy_body *body = f->runner->bodies[which];
    for (int k = 0; k < body->nnumbers; k++) {
        const body_number *number = &body->numbers[k];
        double value;
        f->numbers[which][k] = number->value;
        if (number->input < 0)
            continue;
        memcpy(&value, f->in[body->input_at[number->input]], sizeof value);
        f->numbers[which][k] = dtype_scalar(number->dtype, value);
    }
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */
static int copy_carry(body_frame *f, void *to, const void *from, int64_t bytes, const neap_run *run) {
    if (!bytes || to == from)
        return 0;
    f->written += bytes;
    return f->runner->backend->copy(to, from, (size_t)bytes, run);
}

/* Turns of a scan that are interpreted end with parity 0, that of the results. */
static int begin_loop(body_frame *f, const neap_run *run) {
    const lazy_runner *runner = f->runner;
    int status = 0;
    f->parity = runner->kind->stacks && runner->length > 0 ? (int)((runner->length - 1) & 1) : 0;
    for (int k = 0; k < runner->operands && status == 0; k++)
        if (!runner->fixed[k])
            status =
                copy_carry(f, f->carries[(1 - f->parity) * runner->operands + k], f->in[k], runner->in_bytes[k], run);
    for (int b = 0; b < runner->nbodies; b++) {
        fill_table(f, b, f->parity, 0);
        fill_table(f, b, 1 - f->parity, 1);
        fill_frame_numbers(f, b);
    }
    return status;
}

/* What the host has to see: on its own memory it is there, from a device it is on its way. */
static int look_at(body_frame *f, void *to, const void *from, size_t bytes, const neap_run *run) {
    f->waits = !body_is_on_host(f->runner);
    if (f->waits)
        return neap_run_copy(run, NEAP_COPY_FROM_DEVICE, to, from, bytes);
    if (to != from)
        memcpy(to, from, bytes);
    return 0;
}

static void begin_body(body_frame *f, int which) {
    f->which = which;
    f->body = f->runner->bodies[which];
    f->item = 0;
}

/* The body of a call, or the branch of a cond for its index, which is clamped. */
static void begin_only_body(body_frame *f) {
    int last = f->runner->nbodies - 1;
    begin_body(f, f->index < 0 ? 0 : f->index < last ? f->index : last);
    fill_table(f, f->which, 0, 0);
    fill_frame_numbers(f, f->which);
}

/* Where the frame, and the data, of a node inside of a frame's body begin. */
static char *frame_inside(const body_frame *f) {
    return (char *)f + f->runner->frame;
}

static char *data_inside(const body_frame *f) {
    return f->scratch + body_round(f->body->scratch);
}

/* Begins a node in the memory at `frame` and `data`: it is the innermost one from now on. */
static int begin_frame(body_run *r, const lazy_runner *runner, void *const *in, char *block, char *frame, char *data,
                       const neap_run *run) {
    char *at = frame;
    body_frame *f = lazy_next_block(&at, control_frame_bytes(runner), LAZY_BLOCK_ALIGN);
    *f = (body_frame){.parent = r->frame, .runner = runner, .in = in, .scratch = data + runner->second};
    r->frame = f;
    f->out = (void **)(f + 1);
    f->tables = (void ***)(f->out + runner->nresults);
    f->numbers = (lazy_scalar **)(f->tables + 2 * runner->nbodies);
    f->carries = (char **)(f->numbers + runner->nbodies);
    for (int k = 0; k < runner->nresults; k++)
        f->out[k] = block + runner->places[k];
    for (int b = 0; b < runner->nbodies; b++) {
        const lazy_body *body = runner->bodies[b];
        size_t pointers = (size_t)body->pointers.n;
        f->tables[2 * b] = lazy_next_block(&at, body_tables(body), LAZY_BLOCK_ALIGN);
        f->tables[2 * b + 1] = f->tables[2 * b] + pointers;
        f->numbers[b] = (lazy_scalar *)(f->tables[2 * b + 1] + pointers);
    }
    for (int k = 0; k < runner->operands && runner->kind->loop; k++) {
        f->carries[k] = f->carries[runner->operands + k] = f->out[k];
        if (!runner->updated[k])
            f->carries[runner->operands + k] = lazy_next_block(&data, (size_t)runner->in_bytes[k], LAZY_BLOCK_ALIGN);
    }
    f->decision = body_is_on_host(runner) ? (char *)&f->truth : data;
    if (runner->kind->loop) {
        begin_body(f, 0);
        return begin_loop(f, run);
    }
    int status = runner->kind->branches ? look_at(f, &f->index, in[0], sizeof f->index, run) : 0;
    if (status == 0 && !f->waits)
        begin_only_body(f);
    return status;
}

int control_body_begin(body_run *r, const lazy_runner *runner, void *const *in, void *block, void *frames, void *data,
                       const neap_run *run) {
    r->frame = NULL;
    r->waiting = NULL;
    return begin_frame(r, runner, in, block, frames, data, run);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */
/* Carries that end in the wrong place, or never left their input, are copied into the results. */
static int end_loop(body_frame *f, const neap_run *run) {
    const lazy_runner *runner = f->runner;
    bool swapped = f->parity == 0; /* what the last turn wrote has parity 1 - parity */
    int status = 0;
    for (int k = 0; k < runner->operands && status == 0; k++) {
        if (runner->fixed[k] || (runner->kind->stacks && runner->length == 0))
            status = copy_carry(f, f->out[k], f->in[k], runner->in_bytes[k], run);
        else if (swapped)
            status = copy_carry(f, f->out[k], f->carries[runner->operands + k], runner->in_bytes[k], run);
    }
    return status;
}

static void move_slices(body_frame *f) {
    const lazy_body *body = f->body;
    void **table = f->tables[f->parity];
    for (int64_t k = 0; k < body->moves.n; k++)
        table[body->moves.at[k].pointer] = (char *)table[body->moves.at[k].pointer] + 2 * body->moves.at[k].bytes;
}

/* All items of the body have run: begins the next turn, or returns true: the node is done. */
static bool end_turn(body_frame *f) {
    const lazy_control_kind *kind = f->runner->kind;
    f->written += f->body->written;
    if (!kind->loop)
        return true;
    if (kind->stacks) {
        move_slices(f);
        f->parity = 1 - f->parity;
        f->item = 0;
        return ++f->turn >= f->runner->length;
    }
    if (f->which == control_giver(kind)) {
        f->parity = 1 - f->parity;
        f->turn++;
    } else if (!f->truth) {
        return true;
    }
    begin_body(f, 1 - f->which);
    return false;
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */
/* "script.lua:3: divide: what went wrong": the step that failed inside the node. */
int control_body_failure(const body_item *item, int status) {
    char text[1024];
    const char *name = item->call.callback ? item->call.callback->name
                       : item->step        ? item->step->label
                                           : "copy",
               *site = item->site ? item->site : "";
    if (status == NEAP_E_INTERRUPT || item->what == BODY_INNER)
        return status;
    snprintf(text, sizeof text, "%s", neap_error_text());
    return neap_error(status, "%s%s%s: %s", site, *site ? ": " : "", name, text);
}

static int write_message(body_run *r, const lazy_message *message, void *const *data, const char *error) {
    r->printed = true;
    return r->effects ? effect_message_push(r->effects, message, data, error)
                      : effect_message_write(message, data, error);
}

void control_body_report(body_run *r, const char *text) {
    for (const body_frame *f = r->frame; f; f = f->parent)
        for (int64_t k = f->item; k < f->body->items.n; k++)
            if (f->body->items.at[k].what == BODY_PRINT) {
                write_message(r, f->body->items.at[k].message, NULL, text);
                return;
            }
}

/* Runs a step, on these operands and the numbers of its body. */
static int run_step(const body_frame *f, const body_item *item, void **data, const lazy_scalar *numbers,
                    const neap_run *run) {
    const lazy_step *step = item->step;
    return plan_step_run(step, f->runner->backend, item->kernel, data, numbers + step->first_number, NULL, run);
}

/* Runs an item of a body with these numbers, on these operands. */
static int run_item(body_run *r, body_frame *f, const body_item *item, void **data, const lazy_scalar *numbers,
                    const neap_run *run) {
    switch ((body_what)item->what) {
    case BODY_KERNEL:
        return run_step(f, item, data, numbers, run);
    case BODY_CALL:
        effect_exchange_at(item->line);
        return run_step(f, item, data, numbers, run);
    case BODY_COPY:
        return item->bytes && data[1] != data[0] ? f->runner->backend->copy(data[1], data[0], item->bytes, run) : 0;
    case BODY_PRINT:
        return write_message(r, item->message, data, NULL);
    case BODY_INNER:
        return begin_frame(r, item->inner, data, data[item->inner->nin], frame_inside(f), data_inside(f), run);
    case BODY_CALLBACK:
        r->waiting = item;
        r->operands = data;
        return NEAP_PENDING;
    }
    return 0;
}

/* A loop of no turns has none to end. */
static bool is_over(const body_frame *f) {
    return f->runner->kind->stacks && f->turn >= f->runner->length;
}

/* The user thread, which runs bodies with callbacks, could not deal with an interrupt before they end. A loop that
 * prints faster than its reader reads waits here. */
static bool is_stopped(const body_run *r, const neap_run *run) {
    enum { LOOK_MS = 20 };
    do {
        if (neap_run_cancelled(run) || (r->effects && neap_interrupt_pending()))
            return true;
    } while (r->printed && neap_out_await_capacity(LOOK_MS) == NEAP_PENDING);
    return false;
}

/* Runs what is left of the turn; stops where another frame has begun, or with NEAP_PENDING at a callback. */
static int run_turn(body_run *r, body_frame *f, const neap_run *run) {
    const lazy_body *body = f->body;
    void **table = f->tables[2 * f->which + f->parity];
    const lazy_scalar *numbers = f->numbers[f->which];
    while (f->item < body->items.n) {
        const body_item *item = &body->items.at[f->item++];
        int status = run_item(r, f, item, table + item->first, numbers, run);
        r->enqueued++;
        if (status < 0)
            return control_body_failure(item, status);
        if (status == NEAP_PENDING || r->frame != f)
            return status;
    }
    return 0;
}

/* Whether the run is to pause now. */
static bool pauses(body_run *r) {
    r->paused = r->until && engine_now() >= r->until;
    return r->paused;
}

static int interrupted(void) {
    return neap_error(NEAP_E_INTERRUPT, "%s", neap_status_text(NEAP_E_INTERRUPT));
}

/* ---- Machine code ------------------------------------------------------------------------------------------------ */
/* Where it is in the turn that is next, or would be if that had this parity. */
static char *place_now(body_frame *f, const lower_code *code, const lower_place *place, int parity) {
    const body_address *address = &place->address;
    const lazy_body *body = f->runner->bodies[place->which];
    if (place->from == LOWER_NUMBER)
        return (char *)&f->numbers[place->which][address->index];
    char *base = place->from == LOWER_CONSTANT   ? (char *)code->constants
                 : place->from == LOWER_BUFFER   ? neap_buffer_data(place->buffer)
                 : address->from == BODY_INPUT   ? input_at(f, body, address->index, parity, f->turn)
                 : address->from == BODY_OUTPUT  ? output_at(f, place->which, address->index, parity, f->turn)
                 : address->from == BODY_SCRATCH ? f->scratch
                                                 : neap_buffer_data(body->buffers.at[address->index]);
    return base + address->offset;
}

typedef struct code_run { /* of machine code */
    body_run *r;
    body_frame *f;
    const lower_code *code;
    const neap_run *run;
    int status;
} code_run;

/* A loop in the body of another one, which runs to its end. */
static int run_inner(const code_run *c, const lower_call *call, void **data) {
    const lazy_runner *inner = call->item->inner;
    body_run own = {.effects = c->r->effects};
    int status =
        begin_frame(&own, inner, data, data[inner->nin], frame_inside(c->f), c->f->scratch + call->scratch, c->run);
    return status ? status : control_body_advance(&own, c->run);
}

/* What code calls: item number `which`, on these operands. */
static int32_t run_called(void *context, int64_t which, void **data) {
    code_run *c = context;
    const lower_call *call = &c->code->calls[which];
    const body_item *item = call->item;
    int status = item->what == BODY_INNER ? run_inner(c, call, data)
                                          : run_item(c->r, c->f, item, data, c->f->numbers[call->which], c->run);
    c->status = status < 0 ? control_body_failure(item, status) : 0;
    return c->status;
}

/* Runs at most so many turns by machine code. Returns how many are over, or ~ that after a failure. */
static int64_t run_slice(code_run *c, int64_t turns) {
    char *at[2 * LOWER_PLACES + 2];
    int64_t moves[LOWER_PLACES];
    body_frame *f = c->f;
    const lower_code *code = c->code;
    int places = code->nplaces;
    for (int k = 0; k < places; k++) {
        at[k] = place_now(f, code, &code->places[k], f->parity);
        moves[k] = code->places[k].move;
    }
    if (!code->in_registers) {
        native_call called = run_called;
        for (int k = 0; k < places; k++)
            at[places + k] = place_now(f, code, &code->places[k], 1 - f->parity);
        memcpy(&at[2 * places], &called, sizeof called);
        at[2 * places + 1] = (char *)c;
    }
    int64_t ran = native_loop_of(code->unit)(at, moves, code->n, turns), over = ran < 0 ? ~ran : ran;
    f->turn += over;
    f->written += over * code->written;
    if (!code->in_registers && over & 1)
        f->parity = 1 - f->parity;
    return ran;
}

/* Runs the turns that are left by machine code, some at a time; where the run may pause, few. What they carry stays
 * where the next turn reads it. */
static int run_code(body_run *r, body_frame *f, const lower_code *code, const neap_run *run) {
    enum { PARTS = 1024 };
    code_run c = {.r = r, .f = f, .code = code, .run = run};
    for (;;) {
        int64_t turns = r->until ? (code->slice + PARTS - 1) / PARTS : code->slice;
        if (f->runner->kind->stacks && f->runner->length - f->turn < turns)
            turns = f->runner->length - f->turn;
        int64_t ran = run_slice(&c, turns);
        if (ran < 0)
            return c.status;
        if (ran < turns || is_over(f))
            return 0;
        if (is_stopped(r, run))
            return interrupted();
        if (pauses(r))
            return NEAP_PENDING;
    }
}

/* The code to go on with, now that a turn is about to begin; some are interpreted from one look to the next. */
static const lower_code *look_for_code(body_run *r, const body_frame *f) {
    enum { TURNS = 64 };
    if (!f->runner->code || (f->turn % TURNS && !r->paused) || f->which || f->item)
        return NULL;
    r->paused = false;
    bool known = f->runner->kind->stacks;
    return lower_now(f->runner, known && f->runner->length - f->turn < TURNS ? f->runner->length - f->turn : TURNS);
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
/* Are there so many items on the stream that it is to come to them before there are more? */
static bool is_far_ahead(body_run *r, const neap_run *run) {
    if (!run->stream || r->enqueued < CONTROL_ENQUEUED_MOST)
        return false;
    r->enqueued = 0;
    return true;
}

/* Stands for the addresses of a loop. */
static uint64_t key_of(const body_frame *f) {
    const lazy_runner *runner = f->runner;
    uint64_t key = vm_launch_graphs_key(0, f->scratch);
    for (int k = 0; k < runner->nin; k++)
        key = vm_launch_graphs_key(key, f->in[k]);
    for (int k = 0; k < runner->nresults; k++)
        key = vm_launch_graphs_key(key, f->out[k]);
    return key;
}

/* What runs the items of the next turn: where enough turns are left, a launch graph of turns begins with it. */
static const neap_run *begin_graph(body_run *r, const body_frame *f, const neap_run *run) {
    const lazy_runner *runner = f->runner;
    if (!r->recorded.graph && runner->graphs && f->item == 0 && runner->length - f->turn >= runner->graph_turns) {
        r->recorded.graph = vm_launch_graphs_take(runner->graphs, key_of(f));
        r->recorded.of = f;
        r->recorded.left = runner->graph_turns;
        if (r->recorded.graph)
            neap_launch_graph_record(r->recorded.graph, run, &r->recorded.run);
    }
    return r->recorded.graph ? &r->recorded.run : run;
}

static void leave_graph(body_run *r) {
    if (r->recorded.graph)
        vm_launch_graphs_return(r->recorded.of->runner->graphs, r->recorded.graph);
    r->recorded.graph = NULL;
}

/* A turn of the frame is over: with the last one of a launch graph, that is enqueued. */
static int end_turn_of_graph(body_run *r, const body_frame *f, const neap_run *run) {
    if (!r->recorded.graph || r->recorded.of != f || --r->recorded.left > 0)
        return 0;
    int status = neap_launch_graph_run(r->recorded.graph, run);
    leave_graph(r);
    return status;
}

/* Has what the frame waits for to come yet? It has when the run goes on. */
static bool has_to_come(body_run *r, body_frame *f) {
    bool waits = f->waits;
    f->waits = false;
    r->enqueued = waits ? 0 : r->enqueued;
    return waits;
}

/* Behind the condition of a while: what it gave. */
static int see_condition(body_run *r, body_frame *f, const neap_run *run) {
    bool gives = f->runner->kind->condition && f->which == 0;
    if (!gives || f->seen) {
        f->seen = false;
        return 0;
    }
    int status = look_at(f, &f->truth, f->decision, sizeof f->truth, run);
    f->seen = status == 0 && has_to_come(r, f);
    return f->seen ? NEAP_PENDING : status;
}

/* Runs turns to the end of the node's loop, or until one stops (run_turn). */
static int run_turns(body_run *r, body_frame *f, const neap_run *run, bool *over) {
    *over = is_over(f);
    if (has_to_come(r, f))
        return NEAP_PENDING;
    if (!f->body)
        begin_only_body(f);
    while (!*over) {
        const lower_code *code = look_for_code(r, f);
        if (code) {
            *over = true;
            return run_code(r, f, code, run);
        }
        int status = run_turn(r, f, begin_graph(r, f, run));
        if (status || r->frame != f || (status = see_condition(r, f, run)) != 0)
            return status;
        *over = end_turn(f);
        if ((status = end_turn_of_graph(r, f, run)) != 0)
            return status;
        if (!*over && is_stopped(r, run))
            return interrupted();
        if (!*over && (pauses(r) || (!r->recorded.graph && is_far_ahead(r, run))))
            return NEAP_PENDING;
    }
    return 0;
}

int control_body_advance(body_run *r, const neap_run *run) {
    r->waiting = NULL;
    while (r->frame) {
        body_frame *f = r->frame;
        bool over;
        int status = run_turns(r, f, run, &over);
        if (status < 0)
            leave_graph(r);
        if (status)
            return status;
        if (over) {
            if (f->runner->kind->loop && (status = end_loop(f, run)) != 0)
                return status;
            atomic_fetch_add_explicit(&graph_written_in_bodies, (uint64_t)f->written, memory_order_relaxed);
            r->frame = f->parent;
        }
    }
    return 0;
}
