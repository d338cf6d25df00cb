/* csv_write.c: columns of elements as CSV text. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "formats/csv.h"

/* A text that is filled from the front; `full` once something did not fit. */
typedef struct sink {
    char *text;
    size_t used, capacity;
    bool full;
} sink;

static void put(sink *s, const char *text, size_t bytes) {
    if (bytes > s->capacity - s->used) {
        s->full = true;
        return;
    }
    memcpy(s->text + s->used, text, bytes);
    s->used += bytes;
}

/* What a column is written by. */
typedef struct style {
    const neap_csv_format *format;
    const char *none; /* stands for no value */
} style;

/* Whether a text without quotes would not be one field, the same one. */
static bool is_broken(const char *text, size_t bytes, const neap_csv_format *format) {
    for (size_t k = 0; k < bytes; k++) {
        if (text[k] == (char)format->delimiter || text[k] == (char)format->quote || text[k] == '\n' ||
            text[k] == '\r' || text[k] == '#')
            return true;
    }
    return false;
}

/* Whether a text without quotes would be read as a number, a bool or as no value, or without its blanks. */
static bool is_mistaken(const char *text, size_t bytes, const style *by) {
    csv_field field = {.text = text, .bytes = bytes};
    field = csv_trimmed(&field);
    if (field.bytes < bytes || bytes == 0 || csv_number_of(text, bytes).kind != CSV_NOT || csv_bool(text, bytes) >= 0)
        return true;
    if (bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) /* what readers skip at the beginning of a file */
        return true;
    if (bytes == strlen(by->none) && memcmp(text, by->none, bytes) == 0)
        return true;
    for (int k = 0; k < by->format->nmissing; k++) {
        const char *word = by->format->missing[k];
        if (bytes == strlen(word) && memcmp(text, word, bytes) == 0)
            return true;
    }
    return false;
}

static void put_text(sink *s, const char *text, size_t bytes, bool is_text, const style *by) {
    if (!is_broken(text, bytes, by->format) && !(is_text && is_mistaken(text, bytes, by))) {
        put(s, text, bytes);
        return;
    }
    char mark = (char)by->format->quote;
    put(s, &mark, 1);
    for (size_t k = 0; k < bytes; k++) {
        put(s, text + k, 1);
        if (text[k] == mark)
            put(s, &mark, 1);
    }
    put(s, &mark, 1);
}

static void put_integer(sink *s, const neap_csv_source *from, int64_t row) {
    const char *at = (const char *)from->data + row * from->bytes;
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)from->bytes);
    if (from->kind == 'i') {
        int shift = 64 - 8 * from->bytes;
        bits = (uint64_t)((int64_t)(bits << shift) >> shift);
    }
    bool negative = from->kind == 'i' && (int64_t)bits < 0;
    char text[24];
    int n = sizeof text;
    for (uint64_t rest = negative ? 0 - bits : bits; rest > 0 || n == sizeof text; rest /= 10)
        text[--n] = (char)('0' + rest % 10);
    if (negative)
        text[--n] = '-';
    put(s, text + n, sizeof text - (size_t)n);
}

static void put_real(sink *s, const neap_csv_source *from, int64_t row, const char *missing) {
    const char *at = (const char *)from->data + row * from->bytes;
    float single = 0;
    double value = 0;
    memcpy(from->bytes == 4 ? (void *)&single : (void *)&value, at, (size_t)from->bytes);
    value = from->bytes == 4 ? (double)single : value;
    char text[32];
    if (isnan(value))
        put(s, missing, strlen(missing));
    else if (isinf(value))
        put(s, value < 0 ? "-inf" : "inf", value < 0 ? 4 : 3);
    else
        put(s, text, (size_t)csv_number_write(value, from->bytes, text));
}

static void put_level(sink *s, const neap_csv_source *from, int64_t row, const style *by) {
    int32_t level;
    memcpy(&level, (const char *)from->data + row * 4, sizeof level);
    if (level < 0)
        put(s, by->none, strlen(by->none));
    else
        put_text(s, from->texts[level], from->lengths[level], from->kind == 't', by);
}

int neap_csv_write(int32_t n, const neap_csv_source *columns, const neap_csv_format *format, const char *none,
                   int64_t first, int64_t last, char *text, size_t capacity, size_t *written, int64_t *next) {
    sink s = {.text = text, .capacity = capacity};
    const style by = {.format = format, .none = none};
    char mark = (char)format->delimiter;
    *written = 0;
    for (*next = first; *next < last; *next += 1) {
        for (int32_t k = 0; k < n; k++) {
            const neap_csv_source *from = &columns[k];
            if (k > 0)
                put(&s, &mark, 1);
            if (from->kind == 't' || from->kind == 'r')
                put_level(&s, from, *next, &by);
            else if (from->kind == 'f')
                put_real(&s, from, *next, none);
            else if (from->kind == 'b')
                put(&s, *((const uint8_t *)from->data + *next) ? "true" : "false",
                    *((const uint8_t *)from->data + *next) ? 4 : 5);
            else
                put_integer(&s, from, *next);
        }
        put(&s, "\n", 1);
        if (s.full)
            return NEAP_PENDING;
        *written = s.used;
    }
    return 0;
}
