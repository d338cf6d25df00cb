/* effects.c: token stores, order groups, and effects that the engine runs.
 *
 *      frame ─┬─ token of the common order ◀── write ── print ◀── write ── callback ◀── write ── print …
 *             ├─ token of "log"            ◀── write ── log ◀── write ── log …
 *             └─ counts                    ◀── every effect, ordered or not
 *
 * A token is an engine variable, so effects of one group happen one after the other in the order of their pushes, each
 * as soon as what it reads is ready. Tokens never carry failure: effects are pushed with NEAP_PUSH_ALWAYS, and one that
 * fails tells so on stderr, in its place in the stream, and counts as happened.
 *
 * When a kind changes its group, an op is pushed that reads the token of the old group and writes that of the new one:
 * what the kind does next comes after all that it did before.
 */
#include "effects/effects_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/comm/comm.h"

enum { NAP_NS = 100000 };

typedef struct effect { /* what the engine runs; freed when the op is over */
    neap_sync_fn fn;
    void *arg;
    void (*release)(void *arg);
    const char *name, *site;
    effects_scope *frame;
    int output;      /* the device of its output token, or EFFECTS_ORDERED */
    uint32_t source; /* of its text */
} effect;

static engine_slab effect_slab = {.bytes = sizeof(effect)};

/* ---- Frames and stores ------------------------------------------------------------------------------------------- */

void effects_scope_init(effects_scope *frame, neap_effects *store, neap_request *request) {
    *frame = (effects_scope){.store = store, .request = request};
    for (int group = 0; group < EFFECTS_GROUPS; group++)
        frame->tokens[group].device = -1;
    if (!request)
        return;
    frame->owner = store->top;
    frame->level = store->top->level + 1;
    frame->place = ++store->top->places;
    memcpy(frame->own, store->top->own, sizeof frame->own);
}

void effects_scope_clear(effects_scope *frame) {
    for (int group = 0; group < EFFECTS_GROUPS; group++)
        neap_var_delete(frame->tokens[group].var);
}

int neap_effects_new(neap_waker *waker, neap_effects **out) {
    int status = engine_check_running();
    if (status)
        return status;
    int devices = neap_engine_devices();
    size_t bytes = sizeof(neap_effects) + (size_t)devices * sizeof(uint64_t);
    neap_effects *effects = engine_alloc(bytes);
    if (!effects)
        return neap_error(NEAP_E_MEMORY, "no memory for a token store");
    memset(effects, 0, bytes);
    effects_scope_init(&effects->root, effects, NULL);
    effects->top = &effects->root;
    effects->waker = waker ? engine_waker_retain(waker) : NULL;
    effects->devices = devices;
    *out = effects;
    return NEAP_OK;
}

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

void effects_announce(neap_effects *effects, int device) {
    engine_lock_take(&effects->lock);
    effects->top->pushed++;
    if (device != EFFECTS_ORDERED)
        effects->outstanding[device]++;
    engine_lock_drop(&effects->lock);
}

void effects_withdraw(neap_effects *effects, int device) {
    engine_lock_take(&effects->lock);
    effects->top->pushed--;
    if (device != EFFECTS_ORDERED)
        effects->outstanding[device]--;
    engine_lock_drop(&effects->lock);
}

void effects_count_push(neap_effects *effects, int n, effects_token *const *tokens, int device) {
    if (n == 0)
        effects->counts.unordered++;
    else
        effects->counts.ordered++;
    for (int k = 0; k < n; k++) {
        if (tokens[k]->device >= 0 && tokens[k]->device != device)
            effects->counts.carried++;
        tokens[k]->device = device;
    }
}

void effects_happened(effects_scope *frame, int device) {
    while (frame) {
        neap_effects *store = frame->store;
        engine_lock_take(&store->lock);
        frame->happened++;
        if (device != EFFECTS_ORDERED)
            store->outstanding[device]--;
        engine_watch *due = engine_watch_take(&frame->watches, frame->happened);
        bool over = frame->closed && frame->happened == frame->pushed;
        engine_lock_drop(&store->lock);
        engine_watch_fire(due);
        frame = over ? effects_request_over(frame->request, &device) : NULL;
    }
}

uint64_t neap_effects_outstanding(neap_effects *effects, int device) {
    uint64_t count = 0;
    engine_lock_take(&effects->lock);
    for (int i = 0; i < effects->devices; i++) {
        if (i == device || device < 0)
            count += effects->outstanding[i];
    }
    engine_lock_drop(&effects->lock);
    return count;
}

void neap_effects_count(neap_effects *effects, neap_effects_counts *out) {
    *out = effects->counts;
    out->outstanding = neap_effects_outstanding(effects, -1);
}

/* ---- Order groups ------------------------------------------------------------------------------------------------ */

