/* decide.c: what follows from declared sizes being at least 1 and extents at least 0 (sizes.h). */
#include <math.h>

#include "lazy/sizes/sizes.h"

/* What an integer expression is at least; -INFINITY: nobody knows. Recursion is as deep as atoms are nested. */
static double at_least(const neap_transcript *t, int32_t expr);

static double atom_at_least(const neap_transcript *t, int32_t atom) {
    const sizes_expr *e = &t->exprs.at[atom];
    if (e->kind == SIZES_SYMBOL)
        return 1;
    if (e->kind == SIZES_EXTENT)
        return 0;
    double a = at_least(t, e->a), b = at_least(t, e->b);
    if (e->op == NEAP_SIZE_MIN)
        return a < b ? a : b;
    if (e->op == NEAP_SIZE_MAX)
        return a > b ? a : b;
    return e->op == NEAP_SIZE_FLOOR_DIV && a >= 0 && b > 0 ? 0 : -INFINITY;
}

/* A term that is subtracted has no end: the sum is known to be at least something only without such terms. */
static double terms_at_least(const neap_transcript *t, int nterms, const sizes_term *terms, int64_t sign) {
    double sum = 0;
    for (int k = 0; k < nterms; k++) {
        double product = (double)(sign * terms[k].coefficient);
        if (product < 0 && terms[k].nfactors > 0)
            return -INFINITY;
        for (int f = 0; f < terms[k].nfactors; f++) {
            double least = atom_at_least(t, terms[k].factor[f]);
            if (least < 0)
                return -INFINITY;
            product *= least;
        }
        sum += product;
    }
    return sum;
}

static double at_least(const neap_transcript *t, int32_t expr) {
    const sizes_expr *e = &t->exprs.at[expr];
    return sizes_is_real(e) ? -INFINITY : terms_at_least(t, e->nterms, e->terms, 1);
}

int sizes_decide(neap_transcript *t, int compare, int32_t a, int32_t b) {
    if (a == b)
        return compare != NEAP_SIZE_LESS;
    if (sizes_is_real(&t->exprs.at[a]) || sizes_is_real(&t->exprs.at[b]))
        return -1;
    int32_t difference = sizes_compute(t, NEAP_SIZE_SUB, a, b);
    if (difference < 0)
        return -1;
    const sizes_expr *e = &t->exprs.at[difference];
    double least = at_least(t, difference), most = -terms_at_least(t, e->nterms, e->terms, -1);
    if (compare == NEAP_SIZE_EQUAL)
        return least > 0 || most < 0 ? 0 : -1;
    bool strict = compare == NEAP_SIZE_LESS;
    if (strict ? most < 0 : most <= 0)
        return 1;
    return (strict ? least >= 0 : least > 0) ? 0 : -1;
}
