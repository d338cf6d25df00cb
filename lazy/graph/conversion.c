/* conversion.c: values through a conversion: one of printf's, "%8.3f", or ":" and what stands in a field of Python's
 * str.format, ":>8.3f".
 *
 * Both kinds are read into one structure, by which sign, digits and padding are written:
 *
 *      "%+08.2f", ":+08.2f"  ─read─▶  sign '+', fill "0" behind it, width 8, precision 2, letter 'f'
 *      -1.5                  ─────▶   "-" "" "1.50"       sign, prefix ("0x"), digits
 *                            ─────▶   "-0001.50"
 *
 * What the two kinds do not have in common is decided by `field`: printf writes x and o of negative integers as those
 * of 64 bits, and knows no groups of digits; a field has no precision for integers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/graph/format.h"

enum {
    MOST_DIGITS = 512, /* an f64 has at most 309 before the point, and 99 behind it are written */
    MOST_GROUPED = MOST_DIGITS + MOST_DIGITS / 3
};

typedef struct conversion {
    const char *text;
    bool field;
    char fill[5]; /* a character */
    char align;   /* '<', '>', '^', '=' (behind the sign); 0: as the value has it */
    bool zero;    /* of a field: '=' where numbers have it from the value */
    char sign;    /* '+', ' ': what numbers that are not negative get; '-': nothing; 0: none is given */
    bool alternate;
    char group;           /* stands between groups of digits; 0: nothing does */
    int width, precision; /* precision -1: none is given */
    char letter;          /* 0: none */
} conversion;

/* ---- Reading ----------------------------------------------------------------------------------------------------- */
static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

/* Reads at most two digits; -1: there are none. */
static const char *read_digits(const char *s, int *value) {
    *value = -1;
    for (int k = 0; k < 2 && *s >= '0' && *s <= '9'; k++, s++)
        *value = (*value < 0 ? 0 : *value) * 10 + (*s - '0');
    return s;
}

/* Flags that C defines for a letter; NULL if the letter is not accepted. */
static const char *flags_of(char letter) {
    if (is_one_of(letter, "di"))
        return "-+ 0";
    if (letter == 'u')
        return "-0";
    if (is_one_of(letter, "xXo"))
        return "-#0";
    if (is_one_of(letter, "eEfFgGaA"))
        return "-+ #0";
    return letter == 's' ? "-" : NULL;
}

static bool is_integer_letter(char letter) {
    return is_one_of(letter, "bdiuxXo");
}

/* Behind "%". */
static bool read_printf(const char *s, conversion *c) {
    size_t nflags = strspn(s, "-+ #0");
    const char *rest = read_digits(s + nflags, &c->width);
    if (*rest == '.') {
        rest = read_digits(rest + 1, &c->precision);
        c->precision = c->precision < 0 ? 0 : c->precision;
    }
    const char *flags = flags_of(*rest);
    if (nflags > 5 || !flags || rest[1] || strspn(s, flags) < nflags)
        return false;
    bool left = memchr(s, '-', nflags), zero = memchr(s, '0', nflags);
    c->letter = *rest;
    c->alternate = memchr(s, '#', nflags);
    c->sign = memchr(s, '+', nflags) ? '+' : memchr(s, ' ', nflags) ? ' ' : '\0';
    c->align = left ? '<' : '>';
    if (zero && !left && !(is_integer_letter(c->letter) && c->precision >= 0)) {
        c->align = '=';
        c->fill[0] = '0';
    }
    return true;
}

