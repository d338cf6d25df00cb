/* effects.c: ordered effects, as ops that write a token.
 *
 * The token is an engine variable, so effects of one store happen one after the other in the order of their pushes,
 * each as soon as what it reads is ready. A token never carries failure: effects are pushed with NEAP_PUSH_ALWAYS, and
 * one that fails tells so on stderr, in its place in the stream, and counts as happened.
 */
#include "effects/effects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"

struct neap_effects {
    neap_var *token;
};

typedef struct effect { /* what the engine runs; freed when the op is over */
    neap_sync_fn fn;
    void *arg;
    void (*release)(void *arg);
    const char *name, *site;
} effect;

static engine_slab effect_slab = {.bytes = sizeof(effect), .place = ENGINE_SLAB_EFFECT};

int neap_effects_new(neap_waker *waker, neap_effects **out) {
    (void)waker;
    neap_effects *effects = engine_alloc(sizeof *effects);
    if (!effects)
        return neap_error(NEAP_E_MEMORY, "no memory for a token store");
    int status = neap_var_new(&effects->token);
    if (status) {
        free(effects);
        return status;
    }
    *out = effects;
    return NEAP_OK;
}

void neap_effects_free(neap_effects *effects) {
    if (!effects)
        return;
    neap_var_wait_to_write(effects->token);
    neap_var_delete(effects->token);
    free(effects);
}

/* Writes "site: name: error" to stderr. */
static void tell_failure(const effect *e, int status, const char *text) {
    char line[1400];
    int length = snprintf(line, sizeof line, "%s%s%s%s%s\n", e->site ? e->site : "", e->site ? ": " : "",
                          e->name ? e->name : "", e->name ? ": " : "", text ? text : neap_status_text(status));
    size_t bytes = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    line[bytes - 1] = '\n';
    neap_out_write(NEAP_STDERR, line, bytes);
}

static int run_effect(void *arg, const neap_run *run) {
    effect *e = arg;
    engine_thread *self = engine_self();
    uint64_t errors = self->errors;
    int status = e->fn(e->arg, run);
    if (status < 0)
        tell_failure(e, status, self->errors != errors ? self->text : NULL);
    return NEAP_OK;
}

static void release_effect(void *arg) {
    effect *e = arg;
    if (e->release)
        e->release(e->arg);
    engine_slab_put(&effect_slab, e);
}

int neap_effects_push(neap_effects *effects, int kind, int ordered, neap_sync_fn fn, void *arg, const neap_push *push) {
    (void)kind, (void)ordered;
    if (push->nwrites != 0)
        return neap_error(NEAP_E_ARGUMENT, "an ordered effect writes its token and nothing else");
    if (!fn)
        return neap_error(NEAP_E_ARGUMENT, "push without a function");
    effect *e = engine_slab_get(&effect_slab);
    if (!e)
        return neap_error(NEAP_E_MEMORY, "no memory for an effect");
    *e = (effect){.fn = fn, .arg = arg, .release = push->release, .name = push->name, .site = push->site};
    neap_push timed = *push;
    timed.release = release_effect;
    timed.flags |= NEAP_PUSH_ALWAYS | NEAP_PUSH_SMALL; /* small: with nothing to wait for it runs at once */
    timed.nwrites = 1;
    timed.writes = &effects->token;
    int status = neap_push_sync(run_effect, e, &timed);
    if (status)
        engine_slab_put(&effect_slab, e);
    return status;
}

int neap_effects_poll(neap_effects *effects, neap_waker *waker) {
    int status = neap_var_poll(effects->token, waker);
    return status ? status : neap_out_poll(waker);
}

void neap_effects_drain(neap_effects *effects) {
    neap_var_wait_to_read(effects->token);
    neap_out_drain();
}
