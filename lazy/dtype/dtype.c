/* dtype.c: names, sizes and promotion of dtypes, from the rows in dtype.h.
 *
 * Promotion follows JAX's lattice (its type promotion page), whose edges follow from kinds and sizes: bool becomes all
 * others; an integer becomes a wider one of its kind, an unsigned one also a wider signed one, and any real dtype; a
 * real dtype becomes a wider one, and a complex one whose parts are as wide. Two dtypes meet in the least one that both
 * become: u32 with i32 in i64, f64 with c64 in c128. u64 has no wider signed one, and gives f32 with signed integers.
 */
#include <math.h>
#include <string.h>

#include "lazy/dtype/half.h"
#include "lazy/dtype/scalar.h"
#include "lazy/lazy.h"

#define ROW_OF_ITS_SIZE(NAME, name, kind, ctype, bits, ...)                                                            \
    _Static_assert(sizeof(ctype) * 8 == (bits) && (bits) % 8 == 0, #name ": its C type has another size");
NEAP_DTYPE_ROWS(ROW_OF_ITS_SIZE)
_Static_assert(NEAP_DTYPE_COUNT <= 30, "sets of dtypes are 32 bits, two of which say something else");
_Static_assert(sizeof(lazy_scalar) == 16, "a scalar holds the largest dtype, and numbers are copied as words");

static const struct {
    const char *name;
    char kind;
    int bits, digits;
} dtypes[] = {
#define DTYPE(NAME, name, kind, ctype, bits, digits, ...) {#name, kind, bits, digits},
    NEAP_DTYPE_ROWS(DTYPE)
#undef DTYPE
};

static int known(int dtype) {
    return dtype >= 0 && dtype < NEAP_DTYPE_COUNT;
}

const char *neap_dtype_name(int dtype) {
    return known(dtype) ? dtypes[dtype].name : NULL;
}

int neap_dtype_parse(const char *name) {
    for (int d = 0; d < NEAP_DTYPE_COUNT; d++)
        if (strcmp(name, dtypes[d].name) == 0)
            return d;
#define DTYPE_WORD(NAME, name, ...) " " #name
    static const char names[] = NEAP_DTYPE_ROWS(DTYPE_WORD);
#undef DTYPE_WORD
    return neap_error(NEAP_E_DTYPE, "expected a dtype (%s), got '%s'", names + 1, name);
}

int neap_dtype_bytes(int dtype) {
    return known(dtype) ? dtypes[dtype].bits / 8 : 0;
}

int neap_dtype_kind(int dtype) {
    return known(dtype) ? dtypes[dtype].kind : 0;
}

bool dtype_is_inexact(int dtype) {
    return neap_dtype_kind(dtype) == 'f' || neap_dtype_kind(dtype) == 'c';
}

neap_half dtype_half(int dtype) {
    return dtype == NEAP_DTYPE_F16 ? NEAP_HALF_F16 : dtype == NEAP_DTYPE_BF16 ? NEAP_HALF_BF16 : NEAP_NO_HALF;
}

bool dtype_is_half(int dtype) {
    return known(dtype) && dtypes[dtype].kind == 'f' && dtypes[dtype].bits == 16;
}

int dtype_digits(int dtype) {
    return dtypes[dtype].digits;
}

/* The least dtype of a kind that has more bits; f32 where there is none. */
static int least_above(char kind, int bits) {
    int found = -1;
    for (int d = 0; d < NEAP_DTYPE_COUNT; d++)
        if (dtypes[d].kind == kind && dtypes[d].bits > bits && (found < 0 || dtypes[d].bits < dtypes[found].bits))
            found = d;
    return found < 0 ? NEAP_DTYPE_F32 : found;
}

int dtype_of_part(int dtype) {
    for (int d = 0; d < NEAP_DTYPE_COUNT && dtypes[dtype].kind == 'c'; d++)
        if (dtypes[d].kind == 'f' && 2 * dtypes[d].bits == dtypes[dtype].bits)
            return d;
    return dtype;
}

int dtype_of_complex(int dtype) {
    int of = dtype_of_real(dtype), found = -1;
    for (int d = 0; d < NEAP_DTYPE_COUNT && dtypes[of].kind != 'c'; d++)
        if (dtypes[d].kind == 'c' && dtypes[d].bits >= 2 * dtypes[of].bits &&
            (found < 0 || dtypes[d].bits < dtypes[found].bits))
            found = d;
    return found < 0 ? of : found;
}

/* Integers and bools leave a complex dtype as it is, as they do a real one. */
static int promote_complex(int left, int right) {
    int a = dtypes[left].kind == 'c' ? left : right, b = a == left ? right : left;
    int other = dtypes[b].kind == 'f' || dtypes[b].kind == 'c' ? dtype_of_complex(b) : a;
    return dtypes[a].bits >= dtypes[other].bits ? a : other;
}

int neap_dtype_promote(int left, int right) {
    if (!known(left) || !known(right))
        return neap_error(NEAP_E_DTYPE, "promote: no such dtype");
    char a = dtypes[left].kind, b = dtypes[right].kind;
    int left_bits = dtypes[left].bits, right_bits = dtypes[right].bits;
    if (a == 'c' || b == 'c')
        return promote_complex(left, right);
    if (left == right || b == 'b' || (a == 'f' && b != 'f'))
        return left;
    if (a == 'b' || (b == 'f' && a != 'f'))
        return right;
    if (a == b)
        return left_bits > right_bits ? left : left_bits < right_bits ? right : least_above(a, left_bits);
    int is_signed = a == 'i' ? left : right, is_unsigned = a == 'i' ? right : left;
    return dtypes[is_signed].bits > dtypes[is_unsigned].bits ? is_signed : least_above('i', dtypes[is_unsigned].bits);
}

int dtype_of_sum(int dtype) {
#define SUM(NAME, name, kind, ctype, bits, digits, lowest, highest, sum, real) NEAP_DTYPE_##sum,
    static const uint8_t sums[] = {NEAP_DTYPE_ROWS(SUM)};
#undef SUM
    return sums[dtype];
}

int dtype_of_real(int dtype) {
#define REAL(NAME, name, kind, ctype, bits, digits, lowest, highest, sum, real) NEAP_DTYPE_##real,
    static const uint8_t reals[] = {NEAP_DTYPE_ROWS(REAL)};
#undef REAL
    return reals[dtype];
}

/* Numbers are doubles: of integers beyond 2^53 they cannot say which one they mean. */
bool dtype_holds(int dtype, double value) {
    static const double exact = 9007199254740992.0;
    switch (dtype) {
#define HOLDS(NAME, name, kind, ctype, bits, digits, lowest, highest, ...)                                             \
    case NEAP_DTYPE_##NAME:                                                                                            \
        return kind == 'f' || kind == 'c' ||                                                                           \
               (value == floor(value) && fabs(value) <= exact && value >= (double)(lowest) &&                          \
                value <= (double)(highest));
        NEAP_DTYPE_ROWS(HOLDS)
#undef HOLDS
    }
    return false;
}

double dtype_round(int dtype, double value) {
    switch (dtype) {
#define ROUND(NAME, name, kind, ctype, ...)                                                                            \
    case NEAP_DTYPE_##NAME:                                                                                            \
        return (double)(ctype)value;
#define ROUND_HALF(NAME, name, ...)                                                                                    \
    case NEAP_DTYPE_##NAME:                                                                                            \
        return (double)half_wide_##name(half_of_f64_##name(value));
        NEAP_DTYPE_REAL_ROWS(ROUND)
        NEAP_DTYPE_COMPLEX_ROWS(ROUND)
        NEAP_DTYPE_HALF_ROWS(ROUND_HALF)
#undef ROUND
#undef ROUND_HALF
    }
    return value;
}

lazy_scalar dtype_scalar(int dtype, double value) {
    lazy_scalar s = {0};
    switch (dtype) {
#define SCALAR(NAME, name, kind, ctype, ...)                                                                           \
    case NEAP_DTYPE_##NAME: {                                                                                          \
        ctype typed = kind == 'b' ? (ctype)(value != 0) : (ctype)value;                                                \
        memcpy(&s, &typed, sizeof typed);                                                                              \
        break;                                                                                                         \
    }
#define SCALAR_HALF(NAME, name, ...)                                                                                   \
    case NEAP_DTYPE_##NAME:                                                                                            \
        s.name = half_of_f64_##name(value);                                                                            \
        break;
        NEAP_DTYPE_PLAIN_ROWS(SCALAR)
        NEAP_DTYPE_COMPLEX_ROWS(SCALAR)
        NEAP_DTYPE_HALF_ROWS(SCALAR_HALF)
#undef SCALAR
#undef SCALAR_HALF
    }
    return s;
}

