/* kinds.c: the kinds of effects: those that neap has, and those that programs declare.
 *
 * A kind is a number, its name a word. Both belong to the process, not to a token store: a kind means the same in all
 * stores, and each store has its own order for it. Kinds are never taken back. Numbers are given out under a mutex and
 * read without one: the name of a kind is there before the count says that the kind is.
 */
#include "effects/effects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine_internal.h"

enum { NAME_BYTES = 32 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int known = NEAP_EFFECT_KINDS;
static char names[NEAP_EFFECT_MOST][NAME_BYTES] = {
#define EFFECT_NAME(NAME, name) name,
    NEAP_EFFECT_ROWS(EFFECT_NAME)
#undef EFFECT_NAME
};

const char *neap_effect_name(int kind) {
    return kind >= 0 && kind < atomic_load_explicit(&known, memory_order_acquire) ? names[kind] : NULL;
}

/* The kind of this name, or NEAP_EFFECT_MOST. */
static int find_kind(const char *name) {
    int n = atomic_load_explicit(&known, memory_order_acquire), kind = 0;
    while (kind < n && strcmp(name, names[kind]) != 0)
        kind++;
    return kind < n ? kind : NEAP_EFFECT_MOST;
}

int neap_effect_parse(const char *name) {
    char list[NEAP_EFFECT_MOST * (NAME_BYTES + 2)] = "";
    int kind = find_kind(name);
    if (kind < NEAP_EFFECT_MOST)
        return kind;
    for (const char *at; (at = neap_effect_name(kind - NEAP_EFFECT_MOST)); kind++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", at);
    }
    return neap_error(NEAP_E_ARGUMENT,
                      "no kind of effects is called '%s': there are %s; np.effects.kind(name) makes a further one",
                      name, list);
}

static int check_kind_name(const char *name) {
    size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    if (letters > 0 && letters < NAME_BYTES && name[letters] == '\0')
        return NEAP_OK;
    return neap_error(NEAP_E_ARGUMENT,
                      "a kind of effects is called by 1 to %d letters, digits, '_', '-' and '.', got '%.60s'",
                      NAME_BYTES - 1, name);
}

int neap_effect_declare(const char *name) {
    int status = check_kind_name(name);
    if (status)
        return status;
    pthread_mutex_lock(&mutex);
    int kind = find_kind(name), n = atomic_load_explicit(&known, memory_order_relaxed);
    if (kind == NEAP_EFFECT_MOST && n < NEAP_EFFECT_MOST) {
        kind = n;
        memcpy(names[kind], name, strlen(name) + 1);
        atomic_store_explicit(&known, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
    if (kind < NEAP_EFFECT_MOST)
        return kind;
    return neap_error(NEAP_E_ARGUMENT, "no room for a kind of effects '%s': there are %d already", name,
                      NEAP_EFFECT_MOST);
}
