/* effects_internal.h: the structures that effects.c and callback.c share.
 *
 *      neap_effects   top ──▶ frame of an open callback ──outer──▶ … ──outer──▶ root
 *                     first ─▶ request ─▶ request          callbacks that wait for the user thread
 *
 * A *frame* is where effects are pushed: the root, or the frame of an open callback. It has the tokens of its order
 * groups and counts its effects. A callback's op completes when its frame is closed and all effects of it have
 * happened.
 *
 * Invariants: only the user thread pushes, opens and closes, so tokens and order groups are plain fields; counts,
 * watches and the queue belong to the store's lock. Nobody who counted an effect of a frame as happened touches the
 * frame again, but the one who finds it over: it is then his to free.
 */
#ifndef NEAP_EFFECTS_INTERNAL_H
#define NEAP_EFFECTS_INTERNAL_H

#include "effects/effects.h"
#include "engine/comm/comm.h"
#include "engine/op_internal.h"

/* Order groups: the common one, and one for each kind that has an order of its own. */
enum { EFFECTS_COMMON, EFFECTS_GROUPS = 1 + NEAP_EFFECT_MOST, EFFECTS_ORDERED = -1 };

typedef struct effects_token {
    neap_var *var; /* NULL: nothing was pushed to this group yet */
    int device;    /* of its last effect; -1: none */
} effects_token;

typedef struct effects_scope {
    neap_effects *store;
    neap_request *request;       /* whose frame it is; NULL: the root */
    struct effects_scope *owner; /* the scope in which the request was pushed */
    int level;                   /* one more than that of `owner`; 0: the root */
    uint64_t place;              /* the number of the request among those of `owner`, from 1 on */
    uint64_t places;             /* requests ever pushed into this one */
    struct effects_scope *outer; /* that was the top when this one was opened */
    effects_token tokens[EFFECTS_GROUPS];
    bool own[NEAP_EFFECT_MOST];
    bool closed;
    uint64_t pushed, happened;
    engine_watch *watches; /* on `happened` */
} effects_scope;

struct neap_effects {
    engine_lock lock;
    _Atomic int requested; /* may the first of the queue be taken? NEAP_REQUESTED…; 0: no */
    bool ended;            /* callbacks fail instead of entering the queue */
    neap_waker *waker;
    effects_scope root, *top;
    neap_request *first, *last; /* in program order */
    neap_effects_counts counts;
    int devices;
    uint64_t outstanding[]; /* output tokens: unordered effects of each device that have not happened yet */
};

/* The root if request is NULL, else a frame for a request that is about to be pushed into the innermost frame. */
void effects_scope_init(effects_scope *frame, neap_effects *store, neap_request *request);
void effects_scope_clear(effects_scope *frame);

/* Checks a push of any sort, before which text of C code has its place. */
int effects_check(neap_effects *effects, const neap_push *push);
/* The tokens that order effects of these kinds (a bit each) in the innermost frame, each once: there must be room for
 * NEAP_EFFECT_MOST, or for one if there is one kind. Returns their number, or a status. */
int effects_tokens_get(neap_effects *effects, int kinds, effects_token **tokens);
/* Pushes an op that holds these tokens from when their turn comes until it completes, with the name, the site and the
 * device of `push`; none if there are no tokens. */
int effects_tokens_push(neap_async_fn fn, void *arg, int n, effects_token *const *tokens, const neap_push *push);
/* Counts an effect that is about to be pushed into the innermost frame, or takes that back. `device`: of its output
 * token, or EFFECTS_ORDERED. */
void effects_announce(neap_effects *effects, int device);
void effects_withdraw(neap_effects *effects, int device);
/* Counts what was pushed; unordered effects have no tokens. */
void effects_count_push(neap_effects *effects, int n, effects_token *const *tokens, int device);
/* An effect of the frame has happened: completes the callback whose last one it was, and so on outwards. */
void effects_happened(effects_scope *frame, int device);

/* neap_effects_alternate, with that communicator. Without one, and without `advance`: neap_effects_request. */
int effects_alternate(neap_effects *effects, engine_comm *comm, int kinds, neap_sync_fn advance, void *arg,
                      const neap_push *push);
/* Completes a callback all of whose effects have happened. Returns the frame that it was pushed into, where it now
 * counts as happened; *device as in effects_happened. Frees the request. Work that goes on is not complete: NULL. */
effects_scope *effects_request_over(neap_request *request, int *device);
/* The session ends: every request that was not taken, also those to come, and every open callback fails. */
void effects_end_requests(neap_effects *effects);

#endif
