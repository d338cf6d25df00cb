/* moves.c: copies of elements that are not one piece of memory (simd.h has the contract): rows, turned rectangles,
 * broadcasts, elements at places that are data. Only the width of an element matters. This file is compiled once per
 * instruction set (-DNEAP_ISA).
 */
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include <string.h>

#include "lazy/vm/simd/simd.h"

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX2__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
enum { QUAD = 16, LINE = 64, QUADS = VECTOR / QUAD };

/* One, two or four quads, the same operation on each. */
#if defined(__AVX512F__)
#define EACH_QUAD(INDICES, per)                                                                                        \
    INDICES(0, 4 * per), INDICES(per, 4 * per), INDICES(2 * per, 4 * per), INDICES(3 * per, 4 * per)
#elif defined(__AVX2__)
#define EACH_QUAD(INDICES, per) INDICES(0, 2 * per), INDICES(per, 2 * per)
#else
#define EACH_QUAD(INDICES, per) INDICES(0, per)
#endif
#define ONE_QUAD(INDICES, per) INDICES(0, per)

typedef uint8_t quad_8 __attribute__((vector_size(QUAD)));
typedef uint16_t quad_16 __attribute__((vector_size(QUAD)));
typedef uint32_t quad_32 __attribute__((vector_size(QUAD)));
typedef uint64_t quad_64 __attribute__((vector_size(QUAD)));
typedef uint8_t wide_8 __attribute__((vector_size(VECTOR)));
typedef uint16_t wide_16 __attribute__((vector_size(VECTOR)));
typedef uint32_t wide_32 __attribute__((vector_size(VECTOR)));
typedef uint64_t wide_64 __attribute__((vector_size(VECTOR)));
typedef wide_64 loose_wide __attribute__((aligned(1), may_alias));
typedef quad_64 loose_quad __attribute__((aligned(1), may_alias));

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* A row of so many bytes; the end of a row that is no multiple of a vector overlaps what was copied before. */
static inline void copy_row(char *to, const char *from, int64_t bytes) {
    if (bytes >= VECTOR) {
        for (int64_t at = 0; at + VECTOR < bytes; at += VECTOR)
            *(loose_wide *)(to + at) = *(const loose_wide *)(from + at);
        *(loose_wide *)(to + bytes - VECTOR) = *(const loose_wide *)(from + bytes - VECTOR);
    } else if (bytes >= QUAD) {
        for (int64_t at = 0; at + QUAD < bytes; at += QUAD)
            *(loose_quad *)(to + at) = *(const loose_quad *)(from + at);
        *(loose_quad *)(to + bytes - QUAD) = *(const loose_quad *)(from + bytes - QUAD);
    } else if (bytes >= 8) {
        uint64_t first, end;
        memcpy(&first, from, 8), memcpy(&end, from + bytes - 8, 8);
        memcpy(to, &first, 8), memcpy(to + bytes - 8, &end, 8);
    } else {
        for (int64_t at = 0; at < bytes; at++)
            to[at] = from[at];
    }
}

/* Bytes from which the library's copy is as quick: it is made for pieces that begin at a line, and rows seldom do. */
enum { LONG_ROW = QUADS > 1 ? 1 << 16 : 2048 };

static void copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t rows, int64_t bytes) {
    for (int64_t i = 0; i < rows; i++, to += to_step, from += from_step)
        if (bytes >= LONG_ROW)
            memcpy(to, from, (size_t)bytes);
        else
            copy_row(to, from, bytes);
}

/* One row again and again: what is there is copied behind itself. */
static void repeat_row(char *to, const char *from, int64_t rows, int64_t bytes) {
    int64_t done = bytes, total = rows * bytes;
    memcpy(to, from, (size_t)bytes);
    for (; done < total; done *= 2)
        memcpy(to + done, to, (size_t)(done < total - done ? done : total - done));
}

static void take_rows(void *out, const void *in, const int64_t *distance, int64_t rows, int64_t row_step,
                      int64_t bytes) {
    char *to = out;
    for (int64_t i = 0; i < rows; i++, to += bytes)
        copy_rows(to, 0, (const char *)in + distance[i] + i * row_step, 0, 1, bytes);
}

