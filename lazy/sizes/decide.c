/* decide.c: what follows from declared sizes being at least 1 and extents at least 0 (sizes.h).
 *
 * a <= b is proved by a lower bound of b - a. Where an atom that is no size stands in it as a term, the bound goes on
 * with what the atom is made of:
 *
 *      + c · max(x, y)    one of: c · x, c · y              + c · (x // k)    c · (x - k + 1) / k
 *      - c · max(x, y)    both of: - c · x, - c · y         - c · (x // k)    - c · x / k, where x >= 0
 *
 * and so on for the least, and for remainders, which are from 0 to k - 1.
 */
#include <math.h>

#include "lazy/sizes/sizes.h"

enum { DEEPEST = 6 };
static const double MOST = 9007199254740992.0; /* of any size */

static bool is_not_negative(neap_transcript *t, int32_t expr, int depth);

/* What a product of atoms is at least; -INFINITY: nobody knows. */
static double factors_at_least(neap_transcript *t, const sizes_term *term, int depth) {
    double product = 1;
    for (int f = 0; f < term->nfactors; f++) {
        const sizes_expr *e = &t->exprs.at[term->factor[f]];
        bool positive = e->kind == SIZES_SYMBOL;
        if (!positive && e->kind != SIZES_EXTENT && !is_not_negative(t, term->factor[f], depth + 1))
            return -INFINITY;
        product *= positive ? 1 : 0;
    }
    return product;
}

/* The bound of a sum whose terms are bounded one by one. */
static bool terms_are_not_negative(neap_transcript *t, int32_t expr, int depth) {
    double sum = 0;
    for (int k = 0; k < t->exprs.at[expr].nterms; k++) {
        sizes_term term = t->exprs.at[expr].terms[k];
        if (term.nfactors > 0 && term.coefficient < 0)
            return false;
        sum += (double)term.coefficient * (term.nfactors ? factors_at_least(t, &term, depth) : 1);
    }
    return sum >= 0;
}

/* scale · expr + by · x; negative: it is too large. */
static int32_t combine(neap_transcript *t, int32_t expr, int64_t scale, int32_t x, int64_t by) {
    int32_t a = sizes_constant(t, (double)scale), b = a < 0 ? a : sizes_constant(t, (double)by);
    int32_t left = b < 0 ? b : sizes_compute(t, NEAP_SIZE_MUL, expr, a);
    int32_t right = left < 0 ? left : sizes_compute(t, NEAP_SIZE_MUL, x, b);
    return right < 0 ? right : sizes_compute(t, NEAP_SIZE_ADD, left, right);
}

/* Is scale · (the sum without this term) + by · x not negative? */
static bool holds_with(neap_transcript *t, int32_t expr, const sizes_term *term, int64_t scale, int32_t x, int64_t by,
                       int depth) {
    int32_t rest = combine(t, expr, 1, term->factor[0], -term->coefficient);
    int32_t sum = rest < 0 ? rest : combine(t, rest, scale, x, by);
    return sum >= 0 && is_not_negative(t, sum, depth + 1);
}

/* The bound goes on inside the atom of a term. */
static bool holds_inside(neap_transcript *t, int32_t expr, const sizes_term *term, int depth) {
    sizes_expr atom = t->exprs.at[term->factor[0]];
    int64_t c = term->coefficient;
    int32_t one = sizes_constant(t, 1);
    if (one < 0)
        return false;
    if (atom.op == NEAP_SIZE_MIN || atom.op == NEAP_SIZE_MAX) {
        bool both = (atom.op == NEAP_SIZE_MAX) == (c < 0);
        bool first = holds_with(t, expr, term, 1, atom.a, c, depth);
        return both ? first && holds_with(t, expr, term, 1, atom.b, c, depth)
                    : first || holds_with(t, expr, term, 1, atom.b, c, depth);
    }
    const sizes_expr *by = &t->exprs.at[atom.b];
    int64_t k = !sizes_is_real(by) && by->nterms == 1 && by->terms[0].nfactors == 0 ? by->terms[0].coefficient : 0;
    if (k <= 0 || k > 1 << 20)
        return false;
    if (atom.op == NEAP_SIZE_MOD)
        return holds_with(t, expr, term, 1, one, c < 0 ? c * (k - 1) : 0, depth);
    if (c < 0)
        return holds_with(t, expr, term, k, atom.a, c, depth);
    int32_t least = combine(t, atom.a, 1, one, 1 - k);
    return (is_not_negative(t, atom.a, depth + 1) && holds_with(t, expr, term, 1, one, 0, depth)) ||
           (least >= 0 && holds_with(t, expr, term, k, least, c, depth));
}

static bool is_not_negative(neap_transcript *t, int32_t expr, int depth) {
    if (depth > DEEPEST || sizes_is_real(&t->exprs.at[expr]))
        return false;
    for (int k = 0; k < t->exprs.at[expr].nterms; k++) {
        sizes_term term = t->exprs.at[expr].terms[k];
        if (term.nfactors == 1 && t->exprs.at[term.factor[0]].kind == SIZES_ATOM)
            return holds_inside(t, expr, &term, depth);
    }
    return terms_are_not_negative(t, expr, depth);
}

/* Is a + less <= b whatever the sizes are? */
static bool is_below(neap_transcript *t, int32_t a, int32_t b, int64_t less) {
    int32_t one = sizes_constant(t, 1), difference = one < 0 ? one : sizes_compute(t, NEAP_SIZE_SUB, b, a);
    if (difference >= 0 && less)
        difference = combine(t, difference, 1, one, -less);
    return difference >= 0 && is_not_negative(t, difference, 0);
}

int sizes_decide(neap_transcript *t, int compare, int32_t a, int32_t b) {
    if (a == b)
        return compare != NEAP_SIZE_LESS;
    const sizes_expr *left = &t->exprs.at[a], *right = &t->exprs.at[b];
    bool real = sizes_is_real(left) || sizes_is_real(right);
    if (real && sizes_is_constant(right) && right->at[0] > MOST && !sizes_is_real(left))
        return compare != NEAP_SIZE_EQUAL; /* no size is so large */
    if (real && sizes_is_constant(left) && left->at[0] > MOST && !sizes_is_real(right))
        return 0;
    if (real)
        return -1;
    if (compare == NEAP_SIZE_EQUAL)
        return is_below(t, a, b, 1) || is_below(t, b, a, 1) ? 0 : -1;
    bool strict = compare == NEAP_SIZE_LESS;
    return is_below(t, a, b, strict) ? 1 : is_below(t, b, a, !strict) ? 0 : -1;
}
