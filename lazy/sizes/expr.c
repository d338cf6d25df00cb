/* expr.c: size expressions: their normal form, their values, their text (sizes.h). */
#include <math.h>
#include <string.h>

#include "lazy/sizes/sizes.h"

static const double MOST = 9007199254740992.0; /* integers count up to here, as Lua's numbers */

/* ---- Values ------------------------------------------------------------------------------------------------------ */
/* As Lua computes it. */
static double apply(int op, double a, double b) {
    switch (op) {
    case NEAP_SIZE_ADD:
        return a + b;
    case NEAP_SIZE_SUB:
        return a - b;
    case NEAP_SIZE_MUL:
        return a * b;
    case NEAP_SIZE_DIV:
        return a / b;
    case NEAP_SIZE_MOD:
        return a - floor(a / b) * b;
    case NEAP_SIZE_POW:
        return pow(a, b);
    case NEAP_SIZE_FLOOR_DIV:
        return floor(a / b);
    case NEAP_SIZE_MIN:
        return a < b ? a : b;
    case NEAP_SIZE_MAX:
        return a > b ? a : b;
    case NEAP_SIZE_FLOOR:
        return floor(a);
    case NEAP_SIZE_CEIL:
        return ceil(a);
    default:
        return sqrt(a);
    }
}

static double sum_terms(const sizes_expr *e, const double *values, int stride) {
    double sum = 0;
    for (int k = 0; k < e->nterms; k++) {
        double product = (double)e->terms[k].coefficient;
        for (int f = 0; f < e->terms[k].nfactors; f++)
            product *= values[(size_t)e->terms[k].factor[f] * (size_t)stride];
        sum += product;
    }
    return sum;
}

int sizes_value_of(const neap_transcript *t, int32_t expr, const double *values, double *out) {
    const sizes_expr *e = &t->exprs.at[expr];
    bool divides =
        (e->kind == SIZES_ATOM || e->kind == SIZES_REAL) && (e->op == NEAP_SIZE_FLOOR_DIV || e->op == NEAP_SIZE_MOD);
    if (divides && values[e->b] == 0)
        return neap_error(NEAP_E_SHAPE, "a size is divided by 0");
    if (e->kind == SIZES_SUM)
        *out = sum_terms(e, values, 1);
    else if (e->kind == SIZES_CONSTANT)
        *out = e->constant;
    else
        *out = apply(e->op, values[e->a], values[e->b]);
    if (!sizes_is_real(e) && !(fabs(*out) <= MOST))
        return neap_error(NEAP_E_SHAPE, "a size of %.17g is too large", *out);
    return 0;
}

/* The probes of a new expression; those of symbols and extents were given. */
static void probe(const neap_transcript *t, sizes_expr *e) {
    for (int p = 0; p < SIZES_PROBES; p++) {
        const double *at = t->exprs.at ? &t->exprs.at[0].at[p] : NULL;
        const int stride = (int)(sizeof *e / sizeof(double));
        if (e->kind == SIZES_SUM)
            e->at[p] = at ? sum_terms(e, at, stride) : 0;
        else if (e->kind == SIZES_CONSTANT)
            e->at[p] = e->constant;
        else if (e->kind == SIZES_ATOM || e->kind == SIZES_REAL)
            e->at[p] = apply(e->op, t->exprs.at[e->a].at[p], t->exprs.at[e->b].at[p]);
    }
}
_Static_assert(sizeof(sizes_expr) % sizeof(double) == 0, "probes are read with a stride of doubles");

/* ---- The table --------------------------------------------------------------------------------------------------- */
static bool same_terms(int n, const sizes_term *a, const sizes_term *b) {
    for (int k = 0; k < n; k++)
        if (a[k].coefficient != b[k].coefficient || a[k].nfactors != b[k].nfactors ||
            memcmp(a[k].factor, b[k].factor, (size_t)a[k].nfactors * sizeof *a[k].factor) != 0)
            return false;
    return true;
}

static bool same_expr(const sizes_expr *a, const sizes_expr *b) {
    if (a->kind != b->kind)
        return false;
    if (a->kind == SIZES_SUM)
        return a->nterms == b->nterms && same_terms(a->nterms, a->terms, b->terms);
    if (a->kind == SIZES_CONSTANT)
        return a->constant == b->constant && signbit(a->constant) == signbit(b->constant);
    return a->op == b->op && a->a == b->a && a->b == b->b;
}

