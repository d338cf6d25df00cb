/* sizes.h: public interface of the lazy room, fourth part: sizes as symbols, and programs for every size.
 *
 * While a *transcript* is open, sizes are *size values*: what they are now, and the expression of declared names that
 * they are. The transcript keeps what the library is asked to record, with these expressions in place of numbers, and
 * what the caller decided by comparing them. Played for other sizes, it asks for the same again: each function of the
 * library decides anew, and what the caller decided is checked. So the program that comes out is the one that the
 * caller would have recorded, or there is an error.
 *
 *      begin ─ size, size, … ─ trace_begin … neap_op … trace_end ─ end ──▶ transcript ──play(12)──▶ program
 */
#ifndef NEAP_SIZES_H
#define NEAP_SIZES_H

#include "lazy/programs.h"

typedef struct neap_transcript neap_transcript;

/* A size, or a real number that was computed from sizes. expr 0: a number like others. */
typedef struct neap_size {
    double now;
    int32_t expr;
    int32_t of; /* the transcript that it belongs to, by number */
} neap_size;

/* Opens a transcript, which the context holds until its end; there is one at a time. */
NEAP_API int neap_transcript_begin(neap_ctx *ctx);
/* Declares a size, an integer from 1 on: its name, and what it is while the transcript is open. */
NEAP_API int neap_transcript_declare(neap_ctx *ctx, const char *name, double now, neap_size *out);
/* Closes it. `keep` 0: it is dropped, and *out is NULL; also after an error. */
NEAP_API int neap_transcript_end(neap_ctx *ctx, int keep, neap_transcript **out); /* OWNED */
NEAP_API void neap_transcript_free(neap_transcript *transcript);
/* The program for other sizes, in the order of their declaration: that of the last trace that ended. NEAP_E_SHAPE: a
 * decision of the caller would have been another one; the error names it and its line. */
NEAP_API int neap_transcript_play(neap_ctx *ctx, neap_transcript *transcript, int n, const double *sizes,
                                  neap_program **out); /* OWNED */
/* The same where another transcript is open, for sizes of that one, which notes what is played and the decisions. */
NEAP_API int neap_transcript_play_inside(neap_ctx *ctx, neap_transcript *transcript, int n, const neap_size *sizes,
                                         neap_program **out); /* OWNED */
/* What a size expression is for other sizes, if it is made of declared sizes alone. */
NEAP_API int neap_transcript_value(neap_transcript *transcript, int32_t expr, int n, const double *sizes, double *out);
/* Its expressions are numbered from 1 to this. */
NEAP_API int32_t neap_transcript_exprs(neap_transcript *transcript);
NEAP_API int neap_transcript_expr(neap_transcript *transcript, int32_t expr, char *text, size_t capacity,
                                  size_t *bytes);
/* The decisions of the caller, a line each: "n >= 3 (train.lua:7)". *bytes gets the full length. */
NEAP_API int neap_transcript_text(neap_transcript *transcript, char *text, size_t capacity, size_t *bytes);
/* As neap_program_text, of a program that it has made: no value has the name of a size there. */
NEAP_API int neap_transcript_program_text(neap_transcript *transcript, neap_program *program, int lines, char *text,
                                          size_t capacity, size_t *bytes);

/* ---- Files: neap_program_write and neap_program_read of a program whose sizes are declared ---- */
NEAP_API int neap_transcript_write(neap_transcript *transcript, neap_program *program, char **data, size_t *bytes);
/* As neap_program_callees and neap_program_shardings (lazy/programs.h), of such a file. */
NEAP_API int neap_transcript_callees(neap_transcript *transcript, neap_program *program, int32_t capacity,
                                     int32_t *callees, int32_t *n);
NEAP_API int neap_transcript_shardings(neap_transcript *transcript, neap_program *program, int32_t capacity,
                                       int32_t *shardings, int32_t *n);
/* *transcript is NULL if none is in the file. */
NEAP_API int neap_transcript_read(neap_ctx *ctx, const neap_saved *from, neap_program **program,
                                  neap_transcript **transcript); /* OWNED */

/* ---- While one is open ---- */
enum {
    NEAP_SIZE_ADD,
    NEAP_SIZE_SUB,
    NEAP_SIZE_MUL,
    NEAP_SIZE_DIV, /* real */
    NEAP_SIZE_MOD, /* as Lua's %: of the sign of the divisor */
    NEAP_SIZE_POW,
    NEAP_SIZE_FLOOR_DIV,
    NEAP_SIZE_MIN,
    NEAP_SIZE_MAX,
    NEAP_SIZE_FLOOR, /* these of the first operand alone */
    NEAP_SIZE_CEIL,
    NEAP_SIZE_SQRT
};
NEAP_API int neap_size_compute(neap_ctx *ctx, int op, const neap_size *a, const neap_size *b, neap_size *out);
enum { NEAP_SIZE_EQUAL, NEAP_SIZE_LESS, NEAP_SIZE_LESS_EQUAL };
/* *truth is 1 or 0. What follows from sizes being at least 1 is decided; else it is what it is now, and the transcript
 * holds for sizes for which it is the same. `site`: the caller's line; may be NULL. */
NEAP_API int neap_size_compare(neap_ctx *ctx, int op, const neap_size *a, const neap_size *b, const char *site,
                               int *truth);
/* The extents of an array: out[k] of axis k. Returns their number, or a negative status. */
NEAP_API int neap_size_extents(neap_ctx *ctx, int32_t id, neap_size *out);
/* Number `at` of the next call that records something is this size: an attribute of an op, from 0; an extent of a
 * trace's input; NEAP_SIZE_NUMBER: its number operand, or the size of a batch. The call is given what it is now. NULL:
 * what was announced is for no call, since that will not come. */
enum { NEAP_SIZE_NUMBER = -1 };
NEAP_API int neap_size_next(neap_ctx *ctx, int at, const neap_size *size);
/* "2*n + 1" */
NEAP_API int neap_size_text(neap_ctx *ctx, const neap_size *size, char *text, size_t capacity, size_t *bytes);

#endif
