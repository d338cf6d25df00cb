/* fft_move.c: columns into rows and back, an element of each column at a time. Rows should begin at different places of
 * the cache, so that what is written there stays until its block of memory is full. Elements of 8 bytes, numbers of
 * c64, are moved two by two: vectors of two elements of a line become vectors of two elements of a row. The next lines
 * are far from these, in other pages, where no hardware looks for them: they are asked for some steps before. */
#include "engine/libs/fft_move.h"

enum { AHEAD = 8 /* steps */, CACHE_LINE = 64 };

typedef uint32_t word_4 __attribute__((may_alias));
typedef uint64_t word_8 __attribute__((aligned(4), may_alias));
typedef uint64_t word_16 __attribute__((vector_size(16), aligned(4), may_alias));

void engine_fft_ask_for(const char *from, size_t behind, size_t bytes) {
    const uintptr_t at = (uintptr_t)from + behind;
    for (size_t k = 0; k < bytes; k += CACHE_LINE)
        __builtin_prefetch((const char *)(at + k));
}

#define DEFINE_MOVES(word)                                                                                             \
    static void take_##word(const char *at, size_t apart, char *rows, size_t step, int64_t n, int64_t count) {         \
        for (int64_t k = 0; k < n; k++, at += apart) {                                                                 \
            char *row = rows + (size_t)k * sizeof(word);                                                               \
            engine_fft_ask_for(at, AHEAD *apart, (size_t)count * sizeof(word));                                        \
            for (int64_t c = 0; c < count; c++, row += step)                                                           \
                *(word *)row = ((const word *)at)[c];                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void give_##word(char *at, size_t apart, const char *rows, size_t step, int64_t n, int64_t count) {         \
        for (int64_t k = 0; k < n; k++, at += apart) {                                                                 \
            const char *row = rows + (size_t)k * sizeof(word);                                                         \
            engine_fft_ask_for(at, AHEAD *apart, (size_t)count * sizeof(word));                                        \
            for (int64_t c = 0; c < count; c++, row += step)                                                           \
                ((word *)at)[c] = *(const word *)row;                                                                  \
        }                                                                                                              \
    }
DEFINE_MOVES(word_4)
DEFINE_MOVES(word_8)
DEFINE_MOVES(word_16)

/* Two elements of an even number of columns. */
static void take_pairs(const char *at, size_t apart, char *rows, size_t step, int64_t count) {
    engine_fft_ask_for(at, AHEAD * apart, (size_t)count * 8);
    engine_fft_ask_for(at, (AHEAD + 1) * apart, (size_t)count * 8);
    for (int64_t c = 0; c < count; c += 2, rows += 2 * step, at += 16) {
        const word_16 x = *(const word_16 *)at, y = *(const word_16 *)(at + apart);
        *(word_16 *)rows = __builtin_shufflevector(x, y, 0, 2);
        *(word_16 *)(rows + step) = __builtin_shufflevector(x, y, 1, 3);
    }
}

static void give_pairs(char *at, size_t apart, const char *rows, size_t step, int64_t count) {
    engine_fft_ask_for(at, AHEAD * apart, (size_t)count * 8);
    engine_fft_ask_for(at, (AHEAD + 1) * apart, (size_t)count * 8);
    for (int64_t c = 0; c < count; c += 2, rows += 2 * step, at += 16) {
        const word_16 x = *(const word_16 *)rows, y = *(const word_16 *)(rows + step);
        *(word_16 *)at = __builtin_shufflevector(x, y, 0, 2);
        *(word_16 *)(at + apart) = __builtin_shufflevector(x, y, 1, 3);
    }
}

void engine_fft_take(size_t item, const char *at, size_t apart, char *rows, size_t step, int64_t n, int64_t count) {
    if (item == 4) {
        take_word_4(at, apart, rows, step, n, count);
        return;
    }
    if (item == 16) {
        take_word_16(at, apart, rows, step, n, count);
        return;
    }
    const int64_t even = n / 2 * 2, paired = count / 2 * 2;
    for (int64_t k = 0; k < even; k += 2)
        take_pairs(at + (size_t)k * apart, apart, rows + (size_t)k * 8, step, paired);
    if (paired < count)
        take_word_8(at + (size_t)paired * 8, apart, rows + (size_t)paired * step, step, even, 1);
    take_word_8(at + (size_t)even * apart, apart, rows + (size_t)even * 8, step, n - even, count);
}

void engine_fft_give(size_t item, char *at, size_t apart, const char *rows, size_t step, int64_t n, int64_t count) {
    if (item == 4) {
        give_word_4(at, apart, rows, step, n, count);
        return;
    }
    if (item == 16) {
        give_word_16(at, apart, rows, step, n, count);
        return;
    }
    const int64_t even = n / 2 * 2, paired = count / 2 * 2;
    for (int64_t k = 0; k < even; k += 2)
        give_pairs(at + (size_t)k * apart, apart, rows + (size_t)k * 8, step, paired);
    if (paired < count)
        give_word_8(at + (size_t)paired * 8, apart, rows + (size_t)paired * step, step, even, 1);
    give_word_8(at + (size_t)even * apart, apart, rows + (size_t)even * 8, step, n - even, count);
}
