/* callback.c: effects that the user thread does itself.
 *
 *                 ┌─ token op    writes the token ──────────────┐ both
 *      request ───┤                                             ├─started──▶ queue ──take──▶ open ──end──▶ closed
 *                 └─ results op  reads inputs, writes results ──┘              (its frame takes the effects pushed)
 *
 *      closed, and the last effect of its frame has happened ──▶ results op completes, then the token op
 *
 * Work with callbacks and collectives goes from thread to thread. It keeps its tokens, and its place among collectives,
 * until it ends:
 *
 *      started ──▶ communication thread ──at a callback──▶ queue ──take──▶ open ──end──▶ closed, its effects happened
 *                       │     ▲                                                              │
 *                       │     └──────────────────────────────────────────────────────────────┘
 *                       └──at its end──▶ both ops complete
 *
 * The two ops keep failure apart: the results op fails or is skipped as any op, the token op never does. They are
 * pushed one after the other; the token op reads nothing, so it waits for earlier effects of this store only, and no
 * other thread can come to stand between the two. An unordered request has no token op. A request is skipped when its
 * results op is: then it only lets the token pass.
 *
 * Requests are taken in program order as far as they are ready; while a callback is open, only those that come before
 * it or belong to it. A callback of a sound program waits for nothing else, so callbacks that nest cannot lock each
 * other.
 */
#include "effects/effects_internal.h"

#include <stdlib.h>
#include <string.h>

struct neap_request {
    effects_scope frame;              /* of the effects that are pushed while it is open */
    neap_request *previous, *next;    /* in the queue */
    neap_completion *token, *results; /* the two ops, once they have started */
    bool ordered, always, skipped, has_results;
    int device, status;
    char *text; /* of the failure; NULL: that of the status */
    void *arg;
    void (*release)(void *arg);
    const char *name, *site;
    neap_run run;             /* of the results op */
    neap_sync_fn advance;     /* of work with collectives; else NULL */
    engine_comm *comm;        /* whose thread runs that */
    bool away;                /* it has come to a callback */
    uint32_t source, outside; /* of its text; what the user thread's was before it was opened */
};

/* ---- Completing -------------------------------------------------------------------------------------------------- */

static void set_failure(neap_request *request, int status) {
    const char *text = neap_error_code() == status ? neap_error_text() : neap_status_text(status);
    request->status = status;
    request->text = engine_alloc(strlen(text) + 1);
    if (request->text)
        strcpy(request->text, text);
}

static int resume_work(neap_request *request);

/* The callback to which work has come is over. Goes on with the work, or tells the other processes that this one does
 * not: then false. */
static bool leave_callback(neap_request *request) {
    request->away = false;
    engine_comm_set_away(request->comm, false);
    if (request->status == NEAP_OK)
        return resume_work(request) == NEAP_OK;
    engine_comm_fail(request->comm, request->text ? request->text : neap_status_text(request->status));
    return false;
}

effects_scope *effects_request_over(neap_request *request, int *device) {
    effects_scope *owner = request->frame.owner;
    if (request->away && leave_callback(request))
        return NULL; /* nothing of the owner's has happened */
    int status = request->status;
    if (status < 0) {
        const char *text = request->text ? request->text : neap_status_text(status);
        if (request->has_results) {
            neap_error(status, "%s", text); /* this may be another thread than the one that said so first */
        } else if (status != NEAP_E_INTERRUPT) {
            uint32_t before = neap_out_set_source(request->source);
            neap_effects_report(request->site, request->name, text);
            neap_out_set_source(before);
        }
    }
    if (request->results)
        neap_complete(request->results, request->has_results ? status : NEAP_OK);
    if (request->token)
        neap_complete(request->token, NEAP_OK);
    *device = request->ordered ? EFFECTS_ORDERED : request->device;
    effects_scope_clear(&request->frame);
    free(request->text);
    free(request);
    return owner;
}

static void complete_request(neap_request *request) {
    int device = EFFECTS_ORDERED;
    effects_scope *owner = effects_request_over(request, &device);
    effects_happened(owner, device);
}

static void fail_ended(neap_request *request) {
    set_failure(request, neap_error(NEAP_E_STATE, "the session ended"));
    complete_request(request);
}

/* ---- The queue --------------------------------------------------------------------------------------------------- */
/* The callers hold the lock. */

enum { BEFORE, INSIDE, AFTER };

/* Where a stands to b in the program: a callback comes before what it pushes. */
static int relate(const effects_scope *a, const effects_scope *b) {
    uint64_t place_a = 0, place_b = 0;
    while (a != b) {
        if (a->level >= b->level) {
            place_a = a->place;
            a = a->owner;
        } else {
            place_b = b->place;
            b = b->owner;
        }
    }
    return place_b == 0 ? INSIDE : place_a < place_b ? BEFORE : AFTER;
}

/* Has to follow every change of the queue or the top. What comes after the innermost open callback must wait until that
 * is closed: it might wait for something that waits for the open one. */