/* Bytes of the character that begins a text. */
static size_t character_bytes(const char *s) {
    size_t n = *s != '\0';
    while (n > 0 && n < 4 && ((unsigned char)s[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Behind ":": [[fill]align][sign][#][0][width][, or _][.precision][letter]. */
static bool read_field(const char *s, conversion *c) {
    size_t n = character_bytes(s);
    bool filled = n > 0 && is_one_of(s[n], "<>^=");
    if (filled) {
        memcpy(c->fill, s, n);
        s += n;
    }
    if (is_one_of(*s, "<>^="))
        c->align = *s++;
    if (is_one_of(*s, "+- "))
        c->sign = *s++;
    c->alternate = *s == '#';
    s += c->alternate;
    if (*s == '0') {
        s++;
        c->zero = c->align == 0;
        if (!filled)
            c->fill[0] = '0';
    }
    s = read_digits(s, &c->width);
    if (is_one_of(*s, ",_"))
        c->group = *s++;
    if (*s == '.') {
        s = read_digits(s + 1, &c->precision);
        if (c->precision < 0)
            return false;
    }
    if (is_one_of(*s, "bdoxXeEfFgG%s"))
        c->letter = *s++;
    return *s == '\0';
}

static int read_conversion(const char *text, conversion *c) {
    *c = (conversion){.text = text, .field = text[0] == ':', .fill = " ", .precision = -1};
    if (c->field ? read_field(text + 1, c) : text[0] == '%' && read_printf(text + 1, c))
        return NEAP_OK;
    if (c->field)
        return neap_error(NEAP_E_ARGUMENT,
                          "{%s} cannot be read: a field is {:[[fill]align][sign][#][0][width][,][.precision][type]}, "
                          "with < > ^ = to align, numbers of at most two digits, and a type of bdoxXeEfFgG%%s",
                          text);
    return neap_error(NEAP_E_ARGUMENT,
                      "\"%s\" is no conversion for an array's element; use %%d %%i %%u %%x %%X %%o %%e %%f %%g %%a %%s "
                      "with flags, width and precision of at most two digits",
                      text);
}

/* ---- What fits --------------------------------------------------------------------------------------------------- */
enum { A_TEXT = -1 }; /* in place of a dtype */

/* Whether a value of the dtype is written as its text, and not as a number. */
static bool is_word(const conversion *c, int dtype) {
    return c->letter == 's' || dtype == A_TEXT || (c->letter == 0 && is_one_of(neap_dtype_kind(dtype), "bc"));
}

static int refuse(const conversion *c, const char *why) {
    return neap_error(NEAP_E_ARGUMENT, c->field ? "{%s} %s" : "\"%s\" %s", c->text, why);
}

static int check_word(const conversion *c, int dtype) {
    if (c->letter != 0 && c->letter != 's')
        return refuse(c, "expects a number, got a text");
    if (c->align == '=' || c->sign || c->alternate || c->group)
        return refuse(c, "has what texts do not have: '=', a sign, '#' or ','");
    if (dtype != A_TEXT && neap_dtype_kind(dtype) == 'c' && c->field && c->precision >= 0)
        return refuse(c, "expects a real number; x.real and x.imag are real");
    return NEAP_OK;
}

/* Whether a value of the dtype is written as an integer. */
static bool writes_integer(const conversion *c, int dtype) {
    return is_integer_letter(c->letter) || (c->letter == 0 && neap_dtype_kind(dtype) != 'f');
}

static int check_fit(const conversion *c, int dtype) {
    if (dtype != A_TEXT && !neap_dtype_name(dtype))
        return neap_error(NEAP_E_ARGUMENT, "no dtype has the number %d", dtype);
    if (is_word(c, dtype))
        return check_word(c, dtype);
    if (neap_dtype_kind(dtype) == 'c')
        return refuse(c, "expects a real number, got a complex one; x.real and x.imag are real");
    if (c->field && writes_integer(c, dtype) && c->precision >= 0)
        return refuse(c, "has a precision, which integers do not have");
    if (c->group == ',' && is_one_of(c->letter, "boxX"))
        return refuse(c, "has a ',' with digits that are not decimal; '_' is for these");
    return NEAP_OK;
}

int graph_format_check(int dtype, const char *conversion_text) {
    conversion c;
    int status = read_conversion(conversion_text, &c);
    return status ? status : check_fit(&c, dtype);
}

/* ---- Padding ----------------------------------------------------------------------------------------------------- */
static int add_fill(lazy_text *out, const conversion *c, int n) {
    int status = NEAP_OK;
    for (int k = 0; k < n && status == NEAP_OK; k++)
        status = graph_text_add(out, c->fill, strlen(c->fill));
    return status;
}

/* Appends head and body, of so many characters together. */
static int add_padded(lazy_text *out, const conversion *c, char align, const char *head, const char *body, size_t bytes,
                      int characters) {
    size_t start = out->bytes;
    int pads = c->width > characters ? c->width - characters : 0, inside = align == '=' ? pads : 0;
    int left = align == '>' ? pads : align == '^' ? pads / 2 : 0;
    int status = add_fill(out, c, left);
    if (status == NEAP_OK)
        status = graph_text_add(out, head, strlen(head));
    if (status == NEAP_OK)
        status = add_fill(out, c, inside);
    if (status == NEAP_OK)
        status = graph_text_add(out, body, bytes);
    if (status == NEAP_OK)
        status = add_fill(out, c, pads - left - inside);
    if (status != NEAP_OK && out->data) {
        out->bytes = start;
        out->data[start] = '\0';
    }
    return status;
}

static int add_word(const conversion *c, const char *s, size_t bytes, lazy_text *out) {
    size_t at = 0;
    int characters = 0;
    while (at < bytes && (c->precision < 0 || characters < c->precision)) {
        size_t n = character_bytes(s + at);
        at += n == 0 ? 1 : n > bytes - at ? bytes - at : n;
        characters++;
    }
    return add_padded(out, c, c->align ? c->align : '<', "", s, at, characters);
}

/* ---- Digits ------------------------------------------------------------------------------------------------------ */
typedef struct number_text {
    char head[4];             /* the sign and a prefix */
    char digits[MOST_DIGITS]; /* with a point, an exponent; or "inf", "nan" */
    bool finite;
} number_text;

static void set_head(const conversion *c, bool negative, const char *prefix, number_text *out) {
    char sign[2] = {negative ? '-' : c->sign == '-' ? '\0' : c->sign, '\0'};
    snprintf(out->head, sizeof out->head, "%s%s", sign, prefix);
}

/* "0x" and its like. */
static const char *prefix_of(const conversion *c, uint64_t size) {
    if (!c->alternate || !is_one_of(c->letter, "xXob"))
        return "";
    if (!c->field && (size == 0 || c->letter == 'o'))
        return c->letter == 'o' ? "0" : "";
    return c->letter == 'x' ? "0x" : c->letter == 'X' ? "0X" : c->letter == 'o' ? "0o" : "0b";
}

static void integer_digits(const conversion *c, bool negative, uint64_t size, number_text *out) {
    const char *names = c->letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned base = is_one_of(c->letter, "xX") ? 16 : c->letter == 'o' ? 8 : c->letter == 'b' ? 2 : 10;
    char backwards[MOST_DIGITS];
    int n = 0, least = c->precision < 0 ? 1 : c->precision;
    const char *prefix = prefix_of(c, size);
    for (uint64_t left = size; left > 0 || n < least; left /= base)
        backwards[n++] = names[left % base];
    if (prefix[0] == '0' && prefix[1] == '\0' && n > 0 && backwards[n - 1] == '0')
        prefix = ""; /* printf's '#' of octal digits: the first one is 0 */
    for (int k = 0; k < n; k++)
        out->digits[k] = backwards[n - 1 - k];
    out->digits[n] = '\0';
    out->finite = true;
    set_head(c, negative, prefix, out);
}

/* Takes zeros behind the point away, but for `least` digits, in front of an exponent too. */
static void strip_zeros(char *digits, int least) {
    char *point = strchr(digits, '.');
    if (!point)
        return;
    char *end = point + strcspn(point, "e"), *last = end;
    while (last > point + 1 + least && last[-1] == '0')
        last--;
    if (last == point + 1)
        last = point;
    memmove(last, end, strlen(end) + 1);
}

/* Python's digits of a float in a field without a letter: as those of 'g', but with a digit behind the point, or an
 * exponent. */
static void general_digits(const conversion *c, double size, char *digits) {
    int precision = c->precision > 0 ? c->precision : 1;
    snprintf(digits, MOST_DIGITS, "%.*e", precision - 1, size);
    int exponent = atoi(strchr(digits, 'e') + 1);
    bool positional = exponent >= -4 && exponent < precision - 1;
    if (positional)
        snprintf(digits, MOST_DIGITS, "%.*f", precision - 1 - exponent, size);
    if (!c->alternate)
        strip_zeros(digits, positional ? 1 : 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the pattern is one of a few */
static void plain_digits(const conversion *c, double size, char letter, char *digits) {
    char pattern[8];
    bool any = c->precision < 0 && is_one_of(letter, "aA"); /* as many as it has */
    snprintf(pattern, sizeof pattern, "%%%s%s%c", c->alternate ? "#" : "", any ? "" : ".*", letter);
    if (any)
        snprintf(digits, MOST_DIGITS, pattern, size);
    else
        snprintf(digits, MOST_DIGITS, pattern, c->precision < 0 ? 6 : c->precision, size);
}
#pragma GCC diagnostic pop

static int float_digits(const conversion *c, int dtype, const void *element, number_text *out) {
    double value = dtype_number(dtype, element), size = fabs(value);
    bool percent = c->letter == '%', upper = is_one_of(c->letter, "EFGA");
    out->finite = isfinite(percent ? 100 * size : size);
    set_head(c, signbit(value) && !isnan(value), "", out);
    if (!out->finite) {
        strcpy(out->digits, isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
    } else if (c->letter == 0 && c->precision < 0) {
        lazy_text text = {0};
        int status = graph_format(dtype, 0, NULL, element, &text);
        if (status == NEAP_OK)
            snprintf(out->digits, sizeof out->digits, "%s", text.data + (text.data[0] == '-'));
        graph_text_free(&text);
        return status;
    } else if (c->letter == 0) {
        general_digits(c, size, out->digits);
    } else {
        plain_digits(c, percent ? 100 * size : size, percent ? 'f' : c->letter, out->digits);
        if (is_one_of(c->letter, "aA")) { /* "0x" stands before what fills the width */
            set_head(c, signbit(value), c->letter == 'a' ? "0x" : "0X", out);
            memmove(out->digits, out->digits + 2, strlen(out->digits) - 1);
        }
    }
    if (percent)
        strcat(out->digits, "%");
    return NEAP_OK;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */
/* The element's sign and size where an integer is wanted. */
static int integer_size(const conversion *c, int dtype, const void *element, bool *negative, uint64_t *size) {
    char kind = neap_dtype_kind(dtype);
    if (kind == 'f') {
        double value = dtype_number(dtype, element);
        if (!(value >= -0x1p63 && value < 0x1p63) || value != floor(value)) {
            lazy_text text = {0};
            int status = graph_format(dtype, 0, NULL, element, &text);
            if (status == NEAP_OK)
                status = neap_error(NEAP_E_ARGUMENT,
                                    c->field ? "{%s} expects an integral value, got %s"
                                             : "\"%s\" expects an integral value, got %s",
                                    c->text, text.data);
            graph_text_free(&text);
            return status;
        }
        *size = (uint64_t)(int64_t)value;
    } else {
        *size = dtype_bits(dtype, element);
    }
    bool has_sign = is_one_of(kind, "fi") && (c->field || is_one_of(c->letter, "di"));
    *negative = has_sign && (int64_t)*size < 0;
    *size = *negative ? -*size : *size;
    return NEAP_OK;
}

/* The first n digits, with a mark between each `each` of them, and zeros in front as far as `least` characters. */
static void group_digits(const char *digits, int n, char mark, int each, int least, char *out) {
    char backwards[MOST_GROUPED];
    int used = 0;
    for (int count = 0; count < n || used < least; count++) {
        if (count > 0 && count % each == 0)
            backwards[used++] = mark;
        backwards[used++] = count < n ? digits[n - 1 - count] : '0';
    }
    for (int k = 0; k < used; k++)
        out[k] = backwards[used - 1 - k];
    strcpy(out + used, digits + n);
}

static int add_number(const conversion *c, const number_text *number, lazy_text *out) {
    char align = c->align ? c->align : c->zero ? '=' : '>', grouped[2 * MOST_GROUPED];
    const char *body = number->digits;
    conversion plain = *c;
    if (!c->field && align == '=' && !number->finite) { /* zeros are for digits */
        strcpy(plain.fill, " ");
        align = '>';
    }
    int head = (int)strlen(number->head);
    if (c->group && number->finite) {
        bool decimal = !is_one_of(c->letter, "boxX");
        int n = (int)strspn(body, decimal ? "0123456789" : "0123456789abcdefABCDEF");
        bool zeros = align == '=' && strcmp(c->fill, "0") == 0;
        int least = zeros ? c->width - head - (int)strlen(body + n) : 0;
        group_digits(body, n, c->group, decimal ? 3 : 4, least, grouped);
        body = grouped;
    }
    size_t bytes = strlen(body);
    return add_padded(out, &plain, align, number->head, body, bytes, head + (int)bytes);
}

/* The text of an element, as words are written. */
static int add_element_word(const conversion *c, int dtype, const void *element, lazy_text *out) {
    lazy_text text = {0};
    int status = graph_format(dtype, 0, NULL, element, &text);
    if (status == NEAP_OK)
        status = add_word(c, text.data, text.bytes, out);
    graph_text_free(&text);
    return status;
}

int graph_format_number(int dtype, const void *element, const char *conversion_text, lazy_text *out) {
    if (!conversion_text)
        return graph_format(dtype, 0, NULL, element, out);
    conversion c;
    number_text number;
    int status = read_conversion(conversion_text, &c);
    if (status == NEAP_OK)
        status = check_fit(&c, dtype);
    if (status != NEAP_OK)
        return status;
    if (is_word(&c, dtype))
        return add_element_word(&c, dtype, element, out);
    if (writes_integer(&c, dtype)) {
        bool negative = false;
        uint64_t size = 0;
        if ((status = integer_size(&c, dtype, element, &negative, &size)) != NEAP_OK)
            return status;
        integer_digits(&c, negative, size, &number);
    } else if ((status = float_digits(&c, dtype, element, &number)) != NEAP_OK) {
        return status;
    }
    return add_number(&c, &number, out);
}

/* ---- For Lua ----------------------------------------------------------------------------------------------------- */
int neap_conversion_check(int dtype, const char *conversion_text) {
    return graph_format_check(dtype, conversion_text);
}

int neap_conversion_text(int dtype, const void *value, size_t size, const char *conversion_text, char *text,
                         size_t capacity, size_t *bytes) {
    conversion c;
    lazy_text out = {0};
    int status = 0;
    if (dtype >= 0)
        status = graph_format_number(dtype, value, conversion_text, &out);
    else if ((status = read_conversion(conversion_text, &c)) == NEAP_OK && (status = check_fit(&c, A_TEXT)) == NEAP_OK)
        status = add_word(&c, value, size, &out);
    *bytes = out.bytes;
    if (status == NEAP_OK && out.bytes)
        memcpy(text, out.data, out.bytes < capacity ? out.bytes : capacity);
    graph_text_free(&out);
    return status;
}
