/* program/follow.c: how sizes in attributes, and numbers, follow the inputs of a program (refit.h).
 *
 * A table of sizes has, for each axis of each node so far, what it was and what it is. An attribute that no axis of an
 * operand tells about follows the axes that had its size; where some of these changed and others did not, nobody can
 * say which one it was, and that is an error. So programs are recorded best with sizes that nothing else in them has.
 */
#include <math.h>

#include "lazy/graph/graph.h"
#include "lazy/program/listing.h"

enum { MOST_FACTORS = 5 }; /* axes of a node whose products are noted one by one */

/* ---- The table --------------------------------------------------------------------------------------------------- */
static int note_size(lazy_size_list *list, int64_t was, int64_t now) {
    for (int64_t k = list->n; k-- > 0;)
        if (list->at[k].was == was && list->at[k].now == now)
            return 0;
    return lazy_push(list, ((lazy_size){was, now}));
}

/* The products of each set of axes; of many axes, those of all and of all but one. */
static int note_products(lazy_refit *r, const neap_node *was, const neap_node *now) {
    uint32_t all = (1u << was->ndim) - 1;
    int status = 0;
    for (uint32_t set = 1; set <= all && status == 0; set++) {
        lazy_size product = {1, 1};
        if (was->ndim > MOST_FACTORS && __builtin_popcount(set) < was->ndim - 1)
            continue;
        for (int k = 0; k < was->ndim; k++)
            if (set >> k & 1) {
                product.was *= was->shape[k];
                product.now *= now->shape[k];
            }
        status = note_size(&r->products, product.was, product.now);
    }
    return status;
}

int program_follow_note(lazy_refit *r, const neap_node *was, const neap_node *now) {
    int status = 0;
    if (!r->resized || was->ndim != now->ndim)
        return 0;
    for (int k = 0; k < was->ndim && status == 0; k++)
        status = note_size(&r->axes, was->shape[k], now->shape[k]);
    return status ? status : note_products(r, was, now);
}

/* What is known of a size. */
typedef struct verdict {
    int found;      /* how many different sizes it has become, up to 2 */
    int64_t now[2]; /* these */
} verdict;

static void take_verdict(verdict *v, int64_t now) {
    if (v->found == 0 || (v->found == 1 && v->now[0] != now))
        v->now[v->found++] = now;
}

static void take_verdicts(verdict *v, const lazy_size_list *list, int64_t size) {
    for (int64_t k = 0; k < list->n; k++)
        if (list->at[k].was == size)
            take_verdict(v, list->at[k].now);
}

/* Without an answer the question is written down, for this program and those around it; one for a count as -size. */
static void miss_size(lazy_refit *r, int64_t size) {
    for (; r; r = r->around)
        (void)lazy_push(&r->missed, size);
}

static verdict judge_axes(lazy_refit *r, int64_t size) {
    verdict v = {0};
    for (lazy_refit *at = r; at; at = at->around)
        take_verdicts(&v, &at->axes, size);
    if (v.found == 0)
        miss_size(r, size);
    return v;
}

bool program_follow_again(const lazy_refit *r) {
    verdict v = {0};
    for (int64_t k = 0; k < r->missed.n && v.found == 0; k++) {
        take_verdicts(&v, r->missed.at[k] < 0 ? &r->products : &r->axes, llabs(r->missed.at[k]));
    }
    return v.found > 0;
}

int program_follow_known(lazy_refit *r, int64_t size, int64_t *now) {
    verdict v = judge_axes(r, size);
    if (v.found == 1)
        *now = v.now[0];
    return v.found;
}

static int refuse_size(const char *op, int64_t size, const verdict *v) {
    return neap_error(NEAP_E_SHAPE,
                      "%s: its size %lld was that of an axis of %lld elements now, and of one of %lld; record the "
                      "program with sizes that nothing else in it has",
                      op, (long long)size, (long long)v->now[0], (long long)v->now[1]);
}

int program_follow_size(const lazy_follow *f, int64_t *size) {
    verdict v = *size > 1 ? judge_axes(f->refit, *size) : (verdict){0};
    if (v.found > 1)
        return refuse_size(graph_node_op(f->node)->name, *size, &v);
    if (v.found)
        *size = v.now[0];
    return 0;
}

