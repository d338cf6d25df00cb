/* csv_read.c: columns of a CSV text as elements: the second pass over its rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"

/* ---- Levels ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const char *text, size_t bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ (unsigned char)text[k]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static bool grow_slots(csv_levels *levels) {
    int64_t nslots = levels->nslots ? 2 * levels->nslots : 64;
    int32_t *slots = calloc((size_t)nslots, sizeof *slots);
    if (!slots)
        return false;
    for (int32_t k = 0; k < levels->n; k++) {
        uint64_t at = levels->at[k].hash & (uint64_t)(nslots - 1);
        while (slots[at])
            at = (at + 1) & (uint64_t)(nslots - 1);
        slots[at] = k + 1;
    }
    free(levels->slots);
    levels->slots = slots;
    levels->nslots = nslots;
    return true;
}

static bool grow_list(csv_levels *levels) {
    int32_t capacity = levels->capacity ? 2 * levels->capacity : 32;
    csv_level *at = capacity > 0 ? realloc(levels->at, (size_t)capacity * sizeof *at) : NULL;
    if (!at)
        return false;
    levels->at = at;
    levels->capacity = capacity;
    return true;
}

/* The number of a text; -1: no memory. */
static int32_t level_of(csv_levels *levels, const char *text, size_t bytes) {
    if ((2 * (int64_t)levels->n >= levels->nslots && !grow_slots(levels)) ||
        (levels->n == levels->capacity && !grow_list(levels)))
        return -1;
    uint64_t hash = hash_of(text, bytes), mask = (uint64_t)levels->nslots - 1, at = hash & mask;
    for (; levels->slots[at]; at = (at + 1) & mask) {
        const csv_level *known = &levels->at[levels->slots[at] - 1];
        if (known->hash == hash && known->bytes == bytes && memcmp(known->text, text, bytes) == 0)
            return levels->slots[at] - 1;
    }
    levels->at[levels->n] = (csv_level){.text = text, .bytes = bytes, .hash = hash};
    levels->slots[at] = ++levels->n;
    return levels->n - 1;
}

int32_t neap_csv_levels(const neap_csv *csv, int32_t column) {
    return csv->levels && column >= 0 && column < csv->columns ? csv->levels[column].n : 0;
}

