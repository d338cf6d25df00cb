/* csv_number.c: numbers and their texts, both ways exact: the float nearest to a text, and the shortest text of a
 * float.
 *
 * A text of at most 19 digits is an integer m of 64 bits times a power of ten. If doubles hold both, one product or
 * division of doubles rounds once. Else, while the power is within 10^±27, m · 5^k or m / 5^k is one product or one
 * division of integers, whose bits are all known; so it is rounded once, to nearest, ties to even. What is left (more
 * digits, larger powers) is strtod's, in the C locale, whatever the process has set.
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

enum {
    MOST_POWER = 27,
    MOST_EXACT = 22, /* the largest power of ten that a double holds */
    MOST_DIGITS = 19,
    FARTHEST_POWER = 100000, /* beyond which all numbers are 0 or infinite */
    STACK_BYTES = 128
};
/* Of the bits of a double those that a float has not, and the one half of its last digit. */
static const uint64_t BELOW_FLOAT = (UINT64_C(1) << (DBL_MANT_DIG - FLT_MANT_DIG)) - 1;
static const uint64_t HALF_OF_FLOAT = UINT64_C(1) << (DBL_MANT_DIG - FLT_MANT_DIG - 1);
__extension__ typedef unsigned __int128 uint128;

/* ---- What a text is ---------------------------------------------------------------------------------------------- */

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static bool is_word(const char *text, size_t bytes, const char *word) {
    return bytes == strlen(word) && strncasecmp(text, word, bytes) == 0;
}

/* Eight bytes at a time: how many of them are digits before one that is none (counted without a branch: fields differ
 * in length), and their number. A byte less '0' is a digit if it is at most 9: the sum carries into its highest bit
 * else. What follows in higher bytes does not matter. */
static inline int digits_of_eight(const char *s, uint64_t *number) {
    uint64_t word;
    memcpy(&word, s, sizeof word); /* little-endian: the first byte is the lowest */
    word ^= UINT64_C(0x3030303030303030);
    uint64_t others = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    int count = others ? __builtin_ctzll(others) >> 3 : 8;
    word = count ? word << (64 - 8 * count) : 0; /* as many zeros in front as are missing */
    word = 10 * word + (word >> 8);
    *number = ((word & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
               (word >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
              32;
    return count;
}

/* Behind the digits at s, which are put behind those of `size`. */
static inline const char *read_digits(const char *s, const char *end, uint64_t *size) {
    static const uint64_t tens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t found = *size;
    for (int count = 8; count == 8 && end - s >= 8; s += count) {
        uint64_t number;
        count = digits_of_eight(s, &number);
        found = found * tens[count] + number;
    }
    for (; s < end && is_digit(*s); s++)
        found = 10 * found + (uint64_t)(*s - '0');
    *size = found;
    return s;
}

/* The exponent at s, behind which `*s` is left; false if there is none. */
static bool read_exponent(const char **s, const char *end, int64_t *power) {
    const char *at = *s;
    bool down = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    const char *first = at;
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++)
        value = value < FARTHEST_POWER ? 10 * value + (*at - '0') : value;
    *power += down ? -value : value;
    *s = at;
    return at > first;
}

/* How many digits a number has from the first one on that is not 0. */
static int64_t digits_that_count(const char *s, const char *end) {
    while (s < end && (*s == '0' || *s == '.'))
        s++;
    int64_t digits = 0;
    for (; s < end && (is_digit(*s) || *s == '.'); s++)
        digits += *s != '.';
    return digits;
}

const char *csv_number_at(const char *s, const char *end, csv_number *out) {
    const bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+'))
        s++;
    const char *first = s;
    uint64_t size = 0;
    s = read_digits(s, end, &size);
    int64_t digits = s - first, power = 0;
    int kind = CSV_INTEGER;
    if (s < end && *s == '.') {
        const char *point = ++s;
        s = read_digits(s, end, &size);
        power = point - s;
        digits -= power;
        kind = CSV_REAL;
    }
    if (digits == 0)
        kind = CSV_NOT;
    const bool whole = digits <= MOST_DIGITS || digits_that_count(first, s) <= MOST_DIGITS;
    if (kind != CSV_NOT && s < end && (*s == 'e' || *s == 'E')) {
        s++;
        kind = read_exponent(&s, end, &power) ? CSV_REAL : CSV_NOT;
    }
    *out = (csv_number){.kind = kind, .negative = negative, .whole = whole, .size = size, .power = power};
    return s;
}

csv_number csv_number_of(const char *text, size_t bytes) {
    csv_number out;
    const char *end = text + bytes;
    if (csv_number_at(text, end, &out) == end)
        return out;
    const char *word = text + (bytes > 0 && (*text == '-' || *text == '+'));
    size_t rest = (size_t)(end - word);
    bool real = is_word(word, rest, "inf") || is_word(word, rest, "infinity") || is_word(word, rest, "nan");
    return (csv_number){.kind = real ? CSV_REAL : CSV_NOT};
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
static double scale(const csv_number *p, int digits) {
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

/* Whether size · 10^power is one operation on two numbers that a double holds: it rounds once then. */
static bool is_one_operation(const csv_number *p) {
    return p->size <= UINT64_C(1) << DBL_MANT_DIG && p->power >= -MOST_EXACT && p->power <= MOST_EXACT;
}

static double in_one_operation(const csv_number *p) {
    static const double tens[MOST_EXACT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double size = (double)p->size, value = p->power < 0 ? size / tens[-p->power] : size * tens[p->power];
    return p->negative ? -value : value;
}

double csv_double(const csv_number *p, const char *text, size_t bytes) {
    if (!p->whole || p->power > MOST_POWER || p->power < -MOST_POWER)
        return from_library(text, bytes, false);
    if (p->size == 0)
        return p->negative ? -0.0 : 0.0;
    if (is_one_operation(p))
        return in_one_operation(p);
    return scale(p, DBL_MANT_DIG); /* far from the ends of the range */
}

float csv_float(const csv_number *p, const char *text, size_t bytes) {
    if (!p->whole || p->power > MOST_POWER || p->power < -MOST_POWER)
        return (float)from_library(text, bytes, true);
    if (p->size == 0)
        return p->negative ? -0.0F : 0.0F;
    if (is_one_operation(p)) { /* rounding again is right, unless the double lies half-way between two floats */
        double value = in_one_operation(p);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        if ((bits & BELOW_FLOAT) != HALF_OF_FLOAT)
            return (float)value;
    }
    double value = scale(p, FLT_MANT_DIG); /* above the subnormals */
    return fabs(value) > (double)FLT_MAX ? (float)copysign((double)INFINITY, value) : (float)value;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static bool reads_back(const char *text, int length, double value, int bytes) {
    size_t n = (size_t)length;
    csv_number number = csv_number_of(text, n);
    return bytes == 4 ? csv_float(&number, text, n) == (float)value : csv_double(&number, text, n) == value;
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
