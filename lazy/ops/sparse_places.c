/* sparse_places.c: where the elements of a sum or a product of two sparse matrices are, and of a matrix that is stored
 * by columns; sparse.c draws how matrices are stored.
 *
 * How many elements a result has depends on where operands have theirs, so a result takes three ops:
 *
 *      sparse_starts      where its rows begin: workers count the columns of each row
 *      sparse_columns     the columns of its elements, in order
 *      sparse_matmul      the elements of a product at these places; sparse_collect: those of a sum (sparse_pairs.c)
 *
 * The columns of a row are a set of bits, with a bit above for each word that is not zero, and so on up to one word:
 * they are read in order, and the set is empty again, in time of the columns. (A short row of a sum has its columns
 * sorted: each is compared with all others, which takes less.) With columns 3, 5 and 130, of 1000:
 *
 *      level 1     101000…                     words 0 and 2 of level 0 are not zero
 *      level 0     000101…  000000…  001000…   64 columns in each word
 */
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/sparse.h"

enum {
    PART_WORK = 1 << 15,   /* elements that one worker goes through at a time, or more */
    PARTS = 64,            /* of a matrix, at most */
    ROWS = 512,            /* until a part looks whether it is to stop */
    PART_MEMORY = 1 << 28, /* scratch of all parts, but that of one */
    LEVELS = 6,            /* of a set: 64^6 is more than there are columns */
    FEW = 2,               /* columns of a word */
    SHORT = 64,            /* elements of a row whose columns are sorted */
    LANES = 4,
    AHEAD = 16,
    TURN_WORK = 1 << 17 /* elements of a part that is counted by itself */
};

/* ---- Parts ------------------------------------------------------------------------------------------------------- */
static void pair_part(void *arg, int64_t part, const neap_run *run) {
    sparse_pair *p = arg;
    const int64_t first = part * p->step, last = first + p->step < p->m ? first + p->step : p->m;
    void *scratch;
    int status = neap_run_alloc(run, p->scratch, &scratch);
    if (status) {
        __atomic_store_n(&p->failed, status, __ATOMIC_RELAXED);
        return;
    }
    memset(scratch, 0, p->scratch);
    for (int64_t row = first; row < last && !neap_run_cancelled(run); row += ROWS)
        p->rows(p, row, row + ROWS < last ? row + ROWS : last, scratch);
    neap_run_free(run, scratch, p->scratch);
}

int ops_sparse_run(const lazy_call *call, const neap_run *run, sparse_pair *p, double work, bool alone) {
    const double size = (double)p->scratch;
    double parts = work / (PART_WORK + size / 8);
    parts = parts < PART_MEMORY / size ? parts : PART_MEMORY / size;
    parts = parts < PARTS ? parts : PARTS;
    parts = alone || parts < 1 ? 1 : parts;
    p->step = p->m / (int64_t)parts + 1;
    p->failed = NEAP_OK;
    p->alone = alone;
    if (p->m <= p->step)
        pair_part(p, 0, run);
    else
        neap_parallel_for(run, (p->m + p->step - 1) / p->step, pair_part, p);
    return p->failed ? neap_error(p->failed, "%s: no memory for %lld columns", call->op->name, (long long)p->n)
                     : NEAP_OK;
}

int64_t ops_sparse_matrices(const lazy_tensor *starts) {
    int64_t count = 1;
    for (int k = 0; k < starts->ndim - 1; k++)
        count *= starts->shape[k];
    return count;
}

sparse_places ops_sparse_places(const lazy_call *call, int k, int64_t matrix) {
    const lazy_tensor *indices = &call->in[k], *starts = &call->in[k + 1];
    return (sparse_places){(const int32_t *)indices->data + matrix * sparse_extent(indices),
                           (const int32_t *)starts->data + matrix * sparse_extent(starts), sparse_extent(starts) - 1,
                           sparse_extent(indices)};
}

double ops_sparse_terms(const sparse_places *a, const sparse_places *b) {
    return (double)a->stored * (1 + (double)b->stored / (double)(b->rows + 1)) + (double)a->rows;
}