static int group_of(const effects_scope *frame, int kind) {
    return frame->own[kind] ? 1 + kind : EFFECTS_COMMON;
}

static int token_make(effects_token *token) {
    return token->var ? NEAP_OK : neap_var_new(&token->var);
}

static int check_effect_kind(int kind) {
    if (neap_effect_name(kind))
        return NEAP_OK;
    return neap_error(NEAP_E_ARGUMENT, "no kind %d of effects", kind);
}

/* Appends the token that orders effects of this kind in the innermost frame to the n that are there, if it is none of
 * these. Returns how many there are, or a status. */
static int add_token(neap_effects *effects, int kind, int n, effects_token **tokens) {
    int status = check_effect_kind(kind);
    if (status)
        return status;
    effects_token *token = &effects->top->tokens[group_of(effects->top, kind)];
    if ((status = token_make(token)) != NEAP_OK)
        return status;
    for (int k = 0; k < n; k++)
        if (tokens[k] == token)
            return n;
    tokens[n] = token;
    return n + 1;
}

int effects_tokens_get(neap_effects *effects, int kinds, effects_token **tokens) {
    int n = 0;
    for (int kind = 0; kind < NEAP_EFFECT_MOST && n >= 0; kind++)
        if (kinds >> kind & 1)
            n = add_token(effects, kind, n, tokens);
    return n;
}

int effects_tokens_push(neap_async_fn fn, void *arg, int n, effects_token *const *tokens, const neap_push *push) {
    neap_var *vars[NEAP_EFFECT_MOST];
    for (int k = 0; k < n; k++)
        vars[k] = tokens[k]->var;
    neap_push timed = {.name = push->name,
                       .site = push->site,
                       .device = push->device,
                       .flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS,
                       .nwrites = n,
                       .writes = vars};
    return n ? neap_push_async(fn, arg, &timed) : NEAP_OK;
}

static int join_groups(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return NEAP_OK;
}

int neap_effects_order(neap_effects *effects, int kind, int own) {
    int status = check_effect_kind(kind);
    effects_scope *frame = effects->top;
    if (status || frame->own[kind] == !!own)
        return status;
    effects_token *from = &frame->tokens[own ? EFFECTS_COMMON : 1 + kind];
    effects_token *to = &frame->tokens[own ? 1 + kind : EFFECTS_COMMON];
    if (from->var) {
        status = token_make(to);
        neap_push push = {.name = "effects.order",
                          .flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS,
                          .nreads = 1,
                          .reads = &from->var,
                          .nwrites = 1,
                          .writes = &to->var};
        if (!status)
            status = neap_push_sync(join_groups, NULL, &push);
    }
    if (!status)
        frame->own[kind] = own;
    return status;
}

int neap_effects_own(const neap_effects *effects, int kind) {
    return effects->top->own[kind];
}

/* ---- Effects ----------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t failures; /* of the process */

uint64_t neap_effects_failures(void) {
    return atomic_load_explicit(&failures, memory_order_relaxed);
}

void neap_effects_failed(void) {
    atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
}

void neap_effects_report(const char *site, const char *name, const char *text) {
    char line[1400], mark[32] = "";
    int rank, size;
    if (engine_comm_launched(&rank, &size))
        snprintf(mark, sizeof mark, "[process %d] ", rank);
    int length = snprintf(line, sizeof line, "%s%s%s%s%s%s\n", mark, site ? site : "", site ? ": " : "",
                          name ? name : "", name ? ": " : "", text);
    size_t bytes = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    line[bytes - 1] = '\n';
    neap_effects_failed();
    neap_out_write(NEAP_STDERR, line, bytes);
}

static int perform_effect(void *arg, const neap_run *run) {
    effect *e = arg;
    engine_thread *self = engine_self();
    uint64_t errors = self->errors;
    uint32_t before = neap_out_set_source(e->source);
    int status = e->fn(e->arg, run);
    if (status < 0)
        neap_effects_report(e->site, e->name, self->errors != errors ? self->text : neap_status_text(status));
    neap_out_set_source(before);
    return NEAP_OK;
}

static void release_effect(void *arg) {
    effect *e = arg;
    effects_scope *frame = e->frame;
    int output = e->output;
    if (e->release)
        e->release(e->arg);
    engine_slab_put(&effect_slab, e);
    effects_happened(frame, output);
}

int effects_check(neap_effects *effects, const neap_push *push) {
    int status = engine_check_running();
    neap_effects_adopt(effects);
    if (!status && (push->device < 0 || push->device >= effects->devices))
        status = neap_error(NEAP_E_ARGUMENT, "effect on device %d of %d", push->device, effects->devices);
    return status;
}

/* Inside a callback an effect is not joined with other ops: one of them could wait for the results of the callback,
 * which waits for the effect. */
