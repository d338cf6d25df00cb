/* text.c: growing texts (format.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/graph/format.h"

/* Makes room for n more bytes and the NUL. */
static int text_reserve(lazy_text *text, size_t n) {
    if (n < text->capacity - text->bytes)
        return NEAP_OK;
    if (n > SIZE_MAX / 4 - text->bytes)
        return neap_error(NEAP_E_MEMORY, "a text of %zu bytes is too long", n);
    size_t capacity = 2 * (text->bytes + n) + 64;
    char *data = realloc(text->data, capacity);
    if (data == NULL)
        return neap_error(NEAP_E_MEMORY, "out of memory for a text of %zu bytes", capacity);
    text->data = data;
    text->capacity = capacity;
    return NEAP_OK;
}

int graph_text_add(lazy_text *text, const char *s, size_t n) {
    int status = text_reserve(text, n);
    if (status != NEAP_OK)
        return status;
    if (n > 0)
        memcpy(text->data + text->bytes, s, n);
    text->bytes += n;
    text->data[text->bytes] = '\0';
    return NEAP_OK;
}

int graph_text_addf(lazy_text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return neap_error(NEAP_E_INTERNAL, "bad format \"%s\"", format);
    int status = text_reserve(text, (size_t)n);
    if (status != NEAP_OK)
        return status;
    va_start(args, format);
    vsnprintf(text->data + text->bytes, (size_t)n + 1, format, args);
    va_end(args);
    text->bytes += (size_t)n;
    return NEAP_OK;
}

void graph_text_free(lazy_text *text) {
    free(text->data);
    *text = (lazy_text){0};
}
