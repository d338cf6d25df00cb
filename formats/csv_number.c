/* csv_number.c: numbers and their texts, both ways exact: the float nearest to a text, and the shortest text of a
 * float.
 *
 * A text of at most 19 digits is an integer m of 64 bits times a power of ten. While that is within 10^±27, m · 5^k or
 * m / 5^k is one product or one division of integers, whose bits are all known; so it is rounded once, to nearest, ties
 * to even. What is left (more digits, larger powers) is strtod's, in the C locale, whatever the process has set.
 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/csv.h"

enum { MOST_POWER = 27, MOST_DIGITS = 19, STACK_BYTES = 128 };
__extension__ typedef unsigned __int128 uint128;

/* ---- What a text is ---------------------------------------------------------------------------------------------- */

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static bool is_word(const char *text, size_t bytes, const char *word) {
    return bytes == strlen(word) && strncasecmp(text, word, bytes) == 0;
}

int csv_number_kind(const char *text, size_t bytes) {
    const char *s = text, *end = text + bytes;
    if (s < end && (*s == '-' || *s == '+'))
        s++;
    const char *first = s;
    while (s < end && is_digit(*s))
        s++;
    int64_t digits = s - first;
    if (s == end)
        return digits > 0 ? CSV_INTEGER : CSV_NOT;
    if (*s == '.') {
        const char *point = ++s;
        while (s < end && is_digit(*s))
            s++;
        digits += s - point;
    }
    if (digits == 0) {
        size_t rest = (size_t)(end - first);
        bool word = is_word(first, rest, "inf") || is_word(first, rest, "infinity") || is_word(first, rest, "nan");
        return word ? CSV_REAL : CSV_NOT;
    }
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < end && (*s == '-' || *s == '+'))
            s++;
        if (s == end)
            return CSV_NOT;
        while (s < end && is_digit(*s))
            s++;
    }
    return s == end ? CSV_REAL : CSV_NOT;
}

bool csv_integer(const char *text, size_t bytes, bool *negative, uint64_t *size) {
    const char *s = text, *end = text + bytes;
    *negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+'))
        s++;
    uint64_t value = 0;
    for (const char *safe = end - s < MOST_DIGITS ? end : s + MOST_DIGITS; s < safe; s++)
        value = 10 * value + (uint64_t)(*s - '0');
    for (; s < end; s++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return false;
    }
    *size = value;
    return true;
}

int csv_bool(const char *text, size_t bytes) {
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE"};
    if (bytes < 4 || bytes > 5)
        return -1;
    for (int k = 0; k < 6; k++) {
        if (bytes == strlen(words[k]) && memcmp(text, words[k], bytes) == 0)
            return k & 1;
    }
    return -1;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* A number as ±size · 10^power. */
typedef struct parts {
    bool negative;
    uint64_t size;
    int64_t power;
} parts;

/* False if it has more digits than `size` holds, or is a word. */
static bool split_number(const char *s, const char *end, parts *out) {
    int digits = 0;
    *out = (parts){.negative = s < end && *s == '-'};
    if (s < end && (*s == '-' || *s == '+'))
        s++;
    bool point = false;
    for (; s < end && (is_digit(*s) || (*s == '.' && !point)); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (out->size == 0 && *s == '0') { /* zeros in front are no digits of it */
            out->power -= point;
            continue;
        }
        if (++digits > MOST_DIGITS)
            return false;
        out->size = 10 * out->size + (uint64_t)(*s - '0');
        out->power -= point;
    }
    if (s == end)
        return true;
    if (*s != 'e' && *s != 'E')
        return false;
    s++;
    bool down = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+'))
        s++;
    int64_t power = 0;
    for (; s < end && power < 100000; s++)
        power = 10 * power + (*s - '0');
    out->power += down ? -power : power;
    return true;
}

static const uint64_t fives[MOST_POWER + 1] = {UINT64_C(1),
                                               UINT64_C(5),
                                               UINT64_C(25),
                                               UINT64_C(125),
                                               UINT64_C(625),
                                               UINT64_C(3125),
                                               UINT64_C(15625),
                                               UINT64_C(78125),
                                               UINT64_C(390625),
                                               UINT64_C(1953125),
                                               UINT64_C(9765625),
                                               UINT64_C(48828125),
                                               UINT64_C(244140625),
                                               UINT64_C(1220703125),
                                               UINT64_C(6103515625),
                                               UINT64_C(30517578125),
                                               UINT64_C(152587890625),
                                               UINT64_C(762939453125),
                                               UINT64_C(3814697265625),
                                               UINT64_C(19073486328125),
                                               UINT64_C(95367431640625),
                                               UINT64_C(476837158203125),
                                               UINT64_C(2384185791015625),
                                               UINT64_C(11920928955078125),
                                               UINT64_C(59604644775390625),
                                               UINT64_C(298023223876953125),
                                               UINT64_C(1490116119384765625),
                                               UINT64_C(7450580596923828125)};

/* bits · 2^power, where bits has its highest bit set and `more` says that bits below were not zero, rounded to `digits`
 * binary digits: an integer of that many and its power. */
static uint64_t round_bits(uint64_t bits, bool more, int digits, int *power) {
    int drop = 64 - digits;
    uint64_t kept = bits >> drop, rest = bits << digits, half = UINT64_C(1) << 63;
    if (rest > half || (rest == half && (more || kept & 1)))
        kept++;
    *power += drop;
    return kept;
}

/* size · 5^power, rounded to `digits` binary digits: an integer of that many; its power of two is added to *exponent.
 * */
static uint64_t multiply(uint64_t size, int power, int digits, int *exponent) {
    uint128 product = (uint128)size * fives[power];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (high == 0) {
        int lead = __builtin_clzll(low);
        *exponent -= lead;
        return round_bits(low << lead, false, digits, exponent);
    }
    int lead = __builtin_clzll(high);
    *exponent += 64 - lead;
    product <<= lead;
    return round_bits((uint64_t)(product >> 64), (uint64_t)product != 0, digits, exponent);
}

/* The same of size / 5^power. */
static uint64_t divide(uint64_t size, int power, int digits, int *exponent) {
    int shift = __builtin_clzll(size), lead = __builtin_clzll(fives[power]);
    uint64_t divisor = fives[power] << lead;
    uint128 dividend = (uint128)(size << shift) << 63; /* so the quotient has 63 or 64 bits */
    uint64_t quotient = (uint64_t)(dividend / divisor), rest = (uint64_t)(dividend - (uint128)quotient * divisor);
    *exponent += lead - shift - 63;
    if (!(quotient >> 63)) { /* one more bit of it */
        bool bit = rest >= divisor - rest;
        rest = bit ? rest - (divisor - rest) : 2 * rest;
        quotient = quotient << 1 | bit;
        *exponent -= 1;
    }
    return round_bits(quotient, rest != 0, digits, exponent);
}

/* ±size · 10^power, rounded once to `digits` binary digits. */
static double scale(const parts *p, int digits) {
    int power = (int)p->power, exponent = power;
    uint64_t bits =
        power < 0 ? divide(p->size, -power, digits, &exponent) : multiply(p->size, power, digits, &exponent);
    double value = ldexp((double)bits, exponent);
    return p->negative ? -value : value;
}

static locale_t c_locale;

static void make_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* What the C library makes of it. */
static double from_library(const char *text, size_t bytes, bool single) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    char stack[STACK_BYTES], *copy = bytes < sizeof stack ? stack : malloc(bytes + 1);
    if (!copy || !c_locale)
        return __builtin_nan("");
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    double value = single ? (double)strtof_l(copy, NULL, c_locale) : strtod_l(copy, NULL, c_locale);
    if (copy != stack)
        free(copy);
    return value == value ? value : __builtin_nan("");
}

