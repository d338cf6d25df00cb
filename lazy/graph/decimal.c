/* decimal.c: the decimal digits of floats, and the two forms in which they are written (decimal.h). */
#include "lazy/graph/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/lazy.h"

_Static_assert(NEAP_DTYPE_REALS == 2, "the digits below are those of f32, f64 and halves");

static void decimal_trim(graph_decimal *d) {
    while (d->count > 1 && d->digits[d->count - 1] == '0')
        d->count--;
    d->digits[d->count] = '\0';
}

void graph_decimal_round(double value, int count, graph_decimal *out) {
    char text[LAZY_DECIMAL_DIGITS + 16];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    const char *s = text;
    out->count = 0;
    for (; *s != 'e'; s++) {
        if (*s >= '0' && *s <= '9')
            out->digits[out->count++] = *s;
    }
    out->digits[out->count] = '\0';
    out->exponent = (int)strtol(s + 1, NULL, 10);
}

/* The next larger decimal of the same number of digits. */
static void decimal_next(graph_decimal *d) {
    int k = d->count - 1;
    while (k >= 0 && d->digits[k] == '9')
        d->digits[k--] = '0';
    if (k >= 0) {
        d->digits[k]++;
    } else {
        d->digits[0] = '1';
        d->exponent++;
    }
}

/* Does the decimal read back as the value? */
static bool decimal_reads(const graph_decimal *d, int dtype, double value) {
    char text[LAZY_DECIMAL_DIGITS + 24];
    snprintf(text, sizeof text, "%c.%se%d", d->digits[0], d->digits + 1, d->exponent);
    return dtype == NEAP_DTYPE_F32 ? (double)strtof(text, NULL) == value
                                   : dtype_round(dtype, strtod(text, NULL)) == value;
}

/* The nearest decimal of `count` digits that reads back as value ≥ 0; false if there is none. Below a power of two
 * floats lie closer than above it, so there the nearest decimal may fail where its larger neighbour does not. */
static bool decimal_fits(int dtype, double value, int count, graph_decimal *out) {
    int power;
    graph_decimal_round(value, count, out);
    if (decimal_reads(out, dtype, value))
        return true;
    if (frexp(value, &power) != 0.5)
        return false;
    decimal_next(out);
    return decimal_reads(out, dtype, value);
}

void graph_decimal_shortest(int dtype, double value, graph_decimal *out) {
    bool negative = signbit(value) != 0;
    value = fabs(value);
    /* These have no shorter neighbours. */
    double exact_integers = dtype == NEAP_DTYPE_F64 ? 1e15 : ldexp(1, dtype_digits(dtype));
    if (value < exact_integers && value == floor(value)) {
        snprintf(out->digits, sizeof out->digits, "%.0f", value);
        out->count = (int)strlen(out->digits);
        out->exponent = out->count - 1;
    } else {
        int low = 1, high = dtype == NEAP_DTYPE_F64 ? LAZY_DECIMAL_DIGITS : 9; /* more digits never fit worse */
        while (low < high) {
            int middle = (low + high) / 2;
            if (decimal_fits(dtype, value, middle, out)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        decimal_fits(dtype, value, low, out);
    }
    out->negative = negative;
    decimal_trim(out);
}

void graph_decimal_limited(int dtype, double value, bool exponent_notation, int most, graph_decimal *out) {
    graph_decimal_shortest(dtype, value, out);
    int after_point = exponent_notation ? out->count - 1 : out->count - 1 - out->exponent;
    if (after_point <= most)
        return;
    if (exponent_notation) {
        graph_decimal_round(fabs(value), most + 1, out);
        decimal_trim(out);
        return;
    }
    char text[LAZY_DECIMAL_DIGITS + 24]; /* the positional form is only used below 1e8 */
    snprintf(text, sizeof text, "%.*f", most, fabs(value));
    out->count = 0;
    out->exponent = (int)strcspn(text, ".") - 1;
    for (const char *s = text; *s != '\0'; s++) {
        if (*s == '.')
            continue;
        if (out->count == 0 && *s == '0') { /* leading zeros only move the point */
            out->exponent--;
            continue;
        }
        out->digits[out->count++] = *s;
    }
    if (out->count == 0) {
        out->digits[out->count++] = '0';
        out->exponent = 0;
    }
    decimal_trim(out);
}

int graph_decimal_left(const graph_decimal *d) {
    return d->negative + (d->exponent > 0 ? d->exponent + 1 : 1);
}

int graph_decimal_right(const graph_decimal *d) {
    int right = d->count - 1 - d->exponent;
    return right > 0 ? right : 0;
}

/* Digit at 10^place, '0' outside of those that are kept. */
static char decimal_digit(const graph_decimal *d, int place) {
    int k = d->exponent - place;
    return k >= 0 && k < d->count ? d->digits[k] : '0';
}

int graph_decimal_positional(const graph_decimal *d, int min_right, char *out) {
    int n = 0, right = graph_decimal_right(d);
    if (d->negative)
        out[n++] = '-';
    for (int place = d->exponent > 0 ? d->exponent : 0; place >= 0; place--)
        out[n++] = decimal_digit(d, place);
    out[n++] = '.';
    for (int place = 1; place <= right || place <= min_right; place++)
        out[n++] = decimal_digit(d, -place);
    out[n] = '\0';
    return n;
}

int graph_decimal_scientific(const graph_decimal *d, int right, bool point, int exponent_digits, char *out) {
    int n = 0;
    if (d->negative)
        out[n++] = '-';
    out[n++] = d->digits[0];
    if (point || right > 0)
        out[n++] = '.';
    for (int k = 1; k <= right; k++)
        out[n++] = k < d->count ? d->digits[k] : '0';
    return n + sprintf(out + n, "e%c%0*d", d->exponent < 0 ? '-' : '+', exponent_digits, abs(d->exponent));
}
