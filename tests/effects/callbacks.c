/* callbacks.c: effects that the user thread does itself: their place in the order, what they push, nesting, failure,
 * and the end of a session. The user thread is the test's own loop. */
#include "effects/effects.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static neap_effects *effects;
static neap_waker *waker;
static char transcript[4096];
static engine_lock transcript_lock;
static _Atomic int may_go, released;

static void write_down(const char *word) {
    engine_lock_take(&transcript_lock);
    strcat(strcat(transcript, word), " ");
    engine_lock_drop(&transcript_lock);
}

/* Checks the transcript and starts a new one. */
static int transcript_is(const char *expected) {
    engine_lock_take(&transcript_lock);
    int same = strcmp(transcript, expected) == 0;
    if (!same)
        fprintf(stderr, "'%s' is not '%s'\n", transcript, expected);
    transcript[0] = '\0';
    engine_lock_drop(&transcript_lock);
    return same;
}

static int note(void *arg, const neap_run *run) {
    (void)run;
    write_down(arg);
    return 0;
}

static int do_nothing(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return 0;
}

static void keep_completion(void *arg, const neap_run *run, neap_completion *done) {
    (void)run;
    *(neap_completion **)arg = done;
}

static int wait_for_leave(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    while (!may_go)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    return 0;
}

static int fail(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "no such shape");
}

static void release_one(void *arg) {
    (void)arg;
    released++;
}

static neap_var *new_var(void) {
    neap_var *var = NULL;
    CHECK_EQ(neap_var_new(&var), NEAP_OK);
    return var;
}

/* A variable whose first write ends when may_go is set. */
static neap_var *new_slow_var(void) {
    neap_var *var = new_var();
    may_go = 0;
    CHECK_EQ(neap_push_sync(wait_for_leave, NULL, &(neap_push){.nwrites = 1, .writes = &var}), NEAP_OK);
    return var;
}

static neap_var *new_failed_var(void) {
    neap_var *var = new_var();
    CHECK_EQ(neap_push_sync(fail, NULL, &(neap_push){.name = "op", .nwrites = 1, .writes = &var}), NEAP_OK);
    return var;
}

static void print(const char *word, neap_var *read) {
    neap_push push = {.name = "print", .nreads = read != NULL, .reads = &read};
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 1, note, (void *)word, &push), NEAP_OK);
}

typedef struct callback {
    const char *word;
    int (*body)(void); /* NULL: nothing but the word */
} callback;

static void request_flags(callback *what, int ordered, neap_var *read, neap_var *write, uint32_t flags) {
    neap_push push = {.name = "callback",
                      .site = "script.lua:7",
                      .release = release_one,
                      .flags = flags,
                      .nreads = read != NULL,
                      .reads = &read,
                      .nwrites = write != NULL,
                      .writes = &write};
    CHECK_EQ(neap_effects_request(effects, ordered ? 1 << NEAP_EFFECT_CALLBACK : 0, what, &push), NEAP_OK);
}

static void request(callback *what, neap_var *read, neap_var *write) {
    request_flags(what, 1, read, write, 0);
}

static void call_back(neap_request *taken) {
    callback *what = neap_request_arg(taken);
    write_down(what->word);
    int status = what->body ? what->body() : 0;
    CHECK_EQ(neap_request_end(effects, taken, status), NEAP_OK);
}

static void call_back_all(void) {
    neap_request *taken;
    while ((taken = neap_request_take(effects)))
        call_back(taken);
}

/* What the user thread does while it waits for `poll` to say anything but NEAP_PENDING. */
static int pump(int (*poll)(void *arg), void *arg) {
    for (;;) {
        neap_waker_clear(waker);
        call_back_all();
        int status = poll(arg);
        if (status != NEAP_PENDING)
            return status;
        CHECK_EQ(neap_waker_sleep(waker, 20000), 1);
    }
}

static int poll_var(void *var) {
    return neap_var_poll(var, waker);
}

static int poll_effects(void *unused) {
    (void)unused;
    return neap_effects_poll(effects, waker);
}

static void barrier(void) {
    CHECK_EQ(pump(poll_effects, NULL), NEAP_OK);
}