double dtype_number(int dtype, const void *element) {
    switch (dtype_of_part(dtype)) { /* of a complex number the real part stands first */
#define NUMBER(NAME, name, kind, ctype, ...)                                                                           \
    case NEAP_DTYPE_##NAME: {                                                                                          \
        ctype typed;                                                                                                   \
        memcpy(&typed, element, sizeof typed);                                                                         \
        return kind == 'b' ? typed != 0 : (double)typed;                                                               \
    }
#define NUMBER_HALF(NAME, name, kind, ctype, ...)                                                                      \
    case NEAP_DTYPE_##NAME: {                                                                                          \
        ctype bits;                                                                                                    \
        memcpy(&bits, element, sizeof bits);                                                                           \
        return (double)half_wide_##name(bits);                                                                         \
    }
        NEAP_DTYPE_PLAIN_ROWS(NUMBER)
        NEAP_DTYPE_HALF_ROWS(NUMBER_HALF)
#undef NUMBER
#undef NUMBER_HALF
    }
    return 0;
}

uint64_t dtype_bits(int dtype, const void *element) {
    switch (dtype) {
#define BITS(NAME, name, kind, ctype, ...)                                                                             \
    case NEAP_DTYPE_##NAME: {                                                                                          \
        ctype value;                                                                                                   \
        memcpy(&value, element, sizeof value);                                                                         \
        return kind == 'b' ? value != 0 : (uint64_t)value;                                                             \
    }
        NEAP_DTYPE_BOOL_ROWS(BITS)
        NEAP_DTYPE_INTEGER_ROWS(BITS)
#undef BITS
    }
    return 0;
}
