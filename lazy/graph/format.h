/* format.h: the text of arrays and of single elements, and the growing text that they are written to.
 *
 * Arrays print as NumPy's str() prints them (NumPy 2.3 and later), with the options of neap_print_options_now():
 * shortest digits that give the value back, at most 8 after the point, one width for all elements, lines of 75 columns,
 * and from 1001 elements on only the three at each end of an axis.
 */
#ifndef LAZY_FORMAT_H
#define LAZY_FORMAT_H

#include <stdbool.h>

#include "lazy/lazy.h"

/* A growing text. All zero is empty. `data` is NULL while nothing was added, after that it ends in a NUL that `bytes`
 * does not count. */
typedef struct lazy_text {
    char *data;
    size_t bytes, capacity;
} lazy_text;

/* Appends n bytes. NEAP_E_MEMORY leaves the text as it was. */
int graph_text_add(lazy_text *text, const char *s, size_t n);
/* Appends as printf does. NEAP_E_MEMORY leaves the text as it was. */
int graph_text_addf(lazy_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Frees what the text holds and makes it empty. */
void graph_text_free(lazy_text *text);

/* Appends the text of an array with elements at `data`, contiguous in row-major order. Of a large array only the
 * elements that are shown are read. A 0-d array prints as a NumPy scalar: "0.1", "1e-05", "True". NEAP_E_MEMORY and
 * NEAP_E_ARGUMENT (no such dtype, too many axes) leave the text as it was. */
int graph_format(int dtype, int ndim, const int64_t *shape, const void *data, lazy_text *out);
/* The same for an array that lies in blocks: axis k is divided into parts[k] equal parts, and there is a block for each
 * combination of parts, in row-major order, with its elements contiguous in row-major order. If the blocks are cut,
 * each holds only the first and the last LAZY_FORMAT_EDGE elements along each of its axes. */
int graph_format_blocks(int dtype, int ndim, const int64_t *shape, const int64_t *parts, bool cut,
                        const void *const *blocks, lazy_text *out);
/* Whether of an array of this size no more than the LAZY_FORMAT_EDGE elements at each end of an axis are shown. */
bool graph_format_cuts(int64_t size);
enum { LAZY_FORMAT_EDGE = 3 };

/* Appends one element through a conversion; NULL: the text of a 0-d array. It is one of printf's, flags, at most two
 * digits of width and of precision, then one of "diuxXoeEfFgGaAs"; or ":" and what stands in a field of Python's
 * str.format, ">8.3f", with types of "bdoxXeEfFgG%s" or none, and the same digits. Booleans count as 0 and 1, a float
 * must be integral where the conversion wants an integer, and s takes the text of a 0-d array. NEAP_E_ARGUMENT names a
 * conversion that is not one of these or a value that does not fit it; NEAP_E_MEMORY. Both leave the text as it was. */
int graph_format_number(int dtype, const void *element, const char *conversion, lazy_text *out);
/* NEAP_E_ARGUMENT: no element of the dtype (-1: no text) fits the conversion. */
int graph_format_check(int dtype, const char *conversion);

#endif