static void wait_for_request(void) {
    for (int i = 0; i < 20000 && !neap_effects_requested(effects); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK(neap_effects_requested(effects));
}

/* ---- Place and results ------------------------------------------------------------------------------------------- */

static void in_its_place(void) {
    neap_var *result = new_var(), *after = new_var();
    callback one = {"one", NULL}, two = {"two", NULL};
    released = 0;
    print("before", NULL);
    CHECK_EQ(neap_effects_requested(effects), 0);
    request(&one, NULL, result);
    request(&two, NULL, NULL);
    neap_push push = {.nreads = 1, .reads = &result, .nwrites = 1, .writes = &after};
    CHECK_EQ(neap_push_sync(do_nothing, NULL, &push), NEAP_OK);
    print("after", after);
    wait_for_request();
    CHECK_EQ(neap_effects_poll(effects, NULL), NEAP_PENDING);
    CHECK_EQ(neap_var_poll(result, NULL), NEAP_PENDING);
    CHECK_EQ(pump(poll_var, result), NEAP_OK);
    CHECK_EQ(pump(poll_var, after), NEAP_OK);
    barrier();
    CHECK(transcript_is("before one two after "));
    CHECK_EQ(released, 2);
    CHECK(neap_request_take(effects) == NULL);
    neap_var_delete(result);
    neap_var_delete(after);
}

/* Requests wait for inputs and for the token; the waker is woken when one may be taken. */
static void waits_for_inputs(void) {
    neap_var *slow = new_slow_var();
    callback one = {"one", NULL}, two = {"two", NULL}, free_one = {"unordered", NULL};
    neap_waker_clear(waker);
    request(&one, slow, NULL);
    request(&two, NULL, NULL);
    CHECK_EQ(neap_effects_requested(effects), 0);
    CHECK_EQ(neap_waker_sleep(waker, 0), 0);
    request_flags(&free_one, 0, NULL, NULL, 0);
    CHECK(neap_effects_requested(effects));
    CHECK_EQ(neap_waker_sleep(waker, 0), 1);
    CHECK_EQ(neap_effects_outstanding(effects, 0), 1);
    call_back_all();
    CHECK_EQ(neap_effects_outstanding(effects, 0), 0);
    neap_waker_clear(waker);
    may_go = 1;
    CHECK_EQ(neap_waker_sleep(waker, 20000), 1);
    barrier();
    CHECK(transcript_is("unordered one two "));
    neap_var_delete(slow);
}

/* ---- What a callback pushes -------------------------------------------------------------------------------------- */

static neap_var *slow_inside;

static int print_slowly(void) {
    print("slow", slow_inside);
    neap_push push = {.name = "print", .nreads = 1, .reads = &slow_inside};
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 0, note, "slow-too", &push), NEAP_OK);
    CHECK_EQ(neap_effects_poll(effects, NULL), NEAP_PENDING);
    return 0;
}

/* The results are there, and later effects run, only when the effects of the callback have happened. */
static void completes_after_its_effects(void) {
    neap_var *result = new_var();
    callback one = {"one", print_slowly};
    slow_inside = new_slow_var();
    request(&one, NULL, result);
    print("after", NULL);
    wait_for_request();
    call_back_all();
    CHECK_EQ(neap_var_poll(result, NULL), NEAP_PENDING);
    CHECK_EQ(neap_effects_poll(effects, NULL), NEAP_PENDING);
    CHECK(transcript_is("one "));
    may_go = 1;
    barrier();
    CHECK_EQ(neap_var_poll(result, NULL), NEAP_OK);
    CHECK(strlen(transcript) == strlen("slow slow-too after ") && strcmp(transcript + 14, "after ") == 0);
    transcript[0] = '\0';
    neap_var_delete(slow_inside);
    neap_var_delete(result);
}

static neap_var *never_before;

static int wait_inside(void) {
    print("inside", NULL);
    barrier(); /* for the effects of this callback, not for those before or after it */
    CHECK(!may_go);
    return 0;
}

static void waits_for_its_own(void) {
    callback one = {"one", wait_inside};
    never_before = new_slow_var();
    CHECK_EQ(neap_effects_order(effects, NEAP_EFFECT_CALLBACK, 1), NEAP_OK);
    print("before", never_before);
    request(&one, NULL, NULL);
    wait_for_request();
    call_back_all();
    CHECK(transcript_is("one inside "));
    may_go = 1;
    barrier();
    CHECK(transcript_is("before "));
    CHECK_EQ(neap_effects_order(effects, NEAP_EFFECT_CALLBACK, 0), NEAP_OK);
    neap_var_delete(never_before);
}

/* ---- Nesting ----------------------------------------------------------------------------------------------------- */

enum { DEEP = 50 };
static int depth;
static callback nested_callback;

static int nest(void) {
    char *words[] = {"even", "odd"};
    if (++depth == DEEP) {
        depth = 0;
        return 0;
    }
    neap_var *result = new_var();
    int mine = depth;
    print(words[mine % 2], NULL);
    request(&nested_callback, NULL, result);
    print("-", NULL);
    if (mine % 2) /* every other level waits; the others end before the callback that they requested */
        CHECK_EQ(pump(poll_var, result), NEAP_OK);
    neap_var_delete(result);
    return 0;
}

