/* csv.h: what the files that read CSV share: a place in the text, and the field that is found there. */
#ifndef FORMATS_CSV_H
#define FORMATS_CSV_H

#include <stdbool.h>

#include "formats/formats.h"

typedef struct csv_place {
    const char *at, *line_start;
    int64_t line; /* from 1 */
} csv_place;

enum { CSV_NOT, CSV_INTEGER, CSV_REAL };

/* ±size · 10^power, if `whole`; else it has more digits than `size` holds, or is a word. */
typedef struct csv_number {
    int kind;
    bool negative, whole;
    uint64_t size;
    int64_t power;
} csv_number;

typedef struct csv_field {
    const char *text; /* between the quotes, if there are some */
    size_t bytes;
    bool quoted, doubled; /* in quotes; with quotes in it, which stand doubled */
    bool last;            /* of its row */
    csv_place place;
    csv_number number; /* CSV_NOT: it may yet be one; else it is, without blanks around it, and stands for a value */
} csv_field;

typedef struct csv_level {
    const char *text;
    size_t bytes;
    uint64_t hash;
} csv_level;

/* The different texts of a column, found by hash. */
typedef struct csv_levels {
    csv_level *at;
    int32_t n, capacity;
    int32_t *slots; /* level + 1; 0: free. A power of two, at most half full */
    int64_t nslots;
} csv_levels;

struct neap_csv {
    neap_csv_format format;
    const char *end;
    bool ends[256];                  /* bytes that end a field without quotes */
    bool begins_missing[256];        /* that begin a word for no value, */
    bool begins_missing_number[256]; /* one that is a number */
    bool numbers_first; /* no byte of a number ends a field: one that begins with a number can be read as it is found */
    csv_place body, next; /* of the first row; of the next that is read */
    int32_t columns;      /* -1: not known yet */
    int64_t rows;
    neap_csv_facts *facts;
    csv_levels *levels; /* a column each */
    csv_field *names;
    int32_t nnames;
    char **owned; /* texts whose doubled quotes were made single */
    int64_t nowned, owned_capacity;
};

/* Finds the next row that is not empty. Returns whether there is one. */
bool csv_next_row(neap_csv *csv);
/* The next field of the row, which has one. 0 or an error. */
int csv_next_field(neap_csv *csv, csv_field *out);
/* An error with its place in front. Returns NEAP_E_ARGUMENT. */
int csv_fail(const neap_csv *csv, const csv_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A field's text for a message, cut where it is long. Returns `out`. */
const char *csv_shown(const csv_field *field, char out[48]);
/* The text of a field with single quotes; NULL: no memory. BORROWED while the reader lives. */
const char *csv_text(neap_csv *csv, const csv_field *field, size_t *bytes);
/* The field without the blanks around it. */
csv_field csv_trimmed(const csv_field *field);
/* Whether a field stands for no value. */
bool csv_is_missing(const neap_csv *csv, const csv_field *field);

/* csv_number.c: texts without blanks around them. */

/* The number that begins at s; returns what is behind it. Words (inf, nan) are none to it. */
const char *csv_number_at(const char *s, const char *end, csv_number *out);
/* The number that a whole text is. */
csv_number csv_number_of(const char *text, size_t bytes);
/* An integer's sign and size; false if that is beyond 64 bits. */
bool csv_integer(const char *text, size_t bytes, bool *negative, uint64_t *size);
/* What is nearest to the text that this number was found in. */
double csv_double(const csv_number *number, const char *text, size_t bytes);
float csv_float(const csv_number *number, const char *text, size_t bytes);
/* 1 or 0: a word for true or false; -1: neither. */
int csv_bool(const char *text, size_t bytes);
/* The fewest digits that give a finite number back, of f64 or (`bytes` 4) f32; returns how many bytes. */
int csv_number_write(double value, int bytes, char out[32]);

#endif
