/* format.c: arrays and numbers as text.
 *
 * An array is printed in two passes over the elements that will be shown. The first finds the style that all of them
 * share (how wide the integers are; how many digits stand left and right of the point; whether an exponent is needed);
 * the second writes them into lines. Both walk the same odometer over *shown* positions: an axis that is cut to
 * "0 1 2 ... 7 8 9" has six of them.
 *
 *      graph_format ─┬─ style_measure   pass 1      ┐ element_* read one element,
 *                   └─ array_write     pass 2      ┘ graph_decimal.c gives a float's digits
 *
 * Invariants: memory grows with the text alone, never with the array; nothing recurses; a failure leaves the text as it
 * was.
 */
#include "lazy/graph/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/graph/decimal.h"

enum {
    /* Room for one part of a complex number, and for one element: an f64 without an exponent has at most 17 digits
     * before the point (0-d, below 1e16) or 8 digits (in arrays, below 1e8), and pads are no wider than that. */
    PART_BYTES = 48,
    ELEMENT_BYTES = 2 * PART_BYTES + 32
};

/* What scripts may set. Changed only while nothing is being written (lazy.h). */
static neap_print_options print_options = {.threshold = 1000,
                                           .edgeitems = LAZY_FORMAT_EDGE,
                                           .linewidth = 75,
                                           .precision = 8,
                                           .sign = '-',
                                           .nan = "nan",
                                           .inf = "inf"};

neap_print_options *neap_print_options_now(void) {
    return &print_options;
}

static int text_repeat(lazy_text *text, char c, int64_t n) {
    char run[64];
    memset(run, c, sizeof run);
    while (n > 0) {
        size_t part = n < (int64_t)sizeof run ? (size_t)n : sizeof run;
        int status = graph_text_add(text, run, part);
        if (status != NEAP_OK)
            return status;
        n -= (int64_t)part;
    }
    return NEAP_OK;
}

/* ---- Elements --------------------------------------------------------------------------------------------------- */

/* As snprintf. */
static int integer_write(int dtype, const void *element, char *out, size_t capacity) {
    uint64_t bits = dtype_bits(dtype, element);
    return neap_dtype_kind(dtype) == 'i' ? snprintf(out, capacity, "%" PRId64, (int64_t)bits)
                                         : snprintf(out, capacity, "%" PRIu64, bits);
}

_Static_assert(NEAP_DTYPE_REALS == 2, "the limits below are those of f32, f64 and halves");

/* From which size on floats are written with an exponent; `alone`: outside of arrays. */
static double exponent_from(int dtype, bool alone) {
    return dtype_is_half(dtype) ? 1e3 : dtype == NEAP_DTYPE_F32 ? 1e6 : alone ? 1e16 : 1e8;
}

/* ---- 0-d arrays ------------------------------------------------------------------------------------------------- */