static void nesting(void) {
    nested_callback = (callback){"(", nest};
    request(&nested_callback, NULL, NULL);
    print("end", NULL);
    barrier();
    char expected[4096] = "";
    for (int i = 1; i <= DEEP; i++)
        strcat(strcat(expected, "( "), i == DEEP ? "" : i % 2 ? "odd " : "even ");
    for (int i = 1; i < DEEP; i++)
        strcat(expected, "- ");
    CHECK(transcript_is(strcat(expected, "end ")));
    CHECK_EQ(depth, 0);
}

/* While a callback is open, one that comes later in the program has to wait, but not one that came before it or that
 * belongs to it; and only the innermost can be ended. */
static void innermost_only(void) {
    callback words[] = {{"early", NULL}, {"open", NULL}, {"late", NULL}, {"own", NULL}};
    neap_var *input = new_var();
    neap_request *open, *own, *early;
    request_flags(&words[1], 0, NULL, NULL, 0);
    request_flags(&words[2], 0, NULL, NULL, 0);
    open = neap_request_take(effects);
    CHECK(open && neap_request_arg(open) == &words[1]);
    CHECK_EQ(neap_effects_requested(effects), 0);
    CHECK(neap_request_take(effects) == NULL);
    request_flags(&words[3], 0, NULL, NULL, 0);
    CHECK_EQ(neap_effects_requested(effects), NEAP_REQUESTED_INSIDE);
    own = neap_request_take(effects);
    CHECK(own && neap_request_arg(own) == &words[3]);
    CHECK_EQ(neap_request_end(effects, open, 0), NEAP_E_STATE);
    CHECK_EQ(neap_request_end(effects, NULL, 0), NEAP_E_STATE);
    CHECK_EQ(neap_request_end(effects, own, 0), NEAP_OK);
    CHECK(neap_request_take(effects) == NULL);
    CHECK_EQ(neap_request_end(effects, open, 0), NEAP_OK);
    CHECK(neap_effects_requested(effects));
    barrier();
    CHECK(transcript_is("late "));
    neap_completion *gate_done = NULL;
    CHECK_EQ(neap_push_async(keep_completion, &gate_done, &(neap_push){.flags = 1, .nwrites = 1, .writes = &input}), 0);
    request_flags(&words[0], 0, input, NULL, 0);
    request_flags(&words[1], 0, NULL, NULL, 0);
    open = neap_request_take(effects);
    CHECK(open && neap_request_arg(open) == &words[1] && gate_done);
    neap_complete(gate_done, NEAP_OK);
    wait_for_request();
    CHECK_EQ(neap_effects_requested(effects), NEAP_REQUESTED);
    early = neap_request_take(effects);
    CHECK(early && neap_request_arg(early) == &words[0]);
    CHECK_EQ(neap_request_end(effects, early, 0), NEAP_OK);
    CHECK_EQ(neap_request_end(effects, open, 0), NEAP_OK);
    barrier();
    CHECK(transcript_is(""));
    neap_var_delete(input);
}

/* Callbacks that request each other without end are refused at some depth; those that are there come to their end. */
static void too_deep(void) {
    static callback same = {"again", NULL};
    neap_request *open[NEAP_CALLBACKS_DEEPEST];
    for (int k = 0; k < NEAP_CALLBACKS_DEEPEST; k++) {
        request(&same, NULL, NULL);
        open[k] = neap_request_take(effects);
        CHECK(open[k] != NULL);
    }
    CHECK_EQ(neap_effects_request(effects, 1, &same, &(neap_push){.name = "callback"}), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "callbacks are nested too deep: there are 200 inside each other");
    for (int k = NEAP_CALLBACKS_DEEPEST - 1; k >= 0; k--)
        CHECK_EQ(neap_request_end(effects, open[k], 0), NEAP_OK);
    barrier();
    request(&same, NULL, NULL);
    barrier();
    CHECK(transcript_is("again "));
}

/* ---- Failure ----------------------------------------------------------------------------------------------------- */

