/* formats.h: public interface of the formats room: files of other programs, in memory, as plain elements.
 *
 * Nothing here knows of arrays, opens a file or waits: bytes come in, elements go into memory of the caller, or the
 * other way round. What a file says is checked before it is believed; a damaged one is an error with a text that says
 * where, never more.
 */
#ifndef NEAP_FORMATS_H
#define NEAP_FORMATS_H

#include "engine/engine.h"

/* ---- Tables as text (CSV) ----------------------------------------------------------------------------------------
 * Lines of fields between delimiters, as RFC 4180 has them: a field in quotes may hold delimiters, ends of lines, and
 * quotes, which are doubled. Lines end in \n, \r\n or \r; empty ones are skipped, and so is what follows a comment
 * mark.
 *
 *      neap_csv_open ──▶ neap_csv_header (if there is one) ──▶ neap_csv_scan ──▶ facts ──▶ neap_csv_read
 *
 * Errors begin with "NAME:LINE:COLUMN: ", counted from 1, the column in bytes. */
typedef struct neap_csv neap_csv;
typedef struct neap_csv_format {
    const char *name;       /* of the file, for errors */
    int32_t delimiter;      /* a byte; 0: any run of blanks and tabs */
    int32_t quote, comment; /* a byte; 0: none */
    int32_t nmissing;
    const char *const *missing; /* what stands for no value, besides nothing at all */
    int64_t skip;               /* lines before the first that is read */
    int64_t most;               /* rows that are read, after the header; -1: all */
    int32_t quoted_texts;       /* 1: what stands in quotes is a text, but what stands for no value beside numbers */
    int32_t strict;             /* 1: fields are numbers; none is missing, and true and false are bools alone */
    int32_t loose;              /* 1: a word beside numbers is no value, where no value is no error */
} neap_csv_format;
/* What the fields of a column are, all of them that are there. */
enum { NEAP_CSV_NOTHING, NEAP_CSV_BOOL, NEAP_CSV_INTEGER, NEAP_CSV_REAL, NEAP_CSV_TEXT };
typedef struct neap_csv_facts {
    int32_t kind, huge;      /* huge: integers that no 64 bits hold, or too far apart */
    int64_t missing, lowest; /* fields without a value; the lowest integer, if that is below 0 */
    uint64_t highest;        /* the highest */
    int32_t quoted;          /* 1: some of those without a value stand in quotes */
} neap_csv_facts;
/* Where a column goes. Integers outside of lowest … highest are errors. Texts become the numbers of their levels, in
 * the order in which these first stand in the file; -1 where there is no value. */
typedef struct neap_csv_column {
    int32_t column, kind;   /* its number; 'b', 'u', 'i', 'f', or 't' for texts */
    int32_t bytes;          /* of an element: 1, 2, 4 or 8; 4 or 8 of 'f'; 4 of 't' */
    int32_t filled;         /* 1: `fill` where there is no value; 0: NaN, and for integers and bools an error */
    int64_t lowest, stride; /* bytes from one element to the next */
    uint64_t highest;
    double fill;
    void *out;
} neap_csv_column;

/* OWNED. `data` must live and stay until it is closed; so must what the format points to. */
NEAP_API int neap_csv_open(const neap_csv_format *format, const char *data, size_t bytes, neap_csv **out);
NEAP_API void neap_csv_close(neap_csv *csv);
/* Takes the next line as one of names. *fields: how many; 0: there is no line. */
NEAP_API int neap_csv_header(neap_csv *csv, int32_t *fields);
/* Name k of the line that neap_csv_header took. BORROWED until the next call. */
NEAP_API const char *neap_csv_name(neap_csv *csv, int32_t k, size_t *bytes);
/* Looks through all rows. Each must have as many fields as the header, or as the first. */
NEAP_API int neap_csv_scan(neap_csv *csv, int64_t *rows, int32_t *columns);
NEAP_API const neap_csv_facts *neap_csv_facts_of(const neap_csv *csv, int32_t column); /* BORROWED */
/* Reads n columns, of which none stands twice, after a scan. */
NEAP_API int neap_csv_read(neap_csv *csv, int32_t n, const neap_csv_column *columns);
/* The texts of a column that was read as 't': how many, and each. BORROWED until the next read. */
NEAP_API int32_t neap_csv_levels(const neap_csv *csv, int32_t column);
NEAP_API const char *neap_csv_level(const neap_csv *csv, int32_t column, int32_t k, size_t *bytes);

/* A column to write: elements row after row; of 't', whose elements are levels, `texts` and their `lengths`. A text
 * that a reader with `quoted_texts` would take for something else gets quotes; of 'r', which has texts that stand for
 * numbers, only one that would not stay one field. */
typedef struct neap_csv_source {
    int32_t kind, bytes;
    const void *data;
    const char *const *texts;
    const size_t *lengths;
} neap_csv_source;
/* Writes rows [first, last) as text of a format, numbers with the digits that give them back. `none` stands for NaN and
 * for texts of level -1. *written gets the bytes; NEAP_PENDING: `capacity` does not suffice for all, *next is the first
 * row that was not written. A row that does not fit alone leaves *next == first. */
NEAP_API int neap_csv_write(int32_t n, const neap_csv_source *columns, const neap_csv_format *format, const char *none,
                            int64_t first, int64_t last, char *text, size_t capacity, size_t *written, int64_t *next);

/* ---- Images ------------------------------------------------------------------------------------------------------
 * Rows of pixels from the top, the channels of a pixel together: gray, gray and alpha, RGB, RGBA; 8 bits or 16 each, of
 * the host's byte order. JPEG has gray and RGB with 8 bits. The libraries (libpng, libjpeg) are loaded at run time;
 * without one of them its functions return NEAP_E_LIBRARY and say what to install. */
typedef struct neap_image {
    int64_t width, height;
    int32_t channels, bits; /* 1, 2, 3 or 4; 8 or 16 */
} neap_image;
enum { NEAP_IMAGE_PNG, NEAP_IMAGE_JPEG, NEAP_IMAGE_FORMATS };
/* Which image a file holds. NEAP_E_IO: it is damaged, or claims to be larger than it can be. */
NEAP_API int neap_image_head(int format, const void *data, size_t bytes, neap_image *out);
/* Reads its pixels into memory for what neap_image_head said. A truncated or damaged file is NEAP_E_IO. */
NEAP_API int neap_image_read(int format, const void *data, size_t bytes, const neap_image *image, void *pixels);
/* The file of an image: `level` is a PNG's compression, 0 … 9, or a JPEG's quality, 1 … 100. *out (OWNED, for
 * neap_image_free) has *bytes bytes. */
NEAP_API int neap_image_write(int format, const neap_image *image, const void *pixels, int level, void **out,
                              size_t *bytes);
NEAP_API void neap_image_free(void *data);
/* Which library reads and writes images of a format, or why none does. BORROWED forever. */
NEAP_API const char *neap_image_library(int format);

/* ---- Quantized weights (GGUF) ------------------------------------------------------------------------------------
 * Blocks of elements of few bits with their scales, by the numbers that ggml gives their kinds. */
typedef struct neap_gguf_kind {
    const char *name;
    int32_t elements, bytes; /* of a block */
} neap_gguf_kind;
/* A kind by its number, plain f32, f16 and bf16 included; NULL: it is not read. BORROWED forever. */
NEAP_API const neap_gguf_kind *neap_gguf_kind_of(int32_t number);
/* The elements of so many blocks, as f32. */
NEAP_API void neap_gguf_read(int32_t number, const void *data, int64_t blocks, float *out);

#endif