/* ---- Turned rectangles ------------------------------------------------------------------------------------------- */
/* Quads of 16 bytes that start `step` bytes apart, side by side. */
static inline wide_64 load_quads(const char *from, int64_t step) {
#if defined(__AVX2__)
    const __m128i first = _mm_loadu_si128((const __m128i *)from);
    const __m256i low =
        _mm256_inserti128_si256(_mm256_castsi128_si256(first), _mm_loadu_si128((const __m128i *)(from + step)), 1);
#if defined(__AVX512F__)
    const __m128i third = _mm_loadu_si128((const __m128i *)(from + 2 * step));
    const __m256i high =
        _mm256_inserti128_si256(_mm256_castsi128_si256(third), _mm_loadu_si128((const __m128i *)(from + 3 * step)), 1);
    return (wide_64)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
    return (wide_64)low;
#endif
#else
    (void)step;
    return *(const loose_quad *)from;
#endif
}

static inline quad_64 load_quad(const char *from, int64_t step) {
    (void)step;
    return *(const loose_quad *)from;
}

/* In each quad: the elements of the first halves of a and b in turn, of the second halves. `n`: a vector's elements. */
#define LOW_8(q, n)                                                                                                    \
    q, n + q, q + 1, n + q + 1, q + 2, n + q + 2, q + 3, n + q + 3, q + 4, n + q + 4, q + 5, n + q + 5, q + 6,         \
        n + q + 6, q + 7, n + q + 7
#define HIGH_8(q, n) LOW_8(q + 8, n)
#define LOW_16(q, n) q, n + q, q + 1, n + q + 1, q + 2, n + q + 2, q + 3, n + q + 3
#define HIGH_16(q, n) LOW_16(q + 4, n)
#define LOW_32(q, n) q, n + q, q + 1, n + q + 1
#define HIGH_32(q, n) LOW_32(q + 2, n)
#define LOW_64(q, n) q, n + q
#define HIGH_64(q, n) LOW_64(q + 1, n)

/* Squares of `SIDE` elements, one in each quad of vectors: to[k * to_stride + b] = from[b * from_stride + k] for k <
 * SIDE, and b < SIDE in the first square, SIDE <= b < 2 · SIDE in the next. Halves are taken in turn as often as
 * leads there. */