/* ---- Columns of rows --------------------------------------------------------------------------------------------- */
typedef struct column_set {
    uint64_t *level[LEVELS];
    int levels;
    int64_t n;
} column_set;

/* The bytes of a set of n columns, which begins at `memory`: all levels, two at least. */
static size_t set_open(column_set *set, int64_t n, void *memory) {
    int64_t words = n, all = 0;
    set->n = n;
    for (set->levels = 0; set->levels < 2 || words > 1; set->levels++) {
        words = words / 64 + 1;
        set->level[set->levels] = memory ? (uint64_t *)memory + all : NULL;
        all += words;
    }
    return (size_t)all * sizeof(uint64_t);
}

/* Puts columns into the lowest level alone. How many of them it did not have. */
static inline int64_t set_count(column_set *set, const int32_t *columns, int64_t count) {
    uint64_t *words = set->level[0];
    int64_t fresh = 0;
    for (int64_t k = 0; k < count; k++) {
        const uint32_t at = (uint32_t)columns[k];
        if (at >= set->n)
            continue;
        fresh += !(words[at / 64] >> at % 64 & 1);
        words[at / 64] |= (uint64_t)1 << at % 64;
    }
    return fresh;
}

/* Empties the lowest level, which has no other columns. */
static inline int64_t set_forget(column_set *set, const int32_t *columns, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        if (sparse_inside(columns[k], set->n))
            set->level[0][columns[k] / 64] = 0;
    return 0;
}

static inline int64_t set_add(column_set *set, const int32_t *columns, int64_t count) {
    uint64_t *words = set->level[0], *above = set->level[1];
    for (int64_t k = 0; k < count; k++) {
        uint32_t at = (uint32_t)columns[k];
        if (at >= set->n)
            continue;
        words[at / 64] |= (uint64_t)1 << at % 64;
        at /= 64;
        const bool first = above[at / 64] == 0;
        above[at / 64] |= (uint64_t)1 << at % 64;
        for (int level = 2; first && level < set->levels; level++) {
            at /= 64;
            set->level[level][at / 64] |= (uint64_t)1 << at % 64;
        }
    }
    return 0;
}

typedef struct
    column_list { /* what is written so far, where it has to end; up to `spare` nothing else is written yet */
    int32_t *at, *end, *spare;
} column_list;

/* Appends the columns of a word. Most words have few: that many are written without asking how many there are. */
static inline void list_add(column_list *list, uint64_t bits, int64_t word) {
    int32_t *at = list->at;
    if (list->spare - at >= FEW) {
        for (int k = 0; k < FEW; k++) {
            *at = (int32_t)(word * 64 + __builtin_ctzll(bits | (uint64_t)1 << 63));
            at += bits != 0;
            bits &= bits - 1;
        }
        at = at < list->end ? at : list->end;
    }
    for (; bits && at < list->end; bits &= bits - 1)
        *at++ = (int32_t)(word * 64 + __builtin_ctzll(bits));
    list->at = at;
}

/* Moves the columns below a word of a level to a list. */
static void set_take(column_set *set, int level, int64_t at, column_list *list) {
    uint64_t bits = set->level[level][at];
    set->level[level][at] = 0;
    for (; bits; bits &= bits - 1) {
        const int64_t below = at * 64 + __builtin_ctzll(bits);
        if (level > 1) {
            set_take(set, level - 1, below, list);
            continue;
        }
        list_add(list, set->level[0][below], below);
        set->level[0][below] = 0;
    }
}

/* ---- Short rows -------------------------------------------------------------------------------------------------- */
typedef int32_t column_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* The columns of a row of a sum, those out of range left out; how many there are. Room for SHORT and LANES more, which
 * are set behind the last one, and greater than any. -1: the row is longer. */
static int64_t short_gather(const sparse_pair *p, int64_t row, int32_t *columns) {
    const sparse_places *const both[] = {&p->a, &p->b};
    int64_t e[2], end[2], count = 0;
    for (int k = 0; k < 2; k++)
        sparse_row(both[k], row, &e[k], &end[k]);
    if (end[0] - e[0] + end[1] - e[1] > SHORT)
        return -1;
    for (int k = 0; k < 2; k++) {
        for (; e[k] < end[k]; e[k]++) {
            columns[count] = both[k]->indices[e[k]];
            count += sparse_inside(columns[count], p->n);
        }
    }
    for (int k = 0; k < LANES; k++)
        columns[count + k] = INT32_MAX;
    return count;
}

