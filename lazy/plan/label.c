/* label.c: what steps and groups are called, in timelines and in errors.
 *
 *      a kernel    the ops in it, in order, a reduction behind what it reduces: "multiply+add×2+sum"
 *      a call      its op: "matmul2"
 *      a group     its steps, in order: "multiply+add+sum, tanh×3"
 *
 * Names are made once for each plan and lie in the steps and groups. One that is too long ends in "…".
 */
#include <stdio.h>
#include <string.h>

#include "lazy/plan/plan.h"

typedef struct label {
    char *text;
    size_t size, used;
    const char *last; /* the word that was added last, and how many times in a row */
    int times;
    const char *between;
} label;

static void append_to_label(label *l, const char *text) {
    static const char more[] = "…";
    size_t bytes = strlen(text);
    if (l->used + bytes + sizeof more <= l->size) {
        memcpy(l->text + l->used, text, bytes + 1);
        l->used += bytes;
    } else if (l->used < l->size) {
        memcpy(l->text + l->used, more, sizeof more);
        l->used = l->size; /* nothing fits any more */
    }
}

static void end_word(label *l) {
    char count[16];
    if (l->times > 1) {
        snprintf(count, sizeof count, "×%d", l->times);
        append_to_label(l, count);
    }
}

static void add_word(label *l, const char *word) {
    if (l->last && strcmp(l->last, word) == 0) {
        l->times++;
        return;
    }
    if (l->last) {
        end_word(l);
        append_to_label(l, l->between);
    }
    append_to_label(l, word);
    l->last = word;
    l->times = 1;
}

static void add_reductions(label *l, const lazy_kernel *kernel, int value) {
    for (int k = 0; k < kernel->nsinks; k++)
        if (kernel->sinks[k].kind == LAZY_SINK_REDUCE && kernel->sinks[k].value == value)
            add_word(l, lazy_ops[kernel->sinks[k].op]->name);
}

static bool computes(const lazy_kernel *kernel, int op) {
    for (int k = 0; k < kernel->nins; k++)
        if (kernel->ins[k].op == op)
            return true;
    return false;
}

void plan_step_label(lazy_step *step) {
    label l = {.text = step->label, .size = sizeof step->label, .between = "+"};
    if (step->kind == LAZY_STEP_CALL) {
        add_word(&l, step->call.op->name);
        return;
    }
    const lazy_kernel *kernel = &step->kernel;
    for (int value = 0; value < kernel->nloads + kernel->nins; value++) {
        if (value >= kernel->nloads)
            add_word(&l, lazy_ops[kernel->ins[value - kernel->nloads].op]->name);
        add_reductions(&l, kernel, value);
    }
    for (int k = 0; k < kernel->nsinks; k++)
        if (kernel->sinks[k].kind != LAZY_SINK_REDUCE && !computes(kernel, kernel->sinks[k].op))
            add_word(&l, lazy_ops[kernel->sinks[k].op]->name);
    end_word(&l);
}

void plan_group_label(lazy_step *const *steps, lazy_group *group) {
    label l = {.text = group->label, .size = sizeof group->label, .between = ", "};
    for (int32_t k = 0; k < group->nsteps; k++)
        add_word(&l, steps[group->first + k]->label);
    end_word(&l);
}
