/* csv.c: text with delimiters: finding rows and fields, and what the columns hold.
 *
 * A row begins where csv_next_row has put `next`; csv_next_field walks along it, and after the last field `next` is
 * behind the end of its line. Both passes over the rows, this file's and csv_read.c's, go this one way.
 */
#include "formats/csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

int csv_fail(const neap_csv *csv, const csv_place *place, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return neap_error(NEAP_E_ARGUMENT, "%s:%lld:%lld: %s", csv->format.name, (long long)place->line,
                      (long long)(place->at - place->line_start + 1), text);
}

const char *csv_shown(const csv_field *field, char out[48]) {
    int length = field->bytes > 40 ? 38 : (int)field->bytes;
    snprintf(out, 48, "%.*s%s", length, field->text, field->bytes > 40 ? " …" : "");
    for (char *s = out; *s; s++) {
        if ((unsigned char)*s < ' ')
            *s = ' ';
    }
    return out;
}

/* ---- Rows and fields --------------------------------------------------------------------------------------------- */

static inline bool is_end(char c) {
    return c == '\n' || c == '\r';
}

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Behind the end of a line at p->at. */
static void end_line(const neap_csv *csv, csv_place *p) {
    if (p->at < csv->end && *p->at++ == '\r' && p->at < csv->end && *p->at == '\n')
        p->at++;
    p->line++;
    p->line_start = p->at;
}

static void skip_line(const neap_csv *csv, csv_place *p) {
    while (p->at < csv->end && !is_end(*p->at))
        p->at++;
    end_line(csv, p);
}

bool csv_next_row(neap_csv *csv) {
    csv_place *p = &csv->next;
    while (p->at < csv->end) {
        const char *s = p->at;
        while (s < csv->end && is_blank(*s) && *s != csv->format.delimiter)
            s++;
        if (s < csv->end && csv->format.comment && *s == (char)csv->format.comment) {
            skip_line(csv, p);
        } else if (s == csv->end || is_end(*s)) {
            p->at = s;
            end_line(csv, p);
        } else {
            if (!csv->format.delimiter)
                p->at = s;
            return true;
        }
    }
    return false;
}

/* What stands between quotes; p->at is behind the first. */
static int quoted_field(neap_csv *csv, csv_field *out) {
    csv_place *p = &csv->next;
    char quote = (char)csv->format.quote;
    out->quoted = true;
    out->text = p->at;
    for (;; p->at++) {
        if (p->at == csv->end)
            return csv_fail(csv, &out->place, "the quote that begins here does not end");
        if (*p->at == quote) {
            if (p->at + 1 == csv->end || p->at[1] != quote)
                break;
            out->doubled = true;
            p->at++;
        } else if (*p->at == '\n' || (*p->at == '\r' && (p->at + 1 == csv->end || p->at[1] != '\n'))) {
            p->line++;
            p->line_start = p->at + 1;
        }
    }
    out->bytes = (size_t)(p->at - out->text);
    p->at++;
    while (p->at < csv->end && is_blank(*p->at) && *p->at != csv->format.delimiter)
        p->at++;
    return 0;
}

/* Goes on to the next field, or behind the end of the line. */
static int end_field(neap_csv *csv, csv_field *out) {
    csv_place *p = &csv->next;
    int delimiter = csv->format.delimiter;
    if (!delimiter) {
        while (p->at < csv->end && is_blank(*p->at))
            p->at++;
    }
    if (p->at == csv->end || is_end(*p->at)) {
        out->last = true;
        end_line(csv, p);
    } else if (csv->format.comment && *p->at == (char)csv->format.comment) {
        out->last = true;
        skip_line(csv, p);
    } else if (delimiter && *p->at == (char)delimiter) {
        p->at++;
    } else if (delimiter || !is_blank(p->at[-1])) {
        return csv_fail(csv, p, "expected a delimiter behind the closing quote, got '%c'", *p->at);
    }
    return 0;
}

