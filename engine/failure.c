/* failure.c: failures of ops, which travel along variables.
 *
 * A failing op makes one record. The variables that the op writes refer to the record, and so does everything computed
 * from them. The record stays on a variable (neap_var_poll shows it) until a write begins anew, but only one wait
 * reports the failure, on whichever of the variables. A write pushed after the report begins anew: a reported failure
 * does not keep later work from being done. Ops pushed before the report inherit the failure, however late they run: so
 * each report begins an epoch, and an op knows the epoch of its push. Unreported records also stand in a list, from
 * which neap_wait_all takes the first. Whoever shows a failure without a wait says so (neap_var_told): then
 * neap_wait_all settles the failure, but returns another. The list keeps the oldest UNREPORTED_MOST of what nobody
 * knows and no more, so a program that never waits for all does not grow.
 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNREPORTED_MOST = 256 };

static struct {
    engine_lock lock;
    engine_failure *head;
    int count;
} unreported;

/* Every failure without memory for a record of its own. Never freed: it starts with a reference too many. */
static engine_failure nameless = {
    .refs = 1, .code = NEAP_E_MEMORY, .text = "an operation failed, and no memory to say more"};
static _Atomic bool nameless_unreported;

/* Takes the records that somebody knows off the list. The caller holds the lock, and releases the records. */
static engine_failure *prune(void) {
    engine_failure *gone = NULL, **link = &unreported.head;
    while (*link) {
        engine_failure *failure = *link;
        if (!atomic_load(&failure->reported) && !atomic_load(&failure->told)) {
            link = &failure->next;
            continue;
        }
        *link = failure->next;
        failure->next = gone;
        gone = failure;
        unreported.count--;
    }
    return gone;
}

static void release_list(engine_failure *list) {
    while (list) {
        engine_failure *next = list->next;
        engine_failure_release(list);
        list = next;
    }
}

static void append_unreported(engine_failure *failure) {
    engine_lock_take(&unreported.lock);
    engine_failure *gone = prune();
    if (unreported.count < UNREPORTED_MOST) {
        engine_failure **link = &unreported.head;
        while (*link)
            link = &(*link)->next;
        *link = engine_failure_retain(failure);
        unreported.count++;
    }
    engine_lock_drop(&unreported.lock);
    release_list(gone);
}

engine_failure *engine_failure_new(int code, const char *text, const char *name, const char *site) {
    const char *detail = text && text[0] ? text : neap_status_text(code);
    size_t bytes = strlen(detail) + (name ? strlen(name) + 2 : 0) + (site ? strlen(site) + 2 : 0) + 1;
    engine_failure *failure = engine_alloc(sizeof *failure + bytes);
    if (!failure) {
        atomic_store(&nameless_unreported, true);
        return engine_failure_retain(&nameless);
    }
    char *words = (char *)(failure + 1);
    *failure = (engine_failure){.refs = 1, .code = code, .text = words};
    snprintf(words, bytes, "%s%s%s%s%s", site ? site : "", site ? ": " : "", name ? name : "", name ? ": " : "",
             detail);
    append_unreported(failure);
    return failure;
}

engine_failure *engine_failure_retain(engine_failure *failure) {
    atomic_fetch_add_explicit(&failure->refs, 1, memory_order_relaxed);
    return failure;
}

void engine_failure_release(engine_failure *failure) {
    if (failure && atomic_fetch_sub_explicit(&failure->refs, 1, memory_order_acq_rel) == 1)
        free(failure);
}

int engine_failure_raise(engine_failure *failure) {
    return neap_error(failure->code, "%s", failure->text);
}

bool engine_failure_settled(const engine_failure *failure, uint32_t epoch) {
    uint32_t reported = atomic_load(&failure->reported);
    return reported != 0 && !engine_epoch_before(epoch, reported);
}

/* Begins an epoch, to tell later pushes from earlier ones. Whether the failure was not settled before. */
static bool settle_failure(engine_failure *failure) {
    uint32_t unreported = 0;
    return atomic_load(&failure->reported) == 0 &&
           atomic_compare_exchange_strong(&failure->reported, &unreported, engine_epoch_next());
}

int engine_failure_report(engine_failure *failure) {
    if (failure == &nameless) {
        atomic_store(&nameless_unreported, false);
        return engine_failure_raise(failure);
    }
    return settle_failure(failure) ? engine_failure_raise(failure) : NEAP_OK;
}

void engine_failure_tell(engine_failure *failure) {
    if (failure == &nameless)
        atomic_store(&nameless_unreported, false);
    else
        atomic_store(&failure->told, true);
}

int engine_failure_report_all(void) {
    engine_lock_take(&unreported.lock);
    engine_failure *list = unreported.head;
    unreported.head = NULL;
    unreported.count = 0;
    engine_lock_drop(&unreported.lock);
    int status = NEAP_OK;
    for (engine_failure *failure = list; failure; failure = failure->next) {
        if (status == NEAP_OK && !atomic_load(&failure->told))
            status = engine_failure_report(failure);
        else
            settle_failure(failure);
    }
    release_list(list);
    if (atomic_exchange(&nameless_unreported, false) && status == NEAP_OK)
        status = engine_failure_raise(&nameless);
    return status;
}