const char *neap_csv_level(const neap_csv *csv, int32_t column, int32_t k, size_t *bytes) {
    *bytes = 0;
    if (k < 0 || k >= neap_csv_levels(csv, column))
        return "";
    *bytes = csv->levels[column].at[k].bytes;
    return csv->levels[column].at[k].text;
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

/* A column's name and number for messages. Returns `out`. */
static const char *column_shown(neap_csv *csv, int32_t column, char out[80]) {
    size_t bytes;
    const char *name = neap_csv_name(csv, column, &bytes);
    if (csv->nnames > 0)
        snprintf(out, 80, "'%.*s'", (int)(bytes > 60 ? 60 : bytes), name);
    else
        snprintf(out, 80, "%d", column);
    return out;
}

static int refuse(neap_csv *csv, const neap_csv_column *to, const csv_field *field, const char *expected) {
    char name[80], shown[48];
    if (csv_is_missing(csv, field))
        return csv_fail(csv, &field->place, "expected %s in column %s, got no value", expected,
                        column_shown(csv, to->column, name));
    return csv_fail(csv, &field->place, "expected %s in column %s, got \"%s\"", expected,
                    column_shown(csv, to->column, name), csv_shown(field, shown));
}

static int read_text(neap_csv *csv, const neap_csv_column *to, const csv_field *field, void *out) {
    int32_t level = -1;
    if (field->quoted || !csv_is_missing(csv, field)) {
        size_t bytes;
        const char *text = csv_text(csv, field, &bytes);
        level = text ? level_of(&csv->levels[to->column], text, bytes) : -1;
        if (level < 0)
            return neap_error(NEAP_E_MEMORY, "no memory for the texts of a column");
    }
    memcpy(out, &level, sizeof level);
    return 0;
}

static void put_real(const neap_csv_column *to, double value, void *out) {
    float single = (float)value;
    memcpy(out, to->bytes == 4 ? (void *)&single : (void *)&value, (size_t)to->bytes);
}

static int read_real(neap_csv *csv, const neap_csv_column *to, const csv_field *field, const csv_number *number,
                     void *out) {
    int flag = number->kind != CSV_NOT || csv->format.strict ? -1 : csv_bool(field->text, field->bytes);
    if (number->kind == CSV_NOT && flag < 0)
        return refuse(csv, to, field, "a number");
    if (number->kind == CSV_NOT)
        put_real(to, flag, out);
    else if (to->bytes == 8)
        put_real(to, csv_double(number, field->text, field->bytes), out);
    else
        put_real(to, (double)csv_float(number, field->text, field->bytes), out);
    return 0;
}

static int read_integer(neap_csv *csv, const neap_csv_column *to, const csv_field *field, const csv_number *number,
                        void *out) {
    bool may_be_bool = number->kind == CSV_NOT && (to->kind == 'b' || !csv->format.strict);
    int flag = may_be_bool ? csv_bool(field->text, field->bytes) : -1;
    bool negative = number->negative && flag < 0;
    uint64_t size = flag < 0 ? number->size : (uint64_t)flag;
    if (flag < 0 && number->kind != CSV_INTEGER)
        return refuse(csv, to, field, to->kind == 'b' ? "true or false" : "an integer");
    bool fits = flag >= 0 || number->whole || csv_integer(field->text, field->bytes, &negative, &size);
    if (fits && negative)
        fits = size <= 0 - (uint64_t)to->lowest;
    else
        fits = fits && size <= to->highest;
    if (!fits) {
        char expected[80];
        snprintf(expected, sizeof expected, "an integer from %lld to %llu", (long long)to->lowest,
                 (unsigned long long)to->highest);
        return refuse(csv, to, field, to->kind == 'b' ? "true or false" : expected);
    }
    uint64_t bits = negative ? 0 - size : size; /* little-endian: its first bytes are the element */
    memcpy(out, &bits, (size_t)to->bytes);
    return 0;
}

static int read_missing(neap_csv *csv, const neap_csv_column *to, const csv_field *field, void *out) {
    if (csv->format.strict && to->kind == 'f')
        return refuse(csv, to, field, "a number");
    if (to->kind == 'f') {
        put_real(to, to->filled ? to->fill : __builtin_nan(""), out);
        return 0;
    }
    if (!to->filled)
        return refuse(csv, to, field, to->kind == 'b' ? "true or false" : "an integer");
    int64_t value = (int64_t)to->fill;
    memcpy(out, &value, (size_t)to->bytes);
    return 0;
}

static int read_number(neap_csv *csv, const neap_csv_column *to, const csv_field *field, const csv_number *number,
                       void *out) {
    return to->kind == 'f' ? read_real(csv, to, field, number, out) : read_integer(csv, to, field, number, out);
}

static int read_field(neap_csv *csv, const neap_csv_column *to, const csv_field *whole, void *out) {
    if (to->kind == 't')
        return read_text(csv, to, whole, out);
    if (whole->number.kind != CSV_NOT)
        return read_number(csv, to, whole, &whole->number, out);
    csv_field field = csv_trimmed(whole);
    if (csv_is_missing(csv, &field))
        return read_missing(csv, to, &field, out);
    const csv_number number = csv_number_of(field.text, field.bytes);
    bool word = number.kind == CSV_NOT && to->kind != 'b' && csv_bool(field.text, field.bytes) < 0;
    if (word && csv->format.loose && (to->kind == 'f' || to->filled))
        return read_missing(csv, to, &field, out);
    return read_number(csv, to, &field, &number, out);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int read_row(neap_csv *csv, int64_t row, const neap_csv_column *const *wanted) {
    csv_field field = {.last = false};
    for (int32_t k = 0; k < csv->columns; k++) {
        int status = csv_next_field(csv, &field);
        const neap_csv_column *to = wanted[k];
        if (status == 0 && to)
            status = read_field(csv, to, &field, (char *)to->out + row * to->stride);
        if (status)
            return status;
    }
    return 0;
}

int neap_csv_read(neap_csv *csv, int32_t n, const neap_csv_column *columns) {
    if (!csv->facts)
        return neap_error(NEAP_E_STATE, "a table is read before it was looked through");
    const neap_csv_column **wanted = calloc((size_t)csv->columns + 1, sizeof *wanted);
    if (!csv->levels)
        csv->levels = calloc((size_t)csv->columns + 1, sizeof *csv->levels);
    int status = wanted && csv->levels ? 0 : neap_error(NEAP_E_MEMORY, "no memory for the columns of a table");
    for (int32_t k = 0; k < n && status == 0; k++) {
        int32_t column = columns[k].column;
        if (column < 0 || column >= csv->columns || wanted[column])
            status = neap_error(NEAP_E_ARGUMENT, "column %d is not one of %d, or read twice", column, csv->columns);
        else
            wanted[column] = &columns[k];
    }
    csv->next = csv->body;
    for (int64_t row = 0; row < csv->rows && status == 0; row++)
        status = csv_next_row(csv) ? read_row(csv, row, wanted) : neap_error(NEAP_E_STATE, "the table has changed");
    free(wanted);
    return status;
}