/* Runs `body` and returns what was written to stderr. */
static const char *stderr_of(void (*body)(void)) {
    static char text[1024];
    int pipes[2], saved = dup(2);
    CHECK_EQ(pipe(pipes), 0);
    neap_out_drain();
    dup2(pipes[1], 2);
    body();
    neap_out_drain();
    dup2(saved, 2);
    close(pipes[1]), close(saved);
    ssize_t bytes = read(pipes[0], text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(pipes[0]);
    return text;
}

static int raise(void) {
    print("inside", slow_inside);
    return neap_error(NEAP_E_FAILED, "callback raised");
}

static int tell_place(void *arg, const neap_run *run) {
    (void)run;
    return neap_out_write(NEAP_STDERR, arg, strlen(arg));
}

static void fails_without_results(void) {
    callback one = {"one", raise};
    slow_inside = new_slow_var();
    request(&one, NULL, NULL);
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 1, tell_place, "later\n", &(neap_push){0}), NEAP_OK);
    wait_for_request();
    call_back_all();
    neap_error(NEAP_E_IO, "another error"); /* the text is kept */
    may_go = 1;
    barrier();
    neap_var_delete(slow_inside);
}

static void failing(void) {
    const char *text = stderr_of(fails_without_results);
    CHECK(strcmp(text, "script.lua:7: callback: callback raised\nlater\n") == 0);
    CHECK(transcript_is("one inside "));
    callback one = {"one", raise};
    neap_var *result = new_var();
    slow_inside = new_var();
    request(&one, NULL, result);
    print("after", NULL);
    barrier();
    CHECK_EQ(neap_var_poll(result, NULL), NEAP_E_FAILED);
    CHECK_TEXT(neap_error_text(), "script.lua:7: callback: callback raised");
    CHECK_EQ(neap_wait_all(), NEAP_E_FAILED);
    CHECK(transcript_is("one inside after "));
    neap_var_delete(result);
    neap_var_delete(slow_inside);
}

static void skipped(void) {
    callback one = {"one", NULL}, two = {"two", NULL}, three = {"three", NULL};
    neap_var *failed = new_failed_var(), *result = new_var(), *kept = new_var();
    released = 0;
    request(&one, failed, result);
    request(&two, failed, NULL);
    request_flags(&three, 1, failed, kept, NEAP_PUSH_ALWAYS);
    print("after", NULL);
    barrier();
    CHECK(transcript_is("three after "));
    CHECK_EQ(released, 3);
    CHECK_EQ(neap_var_poll(result, NULL), NEAP_E_SHAPE);
    CHECK_TEXT(neap_error_text(), "op: no such shape");
    CHECK_EQ(neap_var_poll(kept, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_E_SHAPE);
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* no token carries it */
    neap_var_delete(failed);
    neap_var_delete(result);
    neap_var_delete(kept);
}

/* ---- The end of a session ---------------------------------------------------------------------------------------- */

static neap_var *ended_results[3];

/* One request is open, one waits to be taken, one for its input. */
static void end_session(void) {
    neap_effects *outer = effects;
    callback words[] = {{"open", NULL}, {"queued", NULL}, {"late", NULL}, {"told", NULL}};
    CHECK_EQ(neap_effects_new(waker, &effects), NEAP_OK);
    neap_var *slow = new_slow_var();
    for (int i = 0; i < 3; i++)
        ended_results[i] = new_var();
    request_flags(&words[0], 0, NULL, ended_results[0], 0);
    request_flags(&words[1], 0, NULL, ended_results[1], 0);
    request(&words[2], slow, ended_results[2]);
    request(&words[3], NULL, NULL);
    CHECK(neap_request_take(effects) != NULL);
    print("from the open one", NULL);
    neap_effects_drain(effects); /* of the open callback only; does not wait for what nobody else could take */
    may_go = 1;
    neap_effects_free(effects);
    effects = outer;
    neap_var_delete(slow);
}

static void ending(void) {
    released = 0;
    const char *text = stderr_of(end_session);
    CHECK(strcmp(text, "script.lua:7: callback: the session ended\n") == 0);
    CHECK_EQ(released, 4);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(neap_var_wait_to_read(ended_results[i]), NEAP_E_STATE);
        CHECK_TEXT(neap_error_text(), "the session ended");
        neap_var_delete(ended_results[i]);
    }
    CHECK(transcript_is("from the open one "));
}

int main(void) {
    for (int naive = 0; naive < 2; naive++) {
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .scheduler = naive}), NEAP_OK);
        CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
        CHECK_EQ(neap_effects_new(waker, &effects), NEAP_OK);
        in_its_place();
        nesting();
        innermost_only();
        too_deep();
        skipped();
        if (!naive) { /* without threads nothing is slow */
            waits_for_inputs();
            completes_after_its_effects();
            waits_for_its_own();
            failing();
            ending();
        }
        neap_effects_counts counts;
        neap_effects_count(effects, &counts);
        CHECK_EQ(counts.outstanding, 0);
        CHECK(counts.callbacks > DEEP && counts.ordered > counts.callbacks);
        neap_effects_free(effects);
        neap_waker_free(waker);
        neap_engine_stop();
    }
    return check_end();
}