/* Appends columns in order, each once: the place of a column is how many are less. Equal ones have one place, and leave
 * those behind it free. */
static void short_take(const int32_t *columns, int64_t count, column_list *list) {
    int32_t sorted[SHORT], taken[SHORT + 1];
    memset(sorted, -1, (size_t)count * sizeof *sorted);
    for (int64_t k = 0; k < count; k++) {
        column_lanes less = {0};
        for (int64_t j = 0; j < count; j += LANES)
            less -= *(const column_lanes *)(columns + j) < columns[k];
        sorted[less[0] + less[1] + less[2] + less[3]] = columns[k];
    }
    int64_t fresh = 0;
    for (int64_t k = 0; k < count; k++) {
        taken[fresh] = sorted[k];
        fresh += sorted[k] >= 0;
    }
    fresh = fresh < list->end - list->at ? fresh : list->end - list->at;
    memcpy(list->at, taken, (size_t)fresh * sizeof *taken);
    list->at += fresh;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* Calls f for the columns of each row that is joined in a row of the result; the sum of what it returns. */
static inline __attribute__((always_inline)) int64_t each_line(const sparse_pair *p, int64_t row, column_set *set,
                                                               int64_t (*f)(column_set *set, const int32_t *columns,
                                                                            int64_t count)) {
    int64_t sum = 0, e, end, from, to;
    sparse_row(&p->a, row, &e, &end);
    if (!p->product) {
        sum = f(set, p->a.indices + e, end - e);
        sparse_row(&p->b, row, &from, &to);
        return sum + f(set, p->b.indices + from, to - from);
    }
    for (; e < end; e++) {
        if (!sparse_inside(p->a.indices[e], p->b.rows))
            continue;
        sparse_row(&p->b, p->a.indices[e], &from, &to);
        sum += f(set, p->b.indices + from, to - from);
    }
    return sum;
}

static void starts_rows(const sparse_pair *p, int64_t first, int64_t last, void *scratch) {
    column_set set;
    set_open(&set, p->n, scratch);
    for (int64_t row = first; row < last; row++) {
        const int64_t count = each_line(p, row, &set, set_count);
        ((int64_t *)p->out)[row + 1] = count;
        if (set.n / 64 < 8 * count)
            memset(set.level[0], 0, (size_t)(set.n / 64 + 1) * sizeof(uint64_t));
        else
            each_line(p, row, &set, set_forget);
    }
}

static void columns_rows(const sparse_pair *p, int64_t first, int64_t last, void *scratch) {
    column_set set;
    set_open(&set, p->n, scratch);
    int64_t start, end, spare, count;
    int32_t columns[SHORT + LANES];
    sparse_row(&p->c, last - 1, &start, &spare);
    for (int64_t row = first; row < last; row++) {
        int32_t *out = p->out;
        sparse_row(&p->c, row, &start, &end);
        column_list list = {out + start, out + end, p->alone ? out : out + spare};
        if (set.n / 64 < 2 * (end - start)) { /* most words have columns: all are looked at */
            each_line(p, row, &set, set_count);
            for (int64_t word = 0; word <= set.n / 64; word++) {
                list_add(&list, set.level[0][word], word);
                set.level[0][word] = 0;
            }
        } else if (!p->product && (count = short_gather(p, row, columns)) >= 0) {
            short_take(columns, count, &list);
        } else {
            each_line(p, row, &set, set_add);
            set_take(&set, set.levels - 1, 0, &list);
        }
        while (list.at < list.end) /* the starts are not those of these columns */
            *list.at++ = 0;
    }
}

static sparse_pair pair_of(const lazy_call *call, int first, int64_t matrix) {
    column_set set;
    sparse_pair p = {.a = ops_sparse_places(call, first, matrix), .b = ops_sparse_places(call, first + 2, matrix)};
    p.n = call->attrs[0];
    p.product = call->attrs[1] != 0;
    p.m = p.a.rows;
    p.scratch = set_open(&set, p.n, NULL);
    return p;
}

static double pair_work(const sparse_pair *p) {
    return p->product ? ops_sparse_terms(&p->a, &p->b) : (double)(p->a.stored + p->b.stored + p->m);
}

static int starts_call(const lazy_call *call, const neap_run *run) {
    int status = NEAP_OK;
    for (int64_t k = 0; k < ops_sparse_matrices(&call->in[1]) && status == NEAP_OK; k++) {
        sparse_pair p = pair_of(call, 0, k);
        int64_t *starts = (int64_t *)call->out->data + k * (p.m + 1);
        p.out = starts;
        p.rows = starts_rows;
        starts[0] = 0;
        status = ops_sparse_run(call, run, &p, pair_work(&p), false);
        for (int64_t row = 0; row < p.m && status == NEAP_OK; row++)
            starts[row + 1] += starts[row];
    }
    return status;
}

static int columns_call(const lazy_call *call, const neap_run *run) {
    const bool alone = !ops_sparse_rise(&call->in[4]);
    int status = NEAP_OK;
    if (call->out->size > 0)
        memset(call->out->data, 0, (size_t)call->out->size * sizeof(int32_t));
    for (int64_t k = 0; k < ops_sparse_matrices(&call->in[1]) && status == NEAP_OK; k++) {
        sparse_pair p = pair_of(call, 0, k);
        int32_t *out = (int32_t *)call->out->data + k * sparse_extent(call->out);
        p.c = (sparse_places){out, (const int32_t *)call->in[4].data + k * (p.m + 1), p.m, sparse_extent(call->out)};
        p.out = out;
        p.rows = columns_rows;
        status = ops_sparse_run(call, run, &p, pair_work(&p), alone);
    }
    return status;
}

/* ---- By columns -------------------------------------------------------------------------------------------------- */
/* A stable sort by columns that counts: parts of the elements count theirs, which says where each part writes. */
typedef struct turn_place {
    int32_t line, from;
} turn_place;

typedef struct turn_work {
    sparse_places x;
    int64_t n, parts;
    int32_t *starts, *lines, *order; /* of the result */
    int32_t *counts;                 /* n + 1 of each part; columns out of range are one more, behind the others */
    turn_place *places; /* of the result: lines and order as pairs, as one write takes half as long as two */
} turn_work;

static int64_t turn_column(const turn_work *w, int64_t e) {
    return sparse_inside(w->x.indices[e], w->n) ? w->x.indices[e] : w->n;
}

static void turn_count(void *arg, int64_t part, const neap_run *run) {
    const turn_work *w = arg;
    int32_t *counts = w->counts + part * (w->n + 1);
    (void)run;
    memset(counts, 0, (size_t)(w->n + 1) * sizeof *counts);
    for (int64_t e = w->x.stored * part / w->parts; e < w->x.stored * (part + 1) / w->parts; e++)
        counts[turn_column(w, e)]++;
}

static void turn_write(void *arg, int64_t part, const neap_run *run) {
    const turn_work *w = arg;
    int32_t *at = w->counts + part * (w->n + 1);
    int64_t e = w->x.stored * part / w->parts, row = 0;
    const int64_t end = w->x.stored * (part + 1) / w->parts;
    (void)run;
    for (; e < end; e++) {
        while (row + 1 < w->x.rows && w->x.starts[row + 1] <= e)
            row++;
        if (e + AHEAD < end)
            __builtin_prefetch(&w->places[at[turn_column(w, e + AHEAD)]], 1);
        w->places[at[turn_column(w, e)]++] = (turn_place){(int32_t)row, (int32_t)e};
    }
}

static void turn_part(void *arg, int64_t part, const neap_run *run) {
    const turn_work *w = arg;
    (void)run;
    for (int64_t e = w->x.stored * part / w->parts; e < w->x.stored * (part + 1) / w->parts; e++) {
        w->lines[e] = w->places[e].line;
        w->order[e] = w->places[e].from;
    }
}

static int turn_one(turn_work *w, const neap_run *run) {
    w->parts = w->x.stored / (TURN_WORK + 2 * w->n) + 1;
    w->parts = w->parts < PARTS ? w->parts : PARTS;
    const size_t places = (size_t)w->x.stored * sizeof *w->places;
    const size_t bytes = places + (size_t)(w->parts * (w->n + 1)) * sizeof *w->counts;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return neap_error(status, "sparse_transpose: no memory for %lld columns", (long long)w->n);
    w->places = scratch;
    w->counts = (int32_t *)((char *)scratch + places);
    neap_parallel_for(run, w->parts, turn_count, w);
    if (!neap_run_cancelled(run)) {
        int32_t sum = 0;
        for (int64_t column = 0; column <= w->n; column++) {
            w->starts[column] = sum;
            for (int64_t part = 0; part < w->parts; part++) {
                int32_t *count = &w->counts[part * (w->n + 1) + column], own = *count;
                *count = sum;
                sum += own;
            }
        }
        neap_parallel_for(run, w->parts, turn_write, w);
        neap_parallel_for(run, w->parts, turn_part, w);
    }
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int transpose_call(const lazy_call *call, const neap_run *run) {
    int status = NEAP_OK;
    for (int64_t k = 0; k < ops_sparse_matrices(&call->in[1]) && status == NEAP_OK; k++) {
        turn_work w = {.x = ops_sparse_places(call, 0, k), .n = call->attrs[0]};
        w.starts = (int32_t *)call->out->data + k * sparse_extent(call->out);
        w.lines = w.starts + w.n + 1;
        w.order = w.lines + w.x.stored;
        status = turn_one(&w, run);
    }
    return status;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */
int ops_sparse_check_places(const char *op, const lazy_call_desc *call, int first, int count) {
    const lazy_aval *in = call->in;
    const int lead = in[first].ndim - 1;
    if (call->nattrs < 1 || call->attrs[0] < 0 || call->attrs[0] > INT32_MAX)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected a number of columns", op);
    for (int k = first; k < first + 2 * count; k++) {
        bool fits = lead >= 0 && in[k].ndim == lead + 1;
        for (int axis = 0; fits && axis < lead; axis++)
            fits = in[k].shape[axis] == in[first].shape[axis];
        if (!fits || in[k].shape[lead] < (k - first) % 2 || in[k].shape[lead] > INT32_MAX + (int64_t)1)
            return neap_error(NEAP_E_SHAPE, "%s: the shapes of indices and starts of rows do not fit", op);
        if (in[k].dtype != NEAP_DTYPE_I32)
            return neap_error(NEAP_E_DTYPE, "%s: expected indices of dtype i32, got %s", op,
                              neap_dtype_name(in[k].dtype));
    }
    return NEAP_OK;
}

int ops_sparse_check_data(const char *op, const lazy_aval *data, const lazy_aval *indices, int dtype) {
    bool fits = data->ndim == indices->ndim;
    for (int axis = 0; fits && axis < data->ndim; axis++)
        fits = data->shape[axis] == indices->shape[axis];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "%s: the shapes of elements and indices do not fit", op);
    if (data->dtype != dtype)
        return neap_error(NEAP_E_DTYPE, "%s: expected operands of one dtype, got %s and %s", op, neap_dtype_name(dtype),
                          neap_dtype_name(data->dtype));
    return NEAP_OK;
}

int ops_sparse_check_rows(const char *op, const lazy_aval *a, const lazy_aval *b) {
    const long long m = a->shape[a->ndim - 1] - 1, n = b->shape[b->ndim - 1] - 1;
    return m == n ? NEAP_OK : neap_error(NEAP_E_SHAPE, "%s: %lld and %lld rows", op, m, n);
}

int ops_sparse_last_axis(lazy_result *out, const lazy_aval *like, int64_t last) {
    out->ndim = like->ndim;
    memcpy(out->shape, like->shape, (size_t)like->ndim * sizeof *out->shape);
    out->shape[out->ndim - 1] = last;
    return NEAP_OK;
}

static int sparse_starts_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    int status = ops_sparse_check_places("sparse_starts", call, 0, 2);
    if (status == NEAP_OK && call->nattrs != 2)
        status = neap_error(NEAP_E_ARGUMENT, "sparse_starts: expected columns and product");
    if (status == NEAP_OK && !call->attrs[1])
        status = ops_sparse_check_rows("sparse_starts", &in[1], &in[3]);
    return status ? status : ops_sparse_last_axis(out, &in[1], in[1].shape[in[1].ndim - 1]);
}

static int sparse_columns_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    int status = ops_sparse_check_places("sparse_columns", call, 0, 2);
    if (status == NEAP_OK && (call->nattrs != 3 || call->attrs[2] < 0 || call->attrs[2] > INT32_MAX))
        status = neap_error(NEAP_E_ARGUMENT, "sparse_columns: expected columns, product and a number of elements");
    if (status == NEAP_OK && !call->attrs[1])
        status = ops_sparse_check_rows("sparse_columns", &in[1], &in[3]);
    if (status == NEAP_OK)
        status = ops_sparse_check_data("sparse_columns", &in[4], &in[1], NEAP_DTYPE_I32);
    return status ? status : ops_sparse_last_axis(out, &in[1], call->attrs[2]);
}

