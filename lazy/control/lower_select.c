/* lower_select.c: branches as maps. All of them are done, and the index selects what they give: a turn then has no
 * branch that a processor might take wrongly, and stays in registers. No map fails or goes on for ever, so nobody sees
 * that it was done; but it takes its time, so branches must be few cheap maps.
 */
#include "lazy/control/lower_registers.h"

#include "ops_gen.h"

/* The most branches; the most that what all of them do may take, in cheap maps, of few elements or of many. */
enum { BRANCHES = 8, SELECTED = 48, SELECTED_OF_MANY = 12 };

typedef struct selecting { /* a node whose branches are gone through */
    lower_registers *m;
    const body_item *item;
    held *before; /* what was held before a branch */
    int64_t nbefore;
    int64_t nvalues; /* values of all results */
    int32_t *values; /* by branch and value */
} selecting;

/* Result k of the node: how many values it is, and of how many elements. */
static int64_t pieces_of(const selecting *s, int k, int64_t *elements) {
    const lazy_runner *inner = s->item->inner;
    int64_t size = inner->out_bytes[k] / neap_dtype_bytes(inner->out_dtypes[k]);
    *elements = s->m->apart ? 1 : size;
    return s->m->apart ? size : 1;
}

static lower_place result_place(const selecting *s, int k, int64_t piece) {
    const lazy_runner *inner = s->item->inner;
    int64_t offset = inner->places[k] + piece * neap_dtype_bytes(inner->out_dtypes[k]);
    return registers_place(s->m, s->item, inner->nin, offset);
}

static bool begin(selecting *s) {
    lower_registers *m = s->m;
    const lazy_runner *inner = s->item->inner;
    int64_t elements;
    s->nbefore = m->held.n;
    for (int k = 0; k < inner->nresults; k++)
        s->nvalues += pieces_of(s, k, &elements);
    if (!LAZY_ARENA(LAZY_PART(s->before, s->nbefore + 1), LAZY_PART(s->values, s->nvalues * inner->nbodies + 1)))
        return lower_refuse(&m->parts, "out of memory");
    if (s->nbefore)
        memcpy(s->before, m->held.at, (size_t)s->nbefore * sizeof *s->before);
    return true;
}

/* Goes through branch b, and forgets what it has written. */
static bool add_branch(selecting *s, int b) {
    lower_registers *m = s->m;
    const lazy_runner *inner = s->item->inner;
    const lower_scope own = lower_scope_inside(m->in, s->item, b);
    int32_t *to = s->values + b * s->nvalues;
    bool done = registers_add_body(m, &own);
    for (int k = 0; k < inner->nresults && done; k++) {
        int64_t elements, pieces = pieces_of(s, k, &elements);
        for (int64_t e = 0; e < pieces && done; e++)
            done = (*to++ = registers_read(m, result_place(s, k, e), inner->out_dtypes[k], elements)) != LOWER_NO_VALUE;
    }
    m->held.n = s->nbefore;
    if (s->nbefore)
        memcpy(m->held.at, s->before, (size_t)s->nbefore * sizeof *s->before);
    return done;
}

static int32_t number(lower_registers *m, int32_t n) {
    return registers_iota(m, NEAP_DTYPE_I32, n, 1, (int64_t[]){1}, (int64_t[]){0}, 1);
}

/* Whether branch b is taken, if none behind it is: the index is clamped. Of two, an index made of a bool says it. */
static int32_t is_taken(lower_registers *m, int32_t index, int b, bool *otherwise) {
    const lazy_ins *made = index < 0 ? NULL : &m->parts.ins.at[index];
    *otherwise = b == 0 && made && lazy_ops[made->op]->flags & LAZY_OP_CASTS && made->dtype == NEAP_DTYPE_BOOL;
    if (*otherwise)
        return made->arg[0];
    return registers_map(m, b == 0 ? LAZY_OP_less_equal : LAZY_OP_equal, NEAP_DTYPE_I32, NEAP_DTYPE_BOOL, 2,
                         (int32_t[]){index, number(m, b)});
}

static bool select_results(const selecting *s, int32_t index) {
    lower_registers *m = s->m;
    const lazy_runner *inner = s->item->inner;
    int64_t v = 0;
    for (int k = 0; k < inner->nresults; k++) {
        int64_t elements, pieces = pieces_of(s, k, &elements);
        int dtype = inner->out_dtypes[k];
        for (int64_t e = 0; e < pieces; e++, v++) {
            int32_t value = s->values[(inner->nbodies - 1) * s->nvalues + v];
            for (int b = inner->nbodies - 2; b >= 0 && value != LOWER_NO_VALUE; b--) {
                int32_t other = s->values[b * s->nvalues + v];
                bool otherwise;
                int32_t taken = other == value ? 0 : is_taken(m, index, b, &otherwise);
                if (other != value)
                    value =
                        registers_map(m, LAZY_OP_where, dtype, dtype, 3,
                                      otherwise ? (int32_t[]){taken, value, other} : (int32_t[]){taken, other, value});
            }
            if (value == LOWER_NO_VALUE || !registers_write(m, result_place(s, k, e), 0, value, elements))
                return false;
        }
    }
    return true;
}

bool registers_add_branches(lower_registers *m, const body_item *item) {
    const lazy_runner *inner = item->inner;
    selecting s = {.m = m, .item = item};
    bool computes = m->computes;
    int weight = m->parts.weight;
    if (inner->nbodies > BRANCHES)
        return lower_refuse(&m->parts, "it has many branches");
    int32_t index = registers_read(m, registers_place(m, item, 0, 0), NEAP_DTYPE_I32, 1);
    bool done = index != LOWER_NO_VALUE && begin(&s);
    m->computes = false;
    for (int b = 0; b < inner->nbodies && done; b++)
        done = add_branch(&s, b);
    if (done && (m->computes || m->parts.weight - weight > (m->n > NATIVE_FEW ? SELECTED_OF_MANY : SELECTED)))
        done = lower_refuse(&m->parts, "its branches do much");
    m->computes |= computes;
    done = done && select_results(&s, index);
    free(s.before);
    return done;
}