static uint32_t hash_expr(const sizes_expr *e) {
    uint64_t hash = graph_hash_on(e->kind, e->op), bits;
    memcpy(&bits, &e->constant, sizeof bits);
    if (e->kind == SIZES_CONSTANT)
        return (uint32_t)graph_hash_on(hash, bits);
    if (e->kind != SIZES_SUM)
        return (uint32_t)graph_hash_on(graph_hash_on(hash, (uint32_t)e->a), (uint32_t)e->b);
    for (int k = 0; k < e->nterms; k++) {
        hash = graph_hash_on(hash, (uint64_t)e->terms[k].coefficient);
        for (int f = 0; f < e->terms[k].nfactors; f++)
            hash = graph_hash_on(hash, (uint32_t)e->terms[k].factor[f]);
    }
    return (uint32_t)hash;
}

/* The number of an expression, which is copied if there was no such one. */
static int32_t find_expr(neap_transcript *t, sizes_expr *e) {
    if (t->exprs.n == 0 && lazy_push(&t->exprs, ((sizes_expr){.kind = SIZES_CONSTANT})))
        return NEAP_E_MEMORY;
    uint32_t hash = hash_expr(e);
    int32_t known;
    for (int64_t at = -1; (known = graph_table_next(&t->by_form, hash, &at)) != 0;)
        if (same_expr(&t->exprs.at[known], e))
            return known;
    if (graph_table_grow(&t->by_form))
        return NEAP_E_MEMORY;
    int32_t number = (int32_t)t->exprs.n;
    sizes_term own = {.coefficient = 1, .nfactors = 1, .factor = {number}}; /* an atom's only term */
    bool integer = !sizes_is_real(e);
    const sizes_term *from = e->kind == SIZES_SUM ? e->terms : &own;
    sizes_expr copy = *e;
    copy.nterms = !integer ? 0 : e->kind == SIZES_SUM ? e->nterms : 1;
    copy.terms = NULL;
    if (copy.nterms && !(copy.terms = malloc((size_t)copy.nterms * sizeof *copy.terms)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a size");
    if (copy.nterms)
        memcpy(copy.terms, from, (size_t)copy.nterms * sizeof *copy.terms);
    if (e->kind != SIZES_SYMBOL && e->kind != SIZES_EXTENT)
        probe(t, &copy);
    if (lazy_push(&t->exprs, copy)) {
        free(copy.terms);
        return NEAP_E_MEMORY;
    }
    graph_table_add(&t->by_form, hash, number);
    return number;
}

void sizes_free_exprs(neap_transcript *t) {
    for (int64_t k = 0; k < t->exprs.n; k++)
        free(t->exprs.at[k].terms);
    lazy_vector_free(&t->exprs);
}

int32_t sizes_constant(neap_transcript *t, double value) {
    sizes_term term = {.coefficient = 0};
    if (value != floor(value) || fabs(value) > MOST)
        return find_expr(t, &(sizes_expr){.kind = SIZES_CONSTANT, .constant = value});
    term.coefficient = (int64_t)value;
    return find_expr(t, &(sizes_expr){.kind = SIZES_SUM, .nterms = value != 0, .terms = &term});
}

int32_t sizes_symbol(neap_transcript *t, int32_t which, double now) {
    static const int choices[SIZES_PROBES - 1][8] = {
        {1440, 2520, 3360, 4320, 5040, 6720, 7560, 8400}, /* which can be divided, ascending */
        {907, 809, 701, 601, 503, 401, 307, 211},         /* which cannot, descending: the least is another one */
        {1, 1, 1, 1, 1, 1, 1, 1}};                        /* where parts are empty, and differences end */
    sizes_expr e = {.kind = SIZES_SYMBOL, .a = which, .at = {now}};
    for (int p = 1; p < SIZES_PROBES; p++)
        e.at[p] = choices[p - 1][which % 8] + (p < SIZES_PROBES - 1 ? which / 8 * 2 : 0);
    return find_expr(t, &e);
}

int32_t sizes_extent(neap_transcript *t, int32_t value, int axis, const double *at) {
    sizes_expr e = {.kind = SIZES_EXTENT, .a = value, .b = axis};
    memcpy(e.at, at, sizeof e.at);
    return find_expr(t, &e);
}

int32_t sizes_of(neap_transcript *t, const neap_size *size) {
    if (size->expr == 0)
        return sizes_constant(t, size->now);
    if (size->of != t->number || size->expr < 0 || size->expr >= t->exprs.n)
        return neap_error(NEAP_E_ARGUMENT, "a size that belongs to another trace");
    return size->expr;
}

void sizes_give(const neap_transcript *t, int32_t expr, neap_size *out) {
    const sizes_expr *e = &t->exprs.at[expr];
    *out = (neap_size){e->at[0], sizes_is_constant(e) ? 0 : expr, t->number};
}

/* ---- Polynomials ------------------------------------------------------------------------------------------------- */
typedef LAZY_VECTOR(sizes_term) term_list;

static int compare_factors(const sizes_term *a, const sizes_term *b) {
    if (a->nfactors != b->nfactors)
        return a->nfactors > b->nfactors ? -1 : 1;
    for (int k = 0; k < a->nfactors; k++)
        if (a->factor[k] != b->factor[k])
            return a->factor[k] < b->factor[k] ? -1 : 1;
    return 0;
}

static int too_large(void) {
    return neap_error(NEAP_E_SHAPE, "a size expression is too large");
}

static int add_term(term_list *to, const sizes_term *term) {
    int64_t at = 0;
    while (at < to->n && compare_factors(&to->at[at], term) < 0)
        at++;
    if (at < to->n && compare_factors(&to->at[at], term) == 0) {
        if (__builtin_add_overflow(to->at[at].coefficient, term->coefficient, &to->at[at].coefficient))
            return too_large();
        if (to->at[at].coefficient == 0)
            memmove(&to->at[at], &to->at[at + 1], (size_t)(--to->n - at) * sizeof *to->at);
        return 0;
    }
    if (lazy_push(to, *term))
        return NEAP_E_MEMORY;
    memmove(&to->at[at + 1], &to->at[at], (size_t)(to->n - 1 - at) * sizeof *to->at);
    to->at[at] = *term;
    return 0;
}

static int multiply_terms(const sizes_term *a, const sizes_term *b, sizes_term *out) {
    int i = 0, j = 0;
    if (a->nfactors + b->nfactors > SIZES_MOST_FACTORS ||
        __builtin_mul_overflow(a->coefficient, b->coefficient, &out->coefficient))
        return too_large();
    out->nfactors = 0;
    while (i < a->nfactors || j < b->nfactors) {
        bool left = j == b->nfactors || (i < a->nfactors && a->factor[i] <= b->factor[j]);
        out->factor[out->nfactors++] = left ? a->factor[i++] : b->factor[j++];
    }
    return 0;
}

/* Divides a term by one of its factors, if it has it. */
static bool take_factor(sizes_term *term, int32_t factor) {
    int at = 0;
    while (at < term->nfactors && term->factor[at] != factor)
        at++;
    if (at == term->nfactors)
        return false;
    memmove(&term->factor[at], &term->factor[at + 1], (size_t)(--term->nfactors - at) * sizeof *term->factor);
    return true;
}

static int32_t find_sum(neap_transcript *t, term_list *terms, int status) {
    int32_t found = status;
    bool atom = terms->n == 1 && terms->at[0].coefficient == 1 && terms->at[0].nfactors == 1;
    if (status == 0)
        found = atom ? terms->at[0].factor[0]
                     : find_expr(t, &(sizes_expr){.kind = SIZES_SUM, .nterms = (int)terms->n, .terms = terms->at});
    lazy_vector_free(terms);
    return found;
}

/* Adds by · e. */
static int add_multiple(term_list *to, const sizes_expr *e, const sizes_term *by) {
    int status = 0;
    for (int k = 0; k < e->nterms && status == 0; k++) {
        sizes_term term;
        status = multiply_terms(by, &e->terms[k], &term);
        status = status ? status : add_term(to, &term);
    }
    return status;
}

/* a + by · b */
static int32_t add(neap_transcript *t, const sizes_expr *a, const sizes_expr *b, int64_t by) {
    term_list terms = {0};
    int status = add_multiple(&terms, a, &(sizes_term){.coefficient = 1});
    status = status ? status : add_multiple(&terms, b, &(sizes_term){.coefficient = by});
    return find_sum(t, &terms, status);
}

static int32_t multiply(neap_transcript *t, const sizes_expr *a, const sizes_expr *b) {
    term_list terms = {0};
    int status = 0;
    for (int k = 0; k < a->nterms && status == 0; k++)
        status = add_multiple(&terms, b, &a->terms[k]);
    return find_sum(t, &terms, status);
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* An integer constant other than 0; 0: it is none. */
static int64_t constant_of(const sizes_expr *e) {
    return !sizes_is_real(e) && e->nterms == 1 && e->terms[0].nfactors == 0 ? e->terms[0].coefficient : 0;
}

static int32_t make_atom(neap_transcript *t, int op, int32_t a, int32_t b) {
    return find_expr(t, &(sizes_expr){.kind = SIZES_ATOM, .op = (uint8_t)op, .a = a, .b = b});
}

/* a / b where that is a polynomial, of a divisor of one term that is positive: (2n*m + 4m) / (2m) = n + 2. 0: it is
 * none. */
static int32_t divide_exactly(neap_transcript *t, int32_t a, int32_t b) {
    const sizes_expr *e = &t->exprs.at[a], *by = &t->exprs.at[b];
    term_list terms = {0};
    int status = 0;
    bool exact = by->nterms == 1 && by->terms[0].coefficient > 0; /* no zero of it is -0 */
    for (int f = 0; exact && f < by->terms[0].nfactors; f++)
        exact = t->exprs.at[by->terms[0].factor[f]].kind == SIZES_SYMBOL;
    for (int k = 0; k < e->nterms && exact && status == 0; k++) {
        sizes_term term = e->terms[k];
        exact = term.coefficient % by->terms[0].coefficient == 0;
        term.coefficient /= by->terms[0].coefficient;
        for (int f = 0; f < by->terms[0].nfactors && exact; f++)
            exact = take_factor(&term, by->terms[0].factor[f]);
        status = exact ? add_term(&terms, &term) : 0;
    }
    if (exact)
        return find_sum(t, &terms, status);
    lazy_vector_free(&terms);
    return status;
}

/* Adds what is left of a term without multiples of `by`: n of 4n, if that is 3. */
static int add_rest(term_list *to, sizes_term term, int64_t by) {
    term.coefficient -= floor_div(term.coefficient, by) * by;
    return term.coefficient ? add_term(to, &term) : 0;
}

/* What the divisor divides comes out: (4n + 3) // 2 = 2n + 1. Of other divisors only the expression itself. */
static int32_t divide(neap_transcript *t, int32_t a, int32_t b) {
    int64_t by = constant_of(&t->exprs.at[b]);
    if (a == b)
        return sizes_constant(t, 1);
    if (by == 0)
        return make_atom(t, NEAP_SIZE_FLOOR_DIV, a, b);
    term_list whole = {0}, rest = {0};
    int status = 0;
    for (int k = 0; k < t->exprs.at[a].nterms && status == 0; k++) {
        sizes_term term = t->exprs.at[a].terms[k];
        bool constant = term.nfactors == 0;
        if (!constant && term.coefficient % by) {
            status = add_term(&rest, &term);
            continue;
        }
        status = add_rest(&rest, term, by);
        term.coefficient = floor_div(term.coefficient, by);
        if (term.coefficient && status == 0)
            status = add_term(&whole, &term);
    }
    bool exact = rest.n == 0 || (rest.n == 1 && rest.at[0].nfactors == 0); /* a constant from 0 to by - 1 */
    int32_t left = exact ? 0 : find_sum(t, &rest, status), quotient;
    lazy_vector_free(&rest);
    if (left < 0 || (!exact && (left = make_atom(t, NEAP_SIZE_FLOOR_DIV, left, b)) < 0)) {
        lazy_vector_free(&whole);
        return left;
    }
    quotient = find_sum(t, &whole, status);
    return exact || quotient < 0 ? quotient : add(t, &t->exprs.at[quotient], &t->exprs.at[left], 1);
}

/* Of a constant divisor, multiples of it go: (4n + 3) % 2 = 1. */
static int32_t remainder_of(neap_transcript *t, int32_t a, int32_t b) {
    int64_t by = constant_of(&t->exprs.at[b]);
    if (a == b)
        return sizes_constant(t, 0);
    if (by == 0)
        return make_atom(t, NEAP_SIZE_MOD, a, b);
    term_list rest = {0};
    int status = 0;
    for (int k = 0; k < t->exprs.at[a].nterms && status == 0; k++)
        status = add_rest(&rest, t->exprs.at[a].terms[k], by);
    int32_t left = find_sum(t, &rest, status);
    return left < 0 || sizes_is_constant(&t->exprs.at[left]) ? left : make_atom(t, NEAP_SIZE_MOD, left, b);
}

static int32_t compute_integers(neap_transcript *t, int op, int32_t a, int32_t b) {
    const sizes_expr *left = &t->exprs.at[a], *right = &t->exprs.at[b];
    switch (op) {
    case NEAP_SIZE_ADD:
        return add(t, left, right, 1);
    case NEAP_SIZE_SUB:
        return add(t, left, right, -1);
    case NEAP_SIZE_MUL:
        return multiply(t, left, right);
    case NEAP_SIZE_FLOOR_DIV:
        return divide(t, a, b);
    case NEAP_SIZE_MOD:
        return remainder_of(t, a, b);
    default: { /* least and greatest */
        int less = sizes_decide(t, NEAP_SIZE_LESS_EQUAL, a, b);
        if (less < 0 && sizes_decide(t, NEAP_SIZE_LESS_EQUAL, b, a) == 1)
            less = 0;
        if (less >= 0)
            return (less == 1) == (op == NEAP_SIZE_MIN) ? a : b;
        return make_atom(t, op, a < b ? a : b, a < b ? b : a);
    }
    }
}

int32_t sizes_compute(neap_transcript *t, int op, int32_t a, int32_t b) {
    bool real = sizes_is_real(&t->exprs.at[a]) || sizes_is_real(&t->exprs.at[b]);
    bool rounds = op == NEAP_SIZE_FLOOR || op == NEAP_SIZE_CEIL;
    if (rounds && !sizes_is_real(&t->exprs.at[a]))
        return a;
    if (op == NEAP_SIZE_FLOOR) { /* of the quotient of integers */
        const sizes_expr *e = &t->exprs.at[a];
        if (e->kind == SIZES_REAL && e->op == NEAP_SIZE_DIV && !sizes_is_real(&t->exprs.at[e->a]) &&
            !sizes_is_real(&t->exprs.at[e->b]))
            return divide(t, e->a, e->b);
    }
    if (!real && op != NEAP_SIZE_DIV && op != NEAP_SIZE_POW && op != NEAP_SIZE_SQRT)
        return compute_integers(t, op, a, b);
    int32_t quotient = !real && op == NEAP_SIZE_DIV ? divide_exactly(t, a, b) : 0;
    if (quotient)
        return quotient;
    if (!real && op == NEAP_SIZE_POW && constant_of(&t->exprs.at[b]) == 2)
        return multiply(t, &t->exprs.at[a], &t->exprs.at[a]);
    if (sizes_is_constant(&t->exprs.at[a]) && sizes_is_constant(&t->exprs.at[b]))
        return sizes_constant(t, apply(op, t->exprs.at[a].at[0], t->exprs.at[b].at[0]));
    return find_expr(t, &(sizes_expr){.kind = SIZES_REAL, .op = (uint8_t)op, .a = a, .b = b});
}

static int32_t translate_sum(neap_transcript *to, const sizes_expr *e, const int32_t *of) {
    int32_t sum = sizes_constant(to, 0);
    for (int k = 0; k < e->nterms && sum >= 0; k++) {
        int32_t product = sizes_constant(to, (double)e->terms[k].coefficient);
        for (int f = 0; f < e->terms[k].nfactors && product >= 0; f++)
            product = sizes_compute(to, NEAP_SIZE_MUL, product, of[e->terms[k].factor[f]]);
        sum = product < 0 ? product : sizes_compute(to, NEAP_SIZE_ADD, sum, product);
    }
    return sum;
}

int32_t sizes_translate(neap_transcript *to, const sizes_expr *e, const int32_t *of) {
    if (e->kind == SIZES_SUM)
        return translate_sum(to, e, of);
    return e->kind == SIZES_CONSTANT ? sizes_constant(to, e->constant) : sizes_compute(to, e->op, of[e->a], of[e->b]);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */
static void write_expr(const neap_transcript *t, int32_t expr, lazy_text *to);
static void write_operand(const neap_transcript *t, int32_t expr, lazy_text *to);

static void write_term(const neap_transcript *t, const sizes_term *term, bool first, lazy_text *to) {
    int64_t c = term->coefficient;
    (void)graph_text_addf(to, "%s", first ? (c < 0 ? "-" : "") : c < 0 ? " - " : " + ");
    c = c < 0 ? -c : c;
    if (c != 1 || term->nfactors == 0)
        (void)graph_text_addf(to, "%lld%s", (long long)c, term->nfactors ? "*" : "");
    for (int f = 0; f < term->nfactors; f++) {
        if (f)
            (void)graph_text_addf(to, "*");
        if (c == 1 && term->nfactors == 1)
            write_expr(t, term->factor[f], to);
        else
            write_operand(t, term->factor[f], to);
    }
}

static void write_operand(const neap_transcript *t, int32_t expr, lazy_text *to) {
    const sizes_expr *e = &t->exprs.at[expr];
    bool plain = e->kind != SIZES_REAL && e->kind != SIZES_ATOM && !(e->kind == SIZES_SUM && e->nterms > 1);
    if (!plain)
        (void)graph_text_addf(to, "(");
    write_expr(t, expr, to);
    if (!plain)
        (void)graph_text_addf(to, ")");
}

/* Each level of nesting adds to the text, so recursion ends where the text is cut. */
static void write_expr(const neap_transcript *t, int32_t expr, lazy_text *to) {
    static const char *const signs[] = {"+", "-", "*", "/", "%", "^", "//", "min", "max", "floor", "ceil", "sqrt"};
    const sizes_expr *e = &t->exprs.at[expr];
    if (to->bytes > SIZES_MOST_TEXT)
        return;
    switch (e->kind) {
    case SIZES_SYMBOL:
        (void)graph_text_addf(to, "%s", t->names.at[e->a]);
        break;
    case SIZES_EXTENT: {
        const sizes_value *value = &t->values.at[e->a];
        int op = value->node ? value->node->op : value->op;
        (void)graph_text_addf(to, "(axis %d of %s)", e->b, lazy_ops[op]->name);
        break;
    }
    case SIZES_CONSTANT:
        (void)graph_text_addf(to, "%.14g", e->constant);
        break;
    case SIZES_SUM:
        for (int k = 0; k < e->nterms; k++)
            write_term(t, &e->terms[k], k == 0, to);
        if (e->nterms == 0)
            (void)graph_text_addf(to, "0");
        break;
    default:
        if (e->op < NEAP_SIZE_MIN) {
            write_operand(t, e->a, to);
            (void)graph_text_addf(to, " %s ", signs[e->op]);
            write_operand(t, e->b, to);
            break;
        }
        (void)graph_text_addf(to, "%s(", signs[e->op]);
        write_expr(t, e->a, to);
        if (e->op < NEAP_SIZE_FLOOR) {
            (void)graph_text_addf(to, ", ");
            write_expr(t, e->b, to);
        }
        (void)graph_text_addf(to, ")");
    }
}

/* Errors of memory leave the text short. */
void sizes_text(const neap_transcript *t, int32_t expr, lazy_text *to) {
    lazy_text own = {0};
    write_expr(t, expr, &own);
    bool cut = own.bytes > SIZES_MOST_TEXT;
    if (own.bytes)
        (void)graph_text_add(to, own.data, cut ? SIZES_MOST_TEXT : own.bytes);
    if (cut)
        (void)graph_text_addf(to, "…");
    graph_text_free(&own);
}