static const char *nonfinite_name(double value) {
    return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

static void scalar_write(int dtype, const void *element, char *out);

/* "(1+2j)", and "2j" where the real part is 0: parts are integers where they can be. */
static void complex_scalar_write(int dtype, const unsigned char *element, char *out) {
    char text[2][PART_BYTES];
    int part = dtype_of_part(dtype), bytes = neap_dtype_bytes(part);
    for (int k = 0; k < 2; k++) {
        scalar_write(part, element + k * bytes, text[k]);
        size_t n = strlen(text[k]);
        if (n > 2 && strcmp(text[k] + n - 2, ".0") == 0)
            text[k][n - 2] = '\0';
    }
    double real = dtype_number(part, element);
    if (real == 0 && !signbit(real))
        sprintf(out, "%sj", text[1]);
    else
        sprintf(out, "(%s%s%sj)", text[0], text[1][0] == '-' ? "" : "+", text[1]);
}

/* A float in an array that is not finite, with its sign if it is negative or `plus`; in room for 24 bytes. */
static const char *nonfinite_text(double value, bool plus, char *out) {
    snprintf(out, 24, "%s%s", value < 0 ? "-" : plus ? "+" : "", isnan(value) ? print_options.nan : print_options.inf);
    return out;
}

/* The text of one element on its own. Floats take an exponent below 1e-4 and from 1e16 (f32: 1e6) on. */
static void scalar_write(int dtype, const void *element, char *out) {
    int kind = neap_dtype_kind(dtype);
    if (kind == 'c') {
        complex_scalar_write(dtype, element, out);
        return;
    }
    if (kind == 'b') {
        strcpy(out, dtype_bits(dtype, element) ? "True" : "False");
        return;
    }
    if (kind != 'f') {
        integer_write(dtype, element, out, ELEMENT_BYTES);
        return;
    }
    double value = dtype_number(dtype, element), size = fabs(value);
    if (!isfinite(value)) {
        strcpy(out, nonfinite_name(value));
        return;
    }
    graph_decimal d;
    graph_decimal_shortest(dtype, value, &d);
    if (size == 0 || (size >= 1e-4 && size < exponent_from(dtype, true))) {
        graph_decimal_positional(&d, 1, out);
    } else {
        graph_decimal_scientific(&d, d.count - 1, false, 2, out);
    }
}

/* ---- Walking over the shown elements ---------------------------------------------------------------------------- */

typedef struct array {
    int dtype, ndim;
    const int64_t *shape, *parts;
    const void *const *blocks;
    int64_t extent[NEAP_MAX_DIMS]; /* the shape of a block */
    int64_t held[NEAP_MAX_DIMS];   /* the shape of the part of a block that is in memory */
    int64_t stride[NEAP_MAX_DIMS]; /* the strides of that part, in bytes */
    int64_t shown[NEAP_MAX_DIMS];  /* positions that are shown, of each axis */
    int edge;                      /* of an axis that is cut, positions at each end */
    int skip;                      /* bytes: of an array that is the imaginary parts of another one */
} array;

/* The index along an axis of a shown position. */
static int64_t array_index(const array *a, int axis, int64_t position) {
    return position < a->edge ? position : a->shape[axis] - a->shown[axis] + position;
}

/* Does "..." stand before this position? */
static bool array_cut(const array *a, int axis, int64_t position) {
    return position == a->edge && a->shown[axis] < a->shape[axis];
}

/* A row (last axis): its part of the first of the blocks that it runs through. */
typedef struct array_row {
    const void *const *blocks;
    int64_t offset; /* in each of them, in bytes */
} array_row;

/* Where the element of this index is in the memory of its block, along an axis. */
static int64_t array_place(const array *a, int axis, int64_t index) {
    int64_t at = index % a->extent[axis];
    return a->stride[axis] * (at < LAZY_FORMAT_EDGE ? at : at - (a->extent[axis] - a->held[axis]));
}

/* The row at these positions of the other axes. */
static array_row array_row_at(const array *a, const int64_t *position) {
    int64_t block = 0, offset = 0;
    for (int k = 0; k < a->ndim - 1; k++) {
        int64_t index = array_index(a, k, position[k]);
        block = block * a->parts[k] + index / a->extent[k];
        offset += array_place(a, k, index);
    }
    return (array_row){a->blocks + block * a->parts[a->ndim - 1], offset};
}

static const unsigned char *array_element(const array *a, const array_row *row, int64_t position) {
    int last = a->ndim - 1;
    int64_t index = array_index(a, last, position);
    const unsigned char *block = row->blocks[index / a->extent[last]];
    return block + a->skip + row->offset + array_place(a, last, index);
}

/* Moves to the next row. Returns the outermost axis that moved, -1 at the end. */
static int array_next_row(const array *a, int64_t *position) {
    for (int k = a->ndim - 2; k >= 0; k--) {
        if (++position[k] < a->shown[k])
            return k;
        position[k] = 0;
    }
    return -1;
}

/* ---- Pass 1: the style ------------------------------------------------------------------------------------------ */

typedef struct style {
    bool exponent_notation;
    bool plus;           /* a number that is not negative has a sign, too */
    int left, right;     /* characters before the point, after it (with the exponent) */
    int fraction;        /* exponent form: digits after the point */
    int exponent_digits; /* exponent form */
    int width;           /* integers and bools: of an element */
} style;

typedef struct extent { /* what the floats of an array span */
    bool any_finite, any_nan, any_infinity, negative_infinity, negative;
    double smallest, largest; /* of the absolute values that are finite and not 0; largest is 0 if there are none */
} extent;

/* Calls fn(arg, dtype, element) for every shown element. */
static void array_each(const array *a, void (*fn)(void *arg, int dtype, const void *element), void *arg) {
    int64_t position[NEAP_MAX_DIMS] = {0};
    int last = a->ndim - 1;
    do {
        array_row row = array_row_at(a, position);
        for (int64_t i = 0; i < a->shown[last]; i++) {
            fn(arg, a->dtype, array_element(a, &row, i));
        }
    } while (array_next_row(a, position) >= 0);
}

static void extent_see(void *arg, int dtype, const void *element) {
    extent *e = arg;
    double value = dtype_number(dtype, element), size = fabs(value);
    if (!isfinite(value)) {
        *(isnan(value) ? &e->any_nan : &e->any_infinity) = true;
        if (value < 0)
            e->negative_infinity = true;
        return;
    }
    e->any_finite = true;
    if (signbit(value))
        e->negative = true;
    if (size == 0)
        return;
    if (e->largest == 0 || size < e->smallest)
        e->smallest = size;
    if (size > e->largest)
        e->largest = size;
}

/* Do these floats need an exponent? The comparisons are made in their own dtype, as NumPy makes them. */
static bool extent_wants_exponent(const extent *e, int dtype) {
    if (e->largest == 0)
        return false;
    if (print_options.suppress) /* small numbers are cut off instead */
        return e->largest >= exponent_from(dtype, false);
    return e->largest >= exponent_from(dtype, false) || e->smallest < dtype_round(dtype, 1e-4) ||
           dtype_round(dtype, e->largest / e->smallest) > 1e3;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

static void style_see_float(void *arg, int dtype, const void *element) {
    style *s = arg;
    double value = dtype_number(dtype, element);
    if (!isfinite(value))
        return;
    graph_decimal d;
    graph_decimal_limited(dtype, value, s->exponent_notation, print_options.precision, &d);
    if (s->exponent_notation) {
        s->left = larger(s->left, (d.negative || s->plus) + 1);
        s->fraction = larger(s->fraction, d.count - 1);
        s->exponent_digits = larger(s->exponent_digits, abs(d.exponent) > 99 ? 3 : 2);
        s->right = s->fraction + 2 + s->exponent_digits;
    } else {
        s->left = larger(s->left, graph_decimal_left(&d) + (s->plus && !d.negative));
        s->right = larger(s->right, graph_decimal_right(&d));
    }
}

static void style_see_integer(void *arg, int dtype, const void *element) {
    style *s = arg;
    s->width = larger(s->width, integer_write(dtype, element, NULL, 0));
}

/* Of real and other ordered dtypes. */
static style style_measure(const array *a, bool plus) {
    style s = {.plus = plus || print_options.sign == '+'};
    int kind = neap_dtype_kind(a->dtype);
    if (kind == 'b') {
        s.width = 5;
    } else if (kind != 'f') {
        array_each(a, style_see_integer, &s);
    } else {
        extent e = {0};
        array_each(a, extent_see, &e);
        s.exponent_notation = extent_wants_exponent(&e, a->dtype);
        array_each(a, style_see_float, &s);
        if (print_options.sign == ' ' && !plus && e.any_finite && !e.negative)
            s.left++;
        char text[24];
        if (e.any_nan)
            s.left = larger(s.left, (int)strlen(nonfinite_text(NAN, s.plus, text)) - s.right - 1);
        double infinity = e.negative_infinity ? -INFINITY : INFINITY;
        if (e.any_infinity)
            s.left = larger(s.left, (int)strlen(nonfinite_text(infinity, s.plus, text)) - s.right - 1);
    }
    return s;
}

/* Of an array of complex numbers: of their real parts, and of their imaginary parts. */
static void styles_measure(const array *a, style *s) {
    array part = *a;
    part.dtype = dtype_of_part(a->dtype);
    s[0] = style_measure(&part, false);
    part.skip = neap_dtype_bytes(part.dtype);
    if (part.dtype != a->dtype)
        s[1] = style_measure(&part, true);
}

/* ---- Pass 2: the lines ------------------------------------------------------------------------------------------ */

/* n spaces, none if n is negative. Returns how many. */
static int pad(char *out, int n) {
    if (n <= 0)
        return 0;
    memset(out, ' ', (size_t)n);
    return n;
}

/* One float, padded to the common width. Returns its length. */
static int float_write(const style *s, int dtype, double value, char *out) {
    if (!isfinite(value)) {
        char text[24];
        const char *name = nonfinite_text(value, s->plus, text);
        int n = pad(out, s->left + s->right + 1 - (int)strlen(name));
        strcpy(out + n, name);
        return n + (int)strlen(name);
    }
    int plus = s->plus && !signbit(value);
    graph_decimal d;
    graph_decimal_limited(dtype, value, s->exponent_notation, print_options.precision, &d);
    if (s->exponent_notation) {
        if (d.count - 1 < s->fraction) { /* as NumPy: the common width is filled with digits of the exact value */
            graph_decimal_round(fabs(value), s->fraction + 1, &d);
        }
        int n = pad(out, s->left - d.negative - plus - 1);
        if (plus)
            out[n++] = '+';
        return n + graph_decimal_scientific(&d, s->fraction, true, s->exponent_digits, out + n);
    }
    int n = pad(out, s->left - plus - graph_decimal_left(&d));
    if (plus)
        out[n++] = '+';
    n += graph_decimal_positional(&d, 0, out + n);
    return n + pad(out + n, s->right - graph_decimal_right(&d));
}

/* "1.+2.j": both parts padded, the j behind the digits. */
static int complex_write(const style *s, int dtype, const unsigned char *element, char *out) {
    int part = dtype_of_part(dtype);
    int n = float_write(s, part, dtype_number(part, element), out), start = n;
    n += float_write(s + 1, part, dtype_number(part, element + neap_dtype_bytes(part)), out + n);
    int digits = n;
    while (digits > start && out[digits - 1] == ' ')
        digits--;
    memmove(out + digits + 1, out + digits, (size_t)(n - digits));
    out[digits] = 'j';
    out[n + 1] = '\0';
    return n + 1;
}

/* One element, padded to the common width, or widths of its parts. Returns its length. */
static int element_write(const style *s, int dtype, const void *element, char *out) {
    int kind = neap_dtype_kind(dtype);
    if (kind == 'f')
        return float_write(s, dtype, dtype_number(dtype, element), out);
    if (kind == 'c')
        return complex_write(s, dtype, element, out);
    char text[ELEMENT_BYTES];
    scalar_write(dtype, element, text);
    int n = pad(out, s->width - (int)strlen(text));
    strcpy(out + n, text);
    return n + (int)strlen(text);
}

/* Appends a word of a row, on a new line if it would pass the last column. *column counts the current line. */
static int word_add(lazy_text *out, const char *word, int bytes, int ndim, int *column) {
    int status = NEAP_OK;
    if (*column + bytes > print_options.linewidth - ndim && *column > ndim) {
        while (out->data[out->bytes - 1] == ' ')
            out->bytes--;
        status = graph_text_add(out, "\n", 1);
        if (status == NEAP_OK)
            status = text_repeat(out, ' ', ndim);
        *column = ndim;
    }
    *column += bytes;
    return status == NEAP_OK ? graph_text_add(out, word, (size_t)bytes) : status;
}

/* The elements of one row, without its brackets. */
static int row_write(const array *a, const style *s, const array_row *row, lazy_text *out) {
    char word[ELEMENT_BYTES];
    int last = a->ndim - 1, column = a->ndim;
    for (int64_t i = 0; i < a->shown[last]; i++) {
        int status = NEAP_OK;
        if (array_cut(a, last, i)) {
            status = word_add(out, "...", 3, a->ndim, &column);
            if (status == NEAP_OK)
                status = graph_text_add(out, " ", 1);
            column++;
        }
        int bytes = element_write(s, a->dtype, array_element(a, row, i), word);
        if (status == NEAP_OK)
            status = word_add(out, word, bytes, a->ndim, &column);
        if (status == NEAP_OK && i + 1 < a->shown[last])
            status = graph_text_add(out, " ", 1);
        column++;
        if (status != NEAP_OK)
            return status;
    }
    return NEAP_OK;
}

/* What stands between two rows, the outermost axis that moved being `axis`. */
static int gap_write(const array *a, int axis, bool cut, lazy_text *out) {
    int depth = a->ndim - 1 - axis;
    int status = text_repeat(out, ']', depth);
    for (int k = 0; k <= cut && status == NEAP_OK; k++) {
        if (k == 1)
            status = graph_text_add(out, "...", 3);
        if (status == NEAP_OK)
            status = text_repeat(out, '\n', depth);
        if (status == NEAP_OK)
            status = text_repeat(out, ' ', axis + 1);
    }
    return status == NEAP_OK ? text_repeat(out, '[', depth) : status;
}

static int array_write(const array *a, const style *s, lazy_text *out) {
    int64_t position[NEAP_MAX_DIMS] = {0};
    int status = text_repeat(out, '[', a->ndim);
    int axis = 0;
    while (status == NEAP_OK) {
        array_row row = array_row_at(a, position);
        status = row_write(a, s, &row, out);
        axis = array_next_row(a, position);
        if (axis < 0)
            break;
        if (status == NEAP_OK)
            status = gap_write(a, axis, array_cut(a, axis, position[axis]), out);
    }
    return status == NEAP_OK ? text_repeat(out, ']', a->ndim) : status;
}

int graph_format(int dtype, int ndim, const int64_t *shape, const void *data, lazy_text *out) {
    static const int64_t whole[NEAP_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return graph_format_blocks(dtype, ndim, shape, whole, false, &data, out);
}

bool graph_format_cuts(int64_t size) {
    return size > print_options.threshold && print_options.edgeitems <= LAZY_FORMAT_EDGE;
}

int graph_format_blocks(int dtype, int ndim, const int64_t *shape, const int64_t *parts, bool cut,
                        const void *const *blocks, lazy_text *out) {
    if (neap_dtype_name(dtype) == NULL)
        return neap_error(NEAP_E_ARGUMENT, "no dtype has the number %d", dtype);
    if (ndim < 0 || ndim > NEAP_MAX_DIMS)
        return neap_error(NEAP_E_ARGUMENT, "an array cannot have %d axes", ndim);
    if (ndim == 0) {
        char text[ELEMENT_BYTES];
        scalar_write(dtype, blocks[0], text);
        return graph_text_add(out, text, strlen(text));
    }
    array a = {.dtype = dtype, .ndim = ndim, .shape = shape, .parts = parts, .blocks = blocks};
    int64_t size = 1, stride = neap_dtype_bytes(dtype);
    for (int k = ndim - 1; k >= 0; k--) {
        a.extent[k] = shape[k] / parts[k];
        a.held[k] = cut && a.extent[k] > 2 * LAZY_FORMAT_EDGE ? 2 * LAZY_FORMAT_EDGE : a.extent[k];
        a.stride[k] = stride;
        stride *= a.held[k];
        size *= shape[k];
    }
    if (size == 0)
        return graph_text_add(out, "[]", 2);
    a.edge = cut && print_options.edgeitems > LAZY_FORMAT_EDGE ? LAZY_FORMAT_EDGE : print_options.edgeitems;
    for (int k = 0; k < ndim; k++)
        a.shown[k] = (cut || size > print_options.threshold) && shape[k] > 2 * a.edge ? 2 * a.edge : shape[k];
    size_t start = out->bytes;
    style s[2] = {{0}};
    styles_measure(&a, s);
    int status = array_write(&a, s, out);
    if (status != NEAP_OK) {
        out->bytes = start;
        if (out->data != NULL)
            out->data[start] = '\0';
    }
    return status;
}
