/* json.h: a strict reader of JSON (RFC 8259) for tests. A document becomes a tree of values; strings are decoded to
 * UTF-8. Anything that the grammar does not allow, ill-formed UTF-8 included, makes json_read return NULL. */
#ifndef NEAP_TESTS_JSON_H
#define NEAP_TESTS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

typedef struct json {
    int kind;
    double number;
    char *text;         /* of a string */
    char *key;          /* in an object */
    struct json *first; /* of an array or object */
    struct json *next;
} json;

typedef struct json_reader {
    const unsigned char *at, *end;
    int depth;
} json_reader;

static void json_free(json *value) {
    while (value) {
        json *next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
        value = next;
    }
}

static inline void json_space(json_reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static inline bool json_take(json_reader *r, const char *word) {
    size_t bytes = strlen(word);
    if ((size_t)(r->end - r->at) < bytes || memcmp(r->at, word, bytes) != 0)
        return false;
    r->at += bytes;
    return true;
}

static inline int json_digits(json_reader *r) {
    int count = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        count++;
    return count;
}

static inline bool json_number(json_reader *r, double *out) {
    const unsigned char *start = r->at;
    json_take(r, "-");
    if (!json_take(r, "0") && json_digits(r) == 0)
        return false;
    if (json_take(r, ".") && json_digits(r) == 0)
        return false;
    if (json_take(r, "e") || json_take(r, "E")) {
        if (!json_take(r, "+"))
            json_take(r, "-");
        if (json_digits(r) == 0)
            return false;
    }
    char text[64];
    size_t bytes = (size_t)(r->at - start);
    if (bytes >= sizeof text)
        return false;
    memcpy(text, start, bytes);
    text[bytes] = 0;
    *out = strtod(text, NULL);
    return true;
}

/* One code point in UTF-8; overlong forms and surrogates are refused. */
static inline bool json_utf8(json_reader *r, char **to) {
    unsigned char lead = *r->at;
    int more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : -1;
    if (more < 0 || r->end - r->at <= more)
        return false;
    uint32_t code = more ? lead & (0x3f >> more) : lead;
    for (int k = 1; k <= more; k++) {
        if ((r->at[k] & 0xc0) != 0x80)
            return false;
        code = code << 6 | (r->at[k] & 0x3f);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    memcpy(*to, r->at, (size_t)more + 1);
    *to += more + 1;
    r->at += more + 1;
    return true;
}

/* After a backslash. Of \u only what needs one byte of UTF-8, which is all that the tests meet. */
static inline bool json_escape(json_reader *r, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *found = r->at < r->end && *r->at ? strchr(from, *r->at) : NULL;
    if (found) {
        r->at++;
        *(*to)++ = into[found - from];
        return true;
    }
    unsigned code = 0;
    if (!json_take(r, "u") || r->end - r->at < 4)
        return false;
    for (int k = 0; k < 4; k++) {
        static const char hex[] = "0123456789abcdef";
        const char *digit = *r->at ? strchr(hex, *r->at | 0x20) : NULL;
        if (!digit)
            return false;
        code = code << 4 | (unsigned)(digit - hex);
        r->at++;
    }
    *(*to)++ = (char)code;
    return code < 0x80;
}

static inline bool json_string(json_reader *r, char **out) {
    if (!json_take(r, "\""))
        return false;
    const unsigned char *close = r->at;
    while (close < r->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    char *to = *out = malloc((size_t)(close - r->at) + 1); /* decoded, it is not longer */
    while (r->at < r->end && *r->at != '"') {
        bool good = *r->at >= 0x20 && (json_take(r, "\\") ? json_escape(r, &to) : json_utf8(r, &to));
        if (!good)
            return false;
    }
    *to = 0;
    return json_take(r, "\"");
}

static inline bool json_value(json_reader *r, json *into);

/* The members after the opening bracket. */
static inline bool json_members(json_reader *r, json *into, const char *close) {
    json **link = &into->first;
    json_space(r);
    if (json_take(r, close))
        return true;
    do {
        *link = calloc(1, sizeof **link);
        json_space(r);
        if (into->kind == JSON_OBJECT) {
            if (!json_string(r, &(*link)->key))
                return false;
            json_space(r);
            if (!json_take(r, ":"))
                return false;
            for (json *other = into->first; other != *link; other = other->next) {
                if (strcmp(other->key, (*link)->key) == 0)
                    return false;
            }
        }
        if (!json_value(r, *link))
            return false;
        link = &(*link)->next;
        json_space(r);
    } while (json_take(r, ","));
    return json_take(r, close);
}

static inline bool json_value(json_reader *r, json *into) {
    json_space(r);
    if (r->at == r->end || ++r->depth > 100)
        return false;
    bool good;
    switch (*r->at) {
    case '{':
    case '[':
        into->kind = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
        r->at++;
        good = json_members(r, into, into->kind == JSON_OBJECT ? "}" : "]");
        break;
    case '"':
        into->kind = JSON_STRING;
        good = json_string(r, &into->text);
        break;
    default:
        into->kind = json_take(r, "null")    ? JSON_NULL
                     : json_take(r, "false") ? JSON_FALSE
                     : json_take(r, "true")  ? JSON_TRUE
                                             : JSON_NUMBER;
        good = into->kind != JSON_NUMBER || json_number(r, &into->number);
    }
    r->depth--;
    return good;
}

/* OWNED; NULL: not a JSON document. */
static inline json *json_read(const char *text, size_t bytes) {
    json_reader r = {.at = (const unsigned char *)text, .end = (const unsigned char *)text + bytes};
    json *root = calloc(1, sizeof *root);
    bool good = json_value(&r, root);
    json_space(&r);
    if (good && r.at == r.end)
        return root;
    json_free(root);
    return NULL;
}

/* A member of an object, or NULL. */
static inline const json *json_get(const json *object, const char *key) {
    const json *member = object && object->kind == JSON_OBJECT ? object->first : NULL;
    while (member && strcmp(member->key, key) != 0)
        member = member->next;
    return member;
}

/* A member's text, "" if it is none; its number, -1 if it is none. */
static inline const char *json_text(const json *object, const char *key) {
    const json *member = json_get(object, key);
    return member && member->kind == JSON_STRING ? member->text : "";
}

static inline double json_count(const json *object, const char *key) {
    const json *member = json_get(object, key);
    return member && member->kind == JSON_NUMBER ? member->number : -1;
}

#endif