static void look_at_first(neap_effects *store) {
    static const int told[] = {[BEFORE] = NEAP_REQUESTED, [INSIDE] = NEAP_REQUESTED_INSIDE, [AFTER] = 0};
    int requested = store->first ? told[relate(&store->first->frame, store->top)] : 0;
    atomic_store_explicit(&store->requested, requested, memory_order_relaxed);
}

/* Puts the request into its place, which is mostly the last one. */
static void enqueue_request(neap_effects *store, neap_request *request) {
    neap_request *before = store->last;
    while (before && relate(&request->frame, &before->frame) == BEFORE)
        before = before->previous;
    neap_request *after = before ? before->next : store->first;
    request->previous = before;
    request->next = after;
    *(before ? &before->next : &store->first) = request;
    *(after ? &after->previous : &store->last) = request;
    look_at_first(store);
}

/* Takes the first request, which becomes the innermost open callback. */
static neap_request *open_first(neap_effects *store) {
    neap_request *request = store->first;
    store->first = request->next;
    *(store->first ? &store->first->previous : &store->last) = NULL;
    request->frame.outer = store->top;
    store->top = &request->frame;
    request->outside = neap_out_set_source(request->source);
    look_at_first(store);
    return request;
}

/* ---- The two ops ------------------------------------------------------------------------------------------------- */

/* Wakes the user thread, wherever it waits, if there is a request for it. Drops the lock, which the caller holds. */
static void summon_user_thread(neap_effects *store) {
    if (!neap_effects_requested(store)) {
        engine_lock_drop(&store->lock);
        return;
    }
    engine_watch *due = engine_watch_take(&store->top->watches, UINT64_MAX);
    neap_waker *waker = store->waker ? engine_waker_retain(store->waker) : NULL;
    engine_lock_drop(&store->lock);
    engine_watch_fire(due);
    if (waker)
        neap_waker_wake(waker);
    neap_waker_free(waker);
}

/* Has the user thread take the request. Takes the lock. */
static void call_user_thread(neap_request *request) {
    neap_effects *store = request->frame.store;
    engine_lock_take(&store->lock);
    if (!store->ended) {
        enqueue_request(store, request);
        summon_user_thread(store);
        return;
    }
    engine_lock_drop(&store->lock);
    fail_ended(request);
}

/* On the communication thread: work goes on to its next callback, or to its end. */
static void advance_work(void *arg) {
    neap_request *request = arg;
    neap_run here = request->run;
    here.worker = -1;
    uint32_t before = neap_out_set_source(request->source);
    int status = request->advance(request->arg, &here);
    neap_out_set_source(before);
    if (status == NEAP_PENDING) {
        request->away = true;
        request->frame.closed = false; /* all its effects have happened, so nobody looks at it */
        engine_comm_set_away(request->comm, true);
        call_user_thread(request);
        return;
    }
    if (status < 0)
        set_failure(request, status);
    complete_request(request);
}

static int resume_work(neap_request *request) {
    int status = engine_comm_call(request->comm, advance_work, request);
    if (status == NEAP_OK)
        return status;
    set_failure(request, status);
    engine_comm_fail(request->comm, neap_error_text());
    return status;
}

/* Both ops of the request have started. */
static void start_request(neap_request *request) {
    if (!request->advance)
        call_user_thread(request);
    else if (resume_work(request) != NEAP_OK)
        complete_request(request);
}

/* One of the ops has started (done), or the results op was skipped (NULL). The second of them decides. */
static void note_request_start(neap_request *request, neap_completion **which, neap_completion *done) {
    neap_effects *store = request->frame.store;
    engine_lock_take(&store->lock);
    if (which) {
        *which = done;
    } else {
        request->skipped = true;
    }
    bool in_turn = !request->ordered || request->token;
    bool called = in_turn && request->results, passed = in_turn && request->skipped;
    engine_lock_drop(&store->lock);
    if (called) {
        start_request(request);
    } else if (passed) {
        complete_request(request);
    }
}

static void start_request_token(void *arg, const neap_run *run, neap_completion *done) {
    (void)run;
    neap_request *request = arg;
    note_request_start(request, &request->token, done);
}

static void start_request_results(void *arg, const neap_run *run, neap_completion *done) {
    neap_request *request = arg;
    request->run = *run;
    note_request_start(request, &request->results, done);
}

static void release_results(void *arg) {
    neap_request *request = arg;
    if (request->release)
        request->release(request->arg);
    if (!request->results)
        note_request_start(request, NULL, NULL);
}

/* Pushes both ops. Where the second is refused, the first stays behind as a request that is skipped: it lets the token
 * pass in its turn, and nothing else. */
