/* thread.c: what the engine keeps per thread.
 *
 * Each thread that calls the engine has a block of thread-local storage: its error text, its nesting of running ops,
 * and its share of the counters. Counters are written by their own thread only, so counting costs no locked
 * instruction; neap_engine_count adds up the living threads and what finished ones left behind.
 */
#include "engine/op_internal.h"

#include <pthread.h>
#include <string.h>

_Thread_local engine_thread *engine_thread_current __attribute__((tls_model("initial-exec")));
static _Thread_local engine_thread storage;

static struct {
    engine_lock lock;
    engine_thread *first;
    neap_engine_counts finished; /* of threads that ended */
    uint64_t begun, ended;       /* by such threads */
} threads;

/* What others keep in a thread's block, and have to end with the thread. */
static void (*_Atomic leavers[ENGINE_LEAVERS])(engine_thread *self);

void engine_thread_on_end(int which, void (*leave)(engine_thread *self)) {
    atomic_store_explicit(&leavers[which], leave, memory_order_release);
}

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void add_thread_counts(neap_engine_counts *sum, engine_thread *thread) {
    sum->pushed += atomic_load_explicit(&thread->pushed, memory_order_relaxed);
    sum->completed += atomic_load_explicit(&thread->completed, memory_order_relaxed);
    sum->inlined += atomic_load_explicit(&thread->inlined, memory_order_relaxed);
    sum->skipped += atomic_load_explicit(&thread->skipped, memory_order_relaxed);
}

static void detach_thread(void *pointer) {
    engine_thread *self = pointer;
    if (engine_phase() == ENGINE_DEAD)
        return; /* the list may have been locked when the process forked */
    for (int which = 0; which < ENGINE_LEAVERS; which++) {
        void (*leave)(engine_thread *) = atomic_load_explicit(&leavers[which], memory_order_acquire);
        if (leave)
            leave(self);
    }
    engine_lock_take(&threads.lock);
    add_thread_counts(&threads.finished, self);
    threads.begun += atomic_load_explicit(&self->begun, memory_order_relaxed);
    threads.ended += atomic_load_explicit(&self->ended, memory_order_relaxed);
    if (self->next)
        self->next->previous = self->previous;
    *(self->previous ? &self->previous->next : &threads.first) = self->next;
    engine_lock_drop(&threads.lock);
    memset(self, 0, sizeof *self); /* a later destructor of this thread may attach it again */
    engine_thread_current = NULL;
}

static void make_exit_key(void) {
    pthread_key_create(&exit_key, detach_thread);
}

engine_thread *engine_thread_attach(void) {
    engine_thread *self = &storage;
    self->worker = -1;
    self->naive_tail = &self->naive;
    engine_thread_current = self;
    if (engine_phase() == ENGINE_DEAD)
        return self;
    pthread_once(&exit_once, make_exit_key);
    pthread_setspecific(exit_key, self);
    engine_lock_take(&threads.lock);
    self->next = threads.first;
    if (threads.first)
        threads.first->previous = self;
    threads.first = self;
    engine_lock_drop(&threads.lock);
    return self;
}

void neap_engine_count(neap_engine_counts *out) {
    *out = (neap_engine_counts){0};
    if (engine_phase() == ENGINE_DEAD)
        return;
    engine_lock_take(&threads.lock);
    *out = threads.finished;
    for (engine_thread *thread = threads.first; thread; thread = thread->next)
        add_thread_counts(out, thread);
    engine_lock_drop(&threads.lock);
}

/* What has ended is added up before what has begun, and both only grow: if they are equal, nothing was under way at the
 * moment between. */
bool engine_thread_idle(void) {
    engine_lock_take(&threads.lock);
    uint64_t ended = threads.ended, begun = threads.begun;
    for (engine_thread *thread = threads.first; thread; thread = thread->next)
        ended += atomic_load(&thread->ended);
    for (engine_thread *thread = threads.first; thread; thread = thread->next)
        begun += atomic_load(&thread->begun);
    engine_lock_drop(&threads.lock);
    return ended == begun;
}