int program_follow_sizes(lazy_follow *f) {
    lazy_attr_names names = graph_attr_names_of(graph_node_op(f->node));
    int status = 0;
    for (int k = 0; k < f->node->nattrs && status == 0; k++)
        if (graph_attr_is_size(graph_attr_name(&names, k)))
            status = program_follow_size(f, &f->attrs[k]);
    return status;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */
/* Of what no node of the program has so far: the products of two or three axes. */
static verdict judge_factors(lazy_refit *r, int64_t size) {
    verdict v = {0};
    const lazy_size_list *axes = &r->axes;
    for (int64_t a = 0; a < axes->n; a++)
        for (int64_t b = a; b < axes->n; b++) {
            int64_t was, now;
            if (__builtin_mul_overflow(axes->at[a].was, axes->at[b].was, &was) || was == 0 || size % was ||
                __builtin_mul_overflow(axes->at[a].now, axes->at[b].now, &now))
                continue;
            if (was == size)
                take_verdict(&v, now);
            for (int64_t c = b; c < axes->n; c++) {
                int64_t all;
                if (axes->at[c].was == size / was && !__builtin_mul_overflow(now, axes->at[c].now, &all))
                    take_verdict(&v, all);
            }
        }
    return v;
}

static verdict judge_count(lazy_refit *r, int64_t size) {
    verdict v = {0};
    for (lazy_refit *at = r; at; at = at->around)
        take_verdicts(&v, &at->products, size);
    if (v.found == 0)
        miss_size(r, -size);
    return v.found ? v : judge_factors(r, size);
}

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Does it look as if it was computed from a size: the size, its root, the inverse of one of these, or one less? Of
 * small sizes the last ones are everyday numbers. */
static bool may_come_from(double number, double size) {
    enum { LEAST = 3, LEAST_LESS = 6, LEAST_SQUARE = 8 };
    double value = fabs(number), root = sqrt(size);
    if (size < LEAST)
        return false;
    bool rooted = is_near(value, root) || is_near(value * root, 1);
    return is_near(value, size) || is_near(value * size, 1) || (value == size - 1 && size >= LEAST_LESS) ||
           (rooted && (root != floor(root) || size >= LEAST_SQUARE));
}

static const lazy_size *suspect(const lazy_refit *r, double number) {
    for (; r; r = r->around)
        for (int64_t k = 0; k < r->products.n; k++) {
            const lazy_size *size = &r->products.at[k];
            if (size->was != size->now && may_come_from(number, (double)size->was))
                return size;
        }
    return NULL;
}

int program_follow_number(lazy_refit *r, const neap_node *node, double *value) {
    *value = node->value;
    if (!r->resized || !(node->follows & LAZY_FOLLOWS_COUNT))
        return 0;
    bool sound = node->value >= 0 && node->value < (double)(INT64_C(1) << 53); /* a file may say anything */
    int64_t less = node->follows >> LAZY_FOLLOWS_SHIFT, count = sound ? (int64_t)node->value + less : 0;
    verdict v = count > 1 ? judge_count(r, count) : (verdict){1, {count}};
    if (v.found > 1)
        return refuse_size("a mean", count, &v);
    if (v.found == 0)
        return neap_error(NEAP_E_SHAPE, "a mean of %lld elements: nothing in the program says how many these are now",
                          (long long)count);
    *value = v.now[0] > less ? (double)(v.now[0] - less) : 0;
    return 0;
}

int program_follow_suspect(const lazy_refit *r, const neap_node *node) {
    const lazy_size *size = r->resized && !(node->follows & LAZY_FOLLOWS_COUNT) ? suspect(r, node->value) : NULL;
    if (!size)
        return 0;
    return neap_error(NEAP_E_SHAPE,
                      "the number %.14g may have been computed from a size of %lld, which is %lld now; use np.mean and "
                      "its kin, pass the number as an argument, or record the program with sizes that are none of its "
                      "numbers",
                      node->value, (long long)size->was, (long long)size->now);
}

/* ---- Where axes meet --------------------------------------------------------------------------------------------- */
int program_follow_meet(const neap_node *was, neap_node *const *in) {
    for (int a = 1; a <= was->ndim; a++) { /* from the last axis */
        int64_t all = was->shape[was->ndim - a], now = -1;
        for (int k = 0; k < was->nin; k++) {
            const neap_node *before = was->in[k];
            if (a > before->ndim || in[k]->ndim != before->ndim)
                continue;
            int64_t size = in[k]->shape[in[k]->ndim - a], wanted = before->shape[before->ndim - a] == all ? now : 1;
            if (wanted >= 0 && size != wanted)
                return neap_error(NEAP_E_SHAPE,
                                  "%s: axis %d of its operands had %lld elements, and now it has %lld "
                                  "and %lld",
                                  graph_node_op(was)->name, was->ndim - a, (long long)before->shape[before->ndim - a],
                                  (long long)wanted, (long long)size);
            if (wanted < 0)
                now = size;
        }
    }
    return 0;
}