static int push_apart(neap_effects *effects, effect *e, const neap_push *push) {
    bool apart = effects->top->request;
    if (apart)
        engine_bulk_flush(engine_self());
    int status = neap_push_sync(perform_effect, e, push);
    if (apart)
        engine_bulk_flush(engine_self());
    return status;
}

int neap_effects_push(neap_effects *effects, int kind, int ordered, neap_sync_fn fn, void *arg, const neap_push *push) {
    int status = effects_check(effects, push);
    effects_token *token = NULL;
    if (!status)
        status = check_effect_kind(kind);
    if (!status && push->nwrites != 0)
        status = neap_error(NEAP_E_ARGUMENT, "an effect writes its token and nothing else");
    if (!status && !fn)
        status = neap_error(NEAP_E_ARGUMENT, "push without a function");
    int ntokens = !status && ordered ? effects_tokens_get(effects, 1 << kind, &token) : status;
    if (ntokens < 0)
        return ntokens;
    effect *e = engine_slab_get(&effect_slab);
    if (!e)
        return neap_error(NEAP_E_MEMORY, "no memory for an effect");
    int output = ordered ? EFFECTS_ORDERED : push->device;
    *e = (effect){fn, arg, push->release, push->name, push->site, effects->top, output, neap_out_source()};
    neap_push timed = *push;
    timed.release = release_effect;
    timed.flags |= NEAP_PUSH_ALWAYS | NEAP_PUSH_SMALL; /* small: with nothing to wait for it runs at once */
    timed.nwrites = ntokens;
    timed.writes = token ? &token->var : NULL;
    effects_announce(effects, output);
    status = push_apart(effects, e, &timed);
    if (status) {
        effects_withdraw(effects, output);
        engine_slab_put(&effect_slab, e);
        return status;
    }
    effects_count_push(effects, ntokens, &token, push->device);
    return NEAP_OK;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static bool is_pending(neap_effects *effects) {
    engine_lock_take(&effects->lock);
    bool pending = effects->top->happened < effects->top->pushed;
    engine_lock_drop(&effects->lock);
    return pending;
}

/* NEAP_OK: the innermost frame's effects have happened. NEAP_PENDING: the waker is woken when they have, or when a
 * callback waits for the user thread. */
static int watch_effects(neap_effects *effects, neap_waker *waker) {
    if (!is_pending(effects))
        return NEAP_OK;
    engine_watch *made = engine_watch_new(waker);
    if (!made)
        return NEAP_PENDING;
    engine_lock_take(&effects->lock);
    effects_scope *frame = effects->top;
    bool pending = frame->happened < frame->pushed, called = neap_effects_requested(effects);
    if (pending && !called)
        made = engine_watch_add(&frame->watches, made, waker, frame->pushed);
    engine_lock_drop(&effects->lock);
    free(made);
    if (pending && called)
        neap_waker_wake(waker);
    return pending ? NEAP_PENDING : NEAP_OK;
}

int neap_effects_poll(neap_effects *effects, neap_waker *waker) {
    int status = engine_check_alive();
    neap_effects_adopt(effects);
    if (!status)
        engine_bulk_flush(engine_self());
    if (!status)
        status = waker ? watch_effects(effects, waker) : is_pending(effects) ? NEAP_PENDING : NEAP_OK;
    return status ? status : neap_out_poll(waker);
}

/* Blocks until the innermost frame's effects have happened or a callback waits for this thread. Without memory for a
 * waker it looks again and again, at leisure. */
static void wait_for_scope(neap_effects *effects) {
    while (is_pending(effects) && !neap_effects_requested(effects)) {
        neap_waker *waker = engine_waker_local();
        if (waker && watch_effects(effects, waker) == NEAP_PENDING) {
            engine_waker_block(waker, NULL);
        } else if (neap_engine_help(NAP_NS) == 0) {
            nanosleep(&(struct timespec){0, NAP_NS}, NULL);
        }
        neap_waker_free(waker);
    }
}

/* Not in a fork's child, and not inside an op. What this thread has joined goes its way. */
static bool may_wait(void) {
    if (engine_check_alive() != NEAP_OK || engine_self()->depth > 0)
        return false;
    engine_bulk_flush(engine_self());
    return true;
}

void neap_effects_drain(neap_effects *effects) {
    neap_effects_adopt(effects);
    if (!may_wait())
        return;
    wait_for_scope(effects);
    neap_out_drain();
}

void neap_effects_free(neap_effects *effects) {
    if (!effects)
        return;
    if (may_wait()) {
        effects_end_requests(effects);
        wait_for_scope(effects);
    }
    effects_scope_clear(&effects->root);
    neap_waker_free(effects->waker);
    free(effects);
}