double csv_double(const char *text, size_t bytes) {
    parts p;
    if (!split_number(text, text + bytes, &p) || p.power > MOST_POWER || p.power < -MOST_POWER)
        return from_library(text, bytes, false);
    if (p.size == 0)
        return p.negative ? -0.0 : 0.0;
    return scale(&p, DBL_MANT_DIG); /* far from the ends of the range */
}

float csv_float(const char *text, size_t bytes) {
    parts p;
    if (!split_number(text, text + bytes, &p) || p.power > MOST_POWER || p.power < -MOST_POWER)
        return (float)from_library(text, bytes, true);
    if (p.size == 0)
        return p.negative ? -0.0F : 0.0F;
    double value = scale(&p, FLT_MANT_DIG); /* above the subnormals */
    return fabs(value) > (double)FLT_MAX ? (float)copysign((double)INFINITY, value) : (float)value;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static bool reads_back(const char *text, int length, double value, int bytes) {
    return bytes == 4 ? csv_float(text, (size_t)length) == (float)value : csv_double(text, (size_t)length) == value;
}

/* Puts digits d.ddde±xx into their plain form, where that is not longer than it is with an exponent. */
static int write_plain(const char *digits, int count, int power, bool negative, char *out) {
    int n = 0;
    if (negative)
        out[n++] = '-';
    if (power < -5 || power > 15) {
        out[n++] = digits[0];
        if (count > 1) {
            out[n++] = '.';
            memcpy(out + n, digits + 1, (size_t)count - 1);
            n += count - 1;
        }
        return n + sprintf(out + n, "e%c%02d", power < 0 ? '-' : '+', abs(power));
    }
    if (power < 0) {
        out[n++] = '0', out[n++] = '.';
        for (int k = -1; k > power; k--)
            out[n++] = '0';
    }
    for (int k = 0; k < count || k <= power; k++) {
        out[n++] = k < count ? digits[k] : '0';
        if (k == power && k + 1 < count)
            out[n++] = '.';
    }
    if (power >= count - 1) {
        out[n++] = '.', out[n++] = '0';
    }
    return n;
}

int csv_number_write(double value, int bytes, char out[32]) {
    int least = bytes == 4 ? 6 : 15, most = bytes == 4 ? 9 : 17, length = 0;
    char text[40], digits[20];
    for (int count = least; count <= most; count++) {
        length = snprintf(text, sizeof text, "%.*e", count - 1, value);
        for (int k = 0; k < length; k++) { /* whatever the locale has for a point */
            if (text[k] == ',')
                text[k] = '.';
        }
        if (reads_back(text, length, value, bytes))
            break;
    }
    int n = 0, at = text[0] == '-';
    for (; text[at] != 'e'; at++) {
        if (is_digit(text[at]))
            digits[n++] = text[at];
    }
    int power = (int)strtol(text + at + 1, NULL, 10);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return write_plain(digits, n, power, signbit(value), out);
}