#define SQUARES(id, BITS, SIDE, V, LOADED, load, QUADS_OF, ...)                                                        \
    static inline void id##_##BITS(uint##BITS##_t *to, int64_t to_stride, const uint##BITS##_t *from,                  \
                                   int64_t from_stride) {                                                              \
        V in[SIDE], out[SIDE];                                                                                         \
        for (int k = 0; k < SIDE; k++)                                                                                 \
            in[k] = (V)load((const char *)(from + k * from_stride), SIDE * from_stride * (BITS / 8));                  \
        _Pragma("GCC unroll 4") for (int round = SIDE; round > 1; round /= 2) {                                        \
            _Pragma("GCC unroll 8") for (int k = 0; k < SIDE / 2; k++) {                                               \
                out[2 * k] = __builtin_shufflevector(in[k], in[k + SIDE / 2], QUADS_OF(LOW_##BITS, SIDE));             \
                out[2 * k + 1] = __builtin_shufflevector(in[k], in[k + SIDE / 2], QUADS_OF(HIGH_##BITS, SIDE));        \
            }                                                                                                          \
            _Pragma("GCC unroll 16") for (int k = 0; k < SIDE; k++) in[k] = out[k];                                    \
        }                                                                                                              \
        _Pragma("GCC unroll 16") for (int k = 0; k < SIDE; k++) * (LOADED *)(to + k * to_stride) = (LOADED)in[k];      \
    }
SQUARES(squares, 8, 16, wide_8, loose_wide, load_quads, EACH_QUAD)
SQUARES(squares, 16, 8, wide_16, loose_wide, load_quads, EACH_QUAD)
SQUARES(squares, 32, 4, wide_32, loose_wide, load_quads, EACH_QUAD)
SQUARES(squares, 64, 2, wide_64, loose_wide, load_quads, EACH_QUAD)
SQUARES(square, 8, 16, quad_8, loose_quad, load_quad, ONE_QUAD)
SQUARES(square, 16, 8, quad_16, loose_quad, load_quad, ONE_QUAD)
SQUARES(square, 32, 4, quad_32, loose_quad, load_quad, ONE_QUAD)
SQUARES(square, 64, 2, quad_64, loose_quad, load_quad, ONE_QUAD)

/* A square as wide as a vector, whose rows are whole vectors in both ways: quads are turned, each for itself, and then
 * change places, the even ones and the odd ones of two vectors at a time. */
#if defined(__AVX512F__)
#define EVEN_QUADS 0, 1, 4, 5, 8, 9, 12, 13
#define ODD_QUADS 2, 3, 6, 7, 10, 11, 14, 15
#elif defined(__AVX2__)
#define EVEN_QUADS 0, 1, 4, 5
#define ODD_QUADS 2, 3, 6, 7
#endif
#if defined(__AVX2__)
#define WHOLE(BITS, SIDE)                                                                                              \
    static inline void whole_##BITS(uint##BITS##_t *to, int64_t to_stride, const uint##BITS##_t *from,                 \
                                    int64_t from_stride) {                                                             \
        wide_##BITS in[QUADS][SIDE], out[SIDE];                                                                        \
        wide_64 quads[QUADS], moved[QUADS];                                                                            \
        _Pragma("GCC unroll 4") for (int g = 0; g < QUADS; g++) {                                                      \
            _Pragma("GCC unroll 8") for (int k = 0; k < SIDE; k++) in[g][k] =                                          \
                (wide_##BITS) * (const loose_wide *)(from + (g * SIDE + k) * from_stride);                             \
            _Pragma("GCC unroll 4") for (int round = SIDE; round > 1; round /= 2) {                                    \
                _Pragma("GCC unroll 8") for (int k = 0; k < SIDE / 2; k++) {                                           \
                    const wide_##BITS a = in[g][k], b = in[g][k + SIDE / 2];                                           \
                    out[2 * k] = __builtin_shufflevector(a, b, EACH_QUAD(LOW_##BITS, SIDE));                           \
                    out[2 * k + 1] = __builtin_shufflevector(a, b, EACH_QUAD(HIGH_##BITS, SIDE));                      \
                }                                                                                                      \
                _Pragma("GCC unroll 8") for (int k = 0; k < SIDE; k++) in[g][k] = out[k];                              \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 8") for (int k = 0; k < SIDE; k++) {                                                       \
            _Pragma("GCC unroll 4") for (int g = 0; g < QUADS; g++) quads[g] = (wide_64)in[g][k];                      \
            _Pragma("GCC unroll 2") for (int round = QUADS; round > 1; round /= 2) {                                   \
                _Pragma("GCC unroll 2") for (int g = 0; g < QUADS / 2; g++) {                                          \
                    moved[g] = __builtin_shufflevector(quads[2 * g], quads[2 * g + 1], EVEN_QUADS);                    \
                    moved[g + QUADS / 2] = __builtin_shufflevector(quads[2 * g], quads[2 * g + 1], ODD_QUADS);         \
                }                                                                                                      \
                _Pragma("GCC unroll 4") for (int g = 0; g < QUADS; g++) quads[g] = moved[g];                           \
            }                                                                                                          \
            _Pragma("GCC unroll 4") for (int g = 0; g < QUADS; g++) *                                                  \
                (loose_wide *)(to + (g * SIDE + k) * to_stride) = (loose_wide)quads[g];                                \
        }                                                                                                              \
    }
WHOLE(32, 4)
WHOLE(64, 2)
#define WHOLE_SQUARES(BITS)                                                                                            \
    for (; a + LONG <= end; a += LONG)                                                                                 \
        whole_##BITS(to + a * to_stride + b, to_stride, from + b * from_stride + a, from_stride);
#else
#define WHOLE_SQUARES(BITS) /* a quad is a vector */
#endif
#define NO_WHOLE_SQUARES(BITS) /* as many vectors as there are registers */

/* to[a * to_stride + b] = from[b * from_stride + a] for a < na, b < nb. A line of `from` is used up before the next
 * one is touched. */
#define TURN(BITS, T, WHOLE_ONES)                                                                                      \
    static void turn_##BITS(T *to, int64_t to_stride, const T *from, int64_t from_stride, int64_t na, int64_t nb) {    \
        enum { SIDE = QUAD / sizeof(T), LONG = SIDE * QUADS, IN_LINE = LINE / sizeof(T) };                             \
        const int64_t whole = na / SIDE * SIDE;                                                                        \
        for (int64_t line = 0; line < whole; line += IN_LINE) {                                                        \
            const int64_t end = line + IN_LINE < whole ? line + IN_LINE : whole;                                       \
            int64_t b = 0;                                                                                             \
            for (; b + LONG <= nb; b += LONG) {                                                                        \
                int64_t a = line;                                                                                      \
                WHOLE_ONES(BITS)                                                                                       \
                for (; a < end; a += SIDE)                                                                             \
                    squares_##BITS(to + a * to_stride + b, to_stride, from + b * from_stride + a, from_stride);        \
            }                                                                                                          \
            for (; b + SIDE <= nb; b += SIDE)                                                                          \
                for (int64_t a = line; a < end; a += SIDE)                                                             \
                    square_##BITS(to + a * to_stride + b, to_stride, from + b * from_stride + a, from_stride);         \
            for (; b < nb; b++)                                                                                        \
                for (int64_t a = line; a < end; a++)                                                                   \
                    to[a * to_stride + b] = from[b * from_stride + a];                                                 \
        }                                                                                                              \
        for (int64_t a = whole; a < na; a++)                                                                           \
            for (int64_t b = 0; b < nb; b++)                                                                           \
                to[a * to_stride + b] = from[b * from_stride + a];                                                     \
    }

/* ---- Rectangles -------------------------------------------------------------------------------------------------- */
static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Loops with a stride that the compiler knows, where rows are written element by element. */
#define STEP_ROW(T, step)                                                                                              \
    for (int64_t j = 0; j < r->length; j++)                                                                            \
        to[j] = from[j * (step)];
#define FILL(BITS, T)                                                                                                  \
    static void fill_##BITS(void *out, const void *element, int64_t n) {                                               \
        T *to = out;                                                                                                   \
        const T value = *(const T *)element;                                                                           \
        for (int64_t i = 0; i < n; i++)                                                                                \
            to[i] = value;                                                                                             \
    }
/* Short rows of one element are written as whole vectors as long as more follows, which covers what was too much. */
#define REPEAT(BITS, T)                                                                                                \
    static void repeat_##BITS(void *out, const void *in, int64_t stride, int64_t rows, int64_t length) {               \
        const int64_t lanes = VECTOR / sizeof(T);                                                                      \
        const T *from = in;                                                                                            \
        T *to = out, *end = to + rows * length;                                                                        \
        for (int64_t i = 0; i < rows; i++, to += length) {                                                             \
            const wide_##BITS all = from[i * stride] - (wide_##BITS){0};                                               \
            if (to + length + lanes > end)                                                                             \
                fill_##BITS(to, from + i * stride, length);                                                            \
            else                                                                                                       \
                for (int64_t j = 0; j < length; j += lanes)                                                            \
                    *(loose_wide *)(to + j) = (wide_64)all;                                                            \
        }                                                                                                              \
    }
#define MOVES(BITS, T)                                                                                                 \
    static void read_row_##BITS(T *restrict to, const T *restrict from, const lazy_rectangle *r) {                     \
        if (r->from == -1)                                                                                             \
            STEP_ROW(T, -1)                                                                                            \
        else if (r->from == 2)                                                                                         \
            STEP_ROW(T, 2)                                                                                             \
        else                                                                                                           \
            STEP_ROW(T, r->from)                                                                                       \
    }                                                                                                                  \
    static void move_each_##BITS(T *to, const T *from, const lazy_rectangle *r) {                                      \
        const int64_t across = magnitude(r->from_row) + magnitude(r->to_row);                                          \
        if (r->rows > 1 && across < magnitude(r->from) + magnitude(r->to))                                             \
            for (int64_t j = 0; j < r->length; j++)                                                                    \
                for (int64_t i = 0; i < r->rows; i++)                                                                  \
                    to[i * r->to_row + j * r->to] = from[i * r->from_row + j * r->from];                               \
        else                                                                                                           \
            for (int64_t i = 0; i < r->rows; i++, to += r->to_row, from += r->from_row)                                \
                if (r->to == 1)                                                                                        \
                    read_row_##BITS(to, from, r);                                                                      \
                else                                                                                                   \
                    for (int64_t j = 0; j < r->length; j++)                                                            \
                        to[j * r->to] = from[j * r->from];                                                             \
    }                                                                                                                  \
    static void move_##BITS(void *out, const void *in, const lazy_rectangle *r) {                                      \
        const bool packed = r->to == 1 && (r->to_row == r->length || r->rows == 1);                                    \
        if (r->to == 1 && r->from == 1 && (r->from_row != 0 || r->rows == 1 || !packed))                               \
            copy_rows(out, r->to_row *(int64_t)sizeof(T), in, r->from_row *(int64_t)sizeof(T), r->rows,                \
                      r->length *(int64_t)sizeof(T));                                                                  \
        else if (packed && r->from == 1)                                                                               \
            repeat_row(out, in, r->rows, r->length *(int64_t)sizeof(T));                                               \
        else if (packed && r->from == 0)                                                                               \
            repeat_##BITS(out, in, r->from_row, r->rows, r->length);                                                   \
        else if (r->to == 1 && r->from_row == 1)                                                                       \
            turn_##BITS(out, r->to_row, in, r->from, r->rows, r->length);                                              \
        else if (r->from == 1 && r->to_row == 1)                                                                       \
            turn_##BITS(out, r->to, in, r->from_row, r->length, r->rows);                                              \
        else                                                                                                           \
            move_each_##BITS(out, in, r);                                                                              \
    }
#define MOVES_BY_VECTORS(BITS, T, WHOLE_ONES) TURN(BITS, T, WHOLE_ONES) FILL(BITS, T) REPEAT(BITS, T) MOVES(BITS, T)
MOVES_BY_VECTORS(8, uint8_t, NO_WHOLE_SQUARES)
MOVES_BY_VECTORS(16, uint16_t, NO_WHOLE_SQUARES)
MOVES_BY_VECTORS(32, uint32_t, WHOLE_SQUARES)
MOVES_BY_VECTORS(64, uint64_t, WHOLE_SQUARES)

/* Elements that are quads need no turning inside of vectors. */
static void turn_128(loose_quad *to, int64_t to_stride, const loose_quad *from, int64_t from_stride, int64_t na,
                     int64_t nb) {
    enum { IN_LINE = LINE / QUAD };
    for (int64_t line = 0; line < na; line += IN_LINE)
        for (int64_t b = 0; b < nb; b++)
            for (int64_t a = line; a < na && a < line + IN_LINE; a++)
                to[a * to_stride + b] = from[b * from_stride + a];
}
FILL(128, loose_quad)
static void repeat_128(void *out, const void *in, int64_t stride, int64_t rows, int64_t length) {
    loose_quad *to = out;
    for (int64_t i = 0; i < rows; i++, to += length)
        fill_128(to, (const loose_quad *)in + i * stride, length);
}
MOVES(128, loose_quad)

/* ---- Distances --------------------------------------------------------------------------------------------------- */
/* W is a type that has all signed indices and the extent, U the same without a sign. */
#define DISTANCES_LOOP(kind, I, W, U)                                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const I given = ((const I *)indices)[i * every];                                                               \
        const U counted = (U)given < (U)most ? (U)given : (U)most;                                                     \
        const W up = (W)((W)given + ((kind) == 'i' && given < 0 ? (W)most + 1 : 0));                                   \
        const W inside = up < 0 ? 0 : up < (W)most ? up : (W)most;                                                     \
        to[i] = (int64_t)((kind) == 'u' ? (W)counted : inside) * step;                                                 \
    }
#define DISTANCES(NAME, name, kind, I, bits, ...)                                                                      \
    static void distances_##name(int64_t *to, const void *indices, int64_t every, int64_t n, int64_t extent,           \
                                 int64_t step) {                                                                       \
        const int64_t most = extent - 1;                                                                               \
        if ((bits) < 64 && extent < INT32_MAX && every == 1)                                                           \
            DISTANCES_LOOP(kind, I, int32_t, uint32_t)                                                                 \
        else                                                                                                           \
            DISTANCES_LOOP(kind, I, int64_t, uint64_t)                                                                 \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
NEAP_DTYPE_INTEGER_ROWS(DISTANCES)
#pragma GCC diagnostic pop

/* ---- Elements of tables ------------------------------------------------------------------------------------------ */
enum { PLACES = 256 }; /* that are found at once: by vectors, which loads of one element each then wait for */

/* Elements from `first` on, at places that `at` tells. */
#define TAKE_LOOP(at, step, way)                                                                                       \
    for (int64_t i = first; i < end; i++)                                                                              \
        to[i] = from[(at) * (step) + (way)];
#define TAKE_ALL(at)                                                                                                   \
    if (step == 1 && stride == 0)                                                                                      \
        TAKE_LOOP(at, 1, 0)                                                                                            \
    else                                                                                                               \
        TAKE_LOOP(at, step, i *stride)
#define TAKE(BITS, T, name, bits)                                                                                      \
    static void take_##BITS##_##name(void *out, const void *in, const void *indices, int64_t n, int64_t extent,        \
                                     int64_t step, int64_t stride) {                                                   \
        T *to = out;                                                                                                   \
        const T *from = in;                                                                                            \
        for (int64_t first = 0, end; first < n; first = end) {                                                         \
            end = n - first < PLACES ? n : first + PLACES;                                                             \
            if ((bits) < 64 && extent < INT32_MAX) {                                                                   \
                uint32_t place[PLACES];                                                                                \
                near_places_##name(place, indices, first, end - first, extent - 1);                                    \
                TAKE_ALL((int64_t)place[i - first])                                                                    \
            } else {                                                                                                   \
                int64_t place[PLACES];                                                                                 \
                places_##name(place, indices, first, end - first, extent - 1);                                         \
                TAKE_ALL(place[i - first])                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define PLACES_OF(id, name, kind, I, P, W, U)                                                                          \
    static void id##_##name(P *to, const void *given_indices, int64_t first, int64_t n, int64_t most) {                \
        enum { every = 1, step = 1 };                                                                                  \
        const I *indices = (const I *)given_indices + first;                                                           \
        DISTANCES_LOOP(kind, I, W, U)                                                                                  \
    }
#define TAKE_WIDTHS(NAME, name, kind, I, bits, ...)                                                                    \
    PLACES_OF(near_places, name, kind, I, uint32_t, int32_t, uint32_t)                                                 \
    PLACES_OF(places, name, kind, I, int64_t, int64_t, uint64_t)                                                       \
    TAKE(8, uint8_t, name, bits)                                                                                       \
    TAKE(16, uint16_t, name, bits)                                                                                     \
    TAKE(32, uint32_t, name, bits) TAKE(64, uint64_t, name, bits) TAKE(128, loose_quad, name, bits)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
NEAP_DTYPE_INTEGER_ROWS(TAKE_WIDTHS)
#pragma GCC diagnostic pop

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_moves_##isa
#define OF_WIDTHS(id)                                                                                                  \
    { id##_8, id##_16, id##_32, id##_64, id##_128 }
#define TAKE_OF(NAME, name, ...)                                                                                       \
    [NEAP_DTYPE_##NAME] = {take_8_##name, take_16_##name, take_32_##name, take_64_##name, take_128_##name},
#define DISTANCES_OF(NAME, name, ...) [NEAP_DTYPE_##NAME] = distances_##name,

const lazy_moves TABLE_NAME(NEAP_ISA) = {
    .move = OF_WIDTHS(move),
    .fill = OF_WIDTHS(fill),
    .repeat = OF_WIDTHS(repeat),
    .take = {NEAP_DTYPE_INTEGER_ROWS(TAKE_OF)},
    .take_rows = take_rows,
    .distances = {NEAP_DTYPE_INTEGER_ROWS(DISTANCES_OF)},
};
