/* decimal.h: the decimal digits of floats: the fewest that read back as the same value in its own dtype, and of those
 * the nearest to it; where a limit cuts them off they are the exact value rounded at that place. */
#ifndef LAZY_DECIMAL_H
#define LAZY_DECIMAL_H

#include <stdbool.h>

enum { LAZY_DECIMAL_DIGITS = 17 }; /* that any f64 needs */

/* ±d.ddd… · 10^exponent without trailing zeros; zero is one digit '0'. */
typedef struct graph_decimal {
    bool negative;
    int count, exponent;
    char digits[LAZY_DECIMAL_DIGITS + 2];
} graph_decimal;

/* `count` correctly rounded digits of a finite value ≥ 0, without its sign. */
void graph_decimal_round(double value, int count, graph_decimal *out);
/* The fewest digits that read back as a finite value of this dtype. */
void graph_decimal_shortest(int dtype, double value, graph_decimal *out);
/* The same, but at most `most` digits after the point of the positional form, for values below 1e8, or of the exponent
 * form. */
void graph_decimal_limited(int dtype, double value, bool exponent_notation, int most, graph_decimal *out);
/* Characters before the point, the sign included; digits after it. */
int graph_decimal_left(const graph_decimal *d);
int graph_decimal_right(const graph_decimal *d);
/* "-12.5": at least min_right digits after the point; the point itself always. Returns the length. */
int graph_decimal_positional(const graph_decimal *d, int min_right, char *out);
/* "-1.25e+08": `right` digits after the point, at least exponent_digits in the exponent. point: write one even when no
 * digit follows. Returns the length. */
int graph_decimal_scientific(const graph_decimal *d, int right, bool point, int exponent_digits, char *out);

#endif