static int push_request_ops(neap_request *request, int ntokens, effects_token *const *tokens, const neap_push *push) {
    int status = effects_tokens_push(start_request_token, request, ntokens, tokens, push);
    if (status) {
        free(request);
        return status;
    }
    neap_push timed = *push;
    timed.release = release_results;
    timed.flags |= NEAP_PUSH_SMALL;
    status = request->comm ? engine_comm_push_async(request->comm, start_request_results, request, &timed)
                           : neap_push_async(start_request_results, request, &timed);
    if (status && !ntokens) {
        free(request);
    } else if (status) {
        effects_announce(request->frame.store, EFFECTS_ORDERED); /* in place of the one that is taken back */
        note_request_start(request, NULL, NULL);
    }
    return status;
}

int effects_alternate(neap_effects *effects, engine_comm *comm, int kinds, neap_sync_fn advance, void *arg,
                      const neap_push *push) {
    effects_token *tokens[NEAP_EFFECT_MOST];
    int status = effects_check(effects, push);
    if (!status && effects->top->level >= NEAP_CALLBACKS_DEEPEST)
        status = neap_error(NEAP_E_STATE, "callbacks are nested too deep: there are %d inside each other",
                            NEAP_CALLBACKS_DEEPEST);
    int ntokens = status ? status : effects_tokens_get(effects, kinds, tokens);
    if (ntokens < 0)
        return ntokens;
    neap_request *request = engine_alloc(sizeof *request);
    if (!request)
        return neap_error(NEAP_E_MEMORY, "no memory for a callback");
    *request = (neap_request){.ordered = ntokens > 0,
                              .always = push->flags & NEAP_PUSH_ALWAYS,
                              .has_results = push->nwrites > 0,
                              .device = push->device,
                              .advance = advance,
                              .comm = comm,
                              .arg = arg,
                              .release = push->release,
                              .name = push->name,
                              .site = push->site,
                              .source = neap_out_source()};
    effects_scope_init(&request->frame, effects, request);
    int output = ntokens ? EFFECTS_ORDERED : push->device;
    effects_announce(effects, output);
    status = push_request_ops(request, ntokens, tokens, push);
    if (status) {
        effects_withdraw(effects, output);
        return status;
    }
    effects_count_push(effects, ntokens, tokens, push->device);
    effects->counts.callbacks++;
    return NEAP_OK;
}

int neap_effects_request(neap_effects *effects, int kinds, void *arg, const neap_push *push) {
    return effects_alternate(effects, NULL, kinds, NULL, arg, push);
}

int neap_effects_alternate(neap_effects *effects, int kinds, neap_sync_fn advance, void *arg, const neap_push *push) {
    return effects_alternate(effects, engine_comm_here(), kinds, advance, arg, push);
}

/* ---- The user thread's side -------------------------------------------------------------------------------------- */

int neap_effects_requested(neap_effects *effects) {
    return atomic_load_explicit(&effects->requested, memory_order_relaxed);
}

static bool is_cancelled(const neap_request *request) {
    return !request->always && neap_run_cancelled(&request->run);
}

neap_request *neap_request_take(neap_effects *effects) {
    if (!neap_effects_requested(effects) || engine_check_alive() != NEAP_OK)
        return NULL;
    neap_effects_adopt(effects);
    engine_bulk_flush(engine_self());
    for (;;) {
        engine_lock_take(&effects->lock);
        neap_request *request = neap_effects_requested(effects) ? open_first(effects) : NULL;
        engine_lock_drop(&effects->lock);
        if (!request || !is_cancelled(request))
            return request;
        neap_request_end(effects, request, neap_error(NEAP_E_INTERRUPT, "%s", neap_status_text(NEAP_E_INTERRUPT)));
    }
}

void *neap_request_arg(neap_request *request) {
    return request->arg;
}

const neap_run *neap_request_run(neap_request *request) {
    return &request->run;
}

int neap_request_end(neap_effects *effects, neap_request *request, int status) {
    int alive = engine_check_alive();
    if (alive)
        return alive;
    if (!request || effects->top->request != request)
        return neap_error(NEAP_E_STATE, "the callback that ends is not the innermost open one");
    if (status < 0)
        set_failure(request, status);
    neap_effects_adopt(effects);
    engine_bulk_flush(engine_self());
    effects_scope *frame = &request->frame;
    engine_lock_take(&effects->lock);
    effects->top = frame->outer;
    neap_out_set_source(request->outside);
    frame->closed = true;
    bool over = frame->happened == frame->pushed;
    look_at_first(effects);
    summon_user_thread(effects);
    if (over)
        complete_request(request);
    return NEAP_OK;
}

void effects_end_requests(neap_effects *effects) {
    while (effects->top != &effects->root)
        neap_request_end(effects, effects->top->request, neap_error(NEAP_E_STATE, "the session ended"));
    engine_lock_take(&effects->lock);
    effects->ended = true;
    neap_request *waiting = effects->first;
    effects->first = effects->last = NULL;
    atomic_store_explicit(&effects->requested, 0, memory_order_relaxed);
    engine_lock_drop(&effects->lock);
    while (waiting) {
        neap_request *next = waiting->next;
        fail_ended(waiting);
        waiting = next;
    }
}