int csv_next_field(neap_csv *csv, csv_field *out) {
    csv_place *p = &csv->next;
    out->text = p->at;
    out->place = *p;
    out->quoted = out->doubled = out->last = false;
    out->number.kind = CSV_NOT;
    if (csv->format.quote && p->at < csv->end && *p->at == (char)csv->format.quote) {
        p->at++;
        int status = quoted_field(csv, out);
        if (status)
            return status;
    } else {
        const char *s = p->at;
        if (csv->numbers_first && s < csv->end && !csv->begins_missing_number[(unsigned char)*s])
            s = csv_number_at(s, csv->end, &out->number);
        if (s < csv->end && !csv->ends[(unsigned char)*s]) {
            out->number.kind = CSV_NOT;
            do
                s++;
            while (s < csv->end && !csv->ends[(unsigned char)*s]);
        }
        out->bytes = (size_t)(s - p->at);
        p->at = s;
    }
    return end_field(csv, out);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static char *keep(neap_csv *csv, char *text) {
    if (csv->nowned == csv->owned_capacity) {
        int64_t capacity = csv->owned_capacity ? 2 * csv->owned_capacity : 16;
        char **grown = realloc(csv->owned, (size_t)capacity * sizeof *grown);
        if (!grown) {
            free(text);
            return NULL;
        }
        csv->owned = grown;
        csv->owned_capacity = capacity;
    }
    return csv->owned[csv->nowned++] = text;
}

const char *csv_text(neap_csv *csv, const csv_field *field, size_t *bytes) {
    *bytes = field->bytes;
    if (!field->doubled)
        return field->text;
    char *text = malloc(field->bytes + 1);
    if (!text)
        return NULL;
    size_t n = 0;
    for (size_t k = 0; k < field->bytes; k++) {
        text[n++] = field->text[k];
        k += field->text[k] == (char)csv->format.quote;
    }
    *bytes = n;
    return keep(csv, text);
}

bool csv_is_missing(const neap_csv *csv, const csv_field *field) {
    if (field->bytes == 0)
        return true;
    if (!csv->begins_missing[(unsigned char)*field->text])
        return false;
    for (int k = 0; k < csv->format.nmissing; k++) {
        const char *word = csv->format.missing[k];
        size_t same = 0;
        while (same < field->bytes && word[same] == field->text[same] && word[same] != '\0')
            same++;
        if (same == field->bytes && word[same] == '\0')
            return true;
    }
    return false;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void note_bytes(neap_csv *csv) {
    const neap_csv_format *format = &csv->format;
    csv->ends['\n'] = csv->ends['\r'] = true;
    csv->ends[(unsigned char)(format->delimiter ? format->delimiter : ' ')] = true;
    csv->ends[(unsigned char)(format->delimiter ? format->delimiter : '\t')] = true;
    if (format->comment)
        csv->ends[(unsigned char)format->comment] = true;
    for (int k = 0; k < format->nmissing; k++) {
        const char *word = format->missing[k];
        csv->begins_missing[(unsigned char)word[0]] = true;
        csv_number number;
        if (csv_number_at(word, word + strlen(word), &number) == word + strlen(word) && number.kind != CSV_NOT)
            csv->begins_missing_number[(unsigned char)word[0]] = true;
    }
    csv->numbers_first = true;
    for (const char *s = "+-.0123456789eE"; *s; s++)
        csv->numbers_first &= !csv->ends[(unsigned char)*s];
}

int neap_csv_open(const neap_csv_format *format, const char *data, size_t bytes, neap_csv **out) {
    neap_csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return neap_error(NEAP_E_MEMORY, "no memory for a table");
    csv->format = *format;
    note_bytes(csv);
    csv->end = data + bytes;
    csv->columns = -1;
    csv->next = (csv_place){.at = data, .line_start = data, .line = 1};
    if (bytes >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) /* the mark that some programs begin UTF-8 with */
        csv->next.at = csv->next.line_start = data + 3;
    for (int64_t k = 0; k < format->skip && csv->next.at < csv->end; k++)
        skip_line(csv, &csv->next);
    csv->body = csv->next;
    *out = csv;
    return 0;
}

static void free_levels(neap_csv *csv) {
    for (int32_t k = 0; csv->levels && k < csv->columns; k++) {
        free(csv->levels[k].at);
        free(csv->levels[k].slots);
    }
    free(csv->levels);
    csv->levels = NULL;
}

void neap_csv_close(neap_csv *csv) {
    if (!csv)
        return;
    free_levels(csv);
    for (int64_t k = 0; k < csv->nowned; k++)
        free(csv->owned[k]);
    free(csv->owned);
    free(csv->facts);
    free(csv->names);
    free(csv);
}

int neap_csv_header(neap_csv *csv, int32_t *fields) {
    *fields = 0;
    if (!csv_next_row(csv))
        return 0;
    for (csv_field field = {.last = false}; !field.last;) {
        int status = csv_next_field(csv, &field);
        if (status)
            return status;
        csv_field *grown = realloc(csv->names, ((size_t)csv->nnames + 1) * sizeof *grown);
        if (!grown)
            return neap_error(NEAP_E_MEMORY, "no memory for the names of columns");
        csv->names = grown;
        csv->names[csv->nnames++] = field;
    }
    csv->columns = *fields = csv->nnames;
    csv->body = csv->next;
    return 0;
}

const char *neap_csv_name(neap_csv *csv, int32_t k, size_t *bytes) {
    *bytes = 0;
    const char *text = k >= 0 && k < csv->nnames ? csv_text(csv, &csv->names[k], bytes) : NULL;
    return text ? text : "";
}

/* ---- Looking through --------------------------------------------------------------------------------------------- */

csv_field csv_trimmed(const csv_field *field) {
    csv_field out = *field;
    while (out.bytes > 0 && is_blank(*out.text))
        out.text++, out.bytes--;
    while (out.bytes > 0 && is_blank(out.text[out.bytes - 1]))
        out.bytes--;
    return out;
}

static void see_integer(neap_csv_facts *facts, const csv_field *field, const csv_number *number) {
    bool negative = number->negative;
    uint64_t size = number->size;
    if ((!number->whole && !csv_integer(field->text, field->bytes, &negative, &size)) ||
        (negative && size > (uint64_t)INT64_MAX + 1)) {
        facts->huge = 1;
    } else if (!negative) {
        facts->highest = size > facts->highest ? size : facts->highest;
    } else {
        int64_t value = (int64_t)(0 - size);
        facts->lowest = value < facts->lowest ? value : facts->lowest;
    }
    facts->huge |= facts->lowest < 0 && facts->highest > (uint64_t)INT64_MAX;
}

/* What a column is that has one of the kinds and another. */
static int joined(int a, int b) {
    if (a == b || b == NEAP_CSV_NOTHING)
        return a;
    if (a == NEAP_CSV_NOTHING)
        return b;
    bool numbers = a != NEAP_CSV_BOOL && b != NEAP_CSV_BOOL && a != NEAP_CSV_TEXT && b != NEAP_CSV_TEXT;
    return numbers ? NEAP_CSV_REAL : NEAP_CSV_TEXT;
}

static void see_number(neap_csv_facts *facts, const csv_field *field, const csv_number *number) {
    if (number->kind == CSV_INTEGER)
        see_integer(facts, field, number);
    facts->kind = joined(facts->kind, number->kind == CSV_INTEGER ? NEAP_CSV_INTEGER : NEAP_CSV_REAL);
}

static void see_field(const neap_csv *csv, neap_csv_facts *facts, const csv_field *whole) {
    if (whole->number.kind != CSV_NOT) {
        if (facts->kind != NEAP_CSV_TEXT)
            see_number(facts, whole, &whole->number);
        return;
    }
    csv_field field = csv_trimmed(whole);
    bool text = whole->quoted && csv->format.quoted_texts;
    if (csv_is_missing(csv, &field)) {
        facts->missing++;
        facts->quoted |= text;
        return;
    }
    if (facts->kind == NEAP_CSV_TEXT)
        return;
    if (text) {
        facts->kind = NEAP_CSV_TEXT;
        return;
    }
    const csv_number number = csv_number_of(field.text, field.bytes);
    if (number.kind != CSV_NOT)
        see_number(facts, &field, &number);
    else
        facts->kind = joined(facts->kind, csv_bool(field.text, field.bytes) >= 0 ? NEAP_CSV_BOOL : NEAP_CSV_TEXT);
}

static int add_column(neap_csv *csv) {
    neap_csv_facts *grown = realloc(csv->facts, ((size_t)csv->columns + 1) * sizeof *grown);
    if (!grown)
        return neap_error(NEAP_E_MEMORY, "no memory for a column of a table");
    csv->facts = grown;
    csv->facts[csv->columns++] = (neap_csv_facts){.kind = NEAP_CSV_NOTHING};
    return 0;
}

static int scan_row(neap_csv *csv, bool first) {
    int32_t k = 0;
    int status = 0;
    for (csv_field field = {.last = false}; !field.last; k++) {
        status = csv_next_field(csv, &field);
        if (status == 0 && k == csv->columns && first)
            status = add_column(csv);
        if (status)
            return status;
        if (k < csv->columns)
            see_field(csv, &csv->facts[k], &field);
        if (k == csv->columns)
            return csv_fail(csv, &field.place, "this row has more than %d field%s", csv->columns,
                            csv->columns == 1 ? "" : "s");
        if (field.last && k + 1 < csv->columns)
            return csv_fail(csv, &field.place, "this row ends after %d field%s of %d", k + 1, k == 0 ? "" : "s",
                            csv->columns);
    }
    return 0;
}

int neap_csv_scan(neap_csv *csv, int64_t *rows, int32_t *columns) {
    bool unknown = csv->columns < 0;
    if (unknown)
        csv->columns = 0;
    free(csv->facts);
    csv->facts = calloc((size_t)csv->columns + 1, sizeof *csv->facts);
    if (!csv->facts)
        return neap_error(NEAP_E_MEMORY, "no memory for the columns of a table");
    csv->next = csv->body;
    csv->rows = 0;
    while ((csv->format.most < 0 || csv->rows < csv->format.most) && csv_next_row(csv)) {
        int status = scan_row(csv, unknown && csv->rows == 0);
        if (status)
            return status;
        csv->rows++;
    }
    *rows = csv->rows;
    *columns = csv->columns;
    return 0;
}

const neap_csv_facts *neap_csv_facts_of(const neap_csv *csv, int32_t column) {
    return csv->facts && column >= 0 && column < csv->columns ? &csv->facts[column] : NULL;
}