static int sparse_transpose_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    int status = ops_sparse_check_places("sparse_transpose", call, 0, 1);
    const int last = in[0].ndim - 1;
    return status ? status : ops_sparse_last_axis(out, &in[0], call->attrs[0] + 1 + 2 * in[0].shape[last]);
}

static int sparse_starts_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I64;
    return NEAP_OK;
}

/* ---- Costs ------------------------------------------------------------------------------------------------------- */
double ops_sparse_flops(const lazy_aval *a, const lazy_aval *b, const lazy_aval *starts) {
    return (double)a->size * ((double)b->size / (double)(starts->size > 0 ? starts->size : 1));
}

static int64_t sparse_pair_cost(const lazy_call_desc *call, const lazy_result *out) {
    const lazy_aval *in = call->in;
    (void)out;
    return 500 + 3 * (in[0].size + in[2].size) +
           (call->attrs[1] ? 3 * (int64_t)ops_sparse_flops(&in[0], &in[2], &in[3]) : 0);
}

static int64_t sparse_transpose_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 500 + 10 * call->in[0].size + call->attrs[0];
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
NEAP_OP(
    sparse_starts,
    .doc =
        "Where the rows of the sum of two sparse matrices of `columns` columns begin, of their product where `product` "
        "is 1: columns (…, s) and starts of rows (…, m + 1) of the one, columns (…, t) and starts of rows (…, k + 1) "
        "of the other, all i32, give (…, m + 1), i64. Places that only zeros lead to count.",
    .attrs = "columns product", .kind = LAZY_CALL, .arity = 4, .types = LAZY_INT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = sparse_starts_dtype,
    .shape = sparse_starts_shape, .call = starts_call, .cost = sparse_pair_cost, .batch = derive_batch_leading)

NEAP_OP(sparse_columns,
        .doc = "The columns, in order, of the elements of the sum or the product of two sparse matrices: places as in "
               "sparse_starts, and what that gave, as i32 (…, m + 1), give (…, elements), i32.",
        .attrs = "columns product elements", .kind = LAZY_CALL, .arity = 5, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same,
        .shape = sparse_columns_shape, .call = columns_call, .cost = sparse_pair_cost, .batch = derive_batch_leading)

NEAP_OP(
    sparse_transpose,
    .doc =
        "A sparse matrix of `columns` columns, by columns: columns (…, s) and starts of rows (…, m + 1), i32, give "
        "(…, columns + 1 + 2 s): where columns begin, the row of each element, and which element it is. Elements of a "
        "column stay in order; those whose column is out of range stand at the end.",
    .attrs = "columns", .kind = LAZY_CALL, .arity = 2, .types = LAZY_INT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same,
    .shape = sparse_transpose_shape, .call = transpose_call, .cost = sparse_transpose_cost,
    .batch = derive_batch_leading)
