/* gpu_puts.h: rows written or added at places that are data, as phases. Each row of the result takes its updates in the
 * order of the indices.
 *
 *      set    the last update of each row is the greatest of their numbers, whoever comes first; that one is written
 *      add    rows and numbers of updates are sorted as pairs; who has the first update of a row adds all of them
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_PUTS_H
#define LAZY_NATIVE_PLUGIN_GPU_PUTS_H

#include "lazy/native/plugin/gpu_sorts.h"

/* The row that index k names; one that is no row, if it is out of range. */
static inline uint64_t put_row(const uint64_t *words, const void *indices, uint64_t k) {
    uint64_t row = 0;
    bool below = false;
    switch (words[GPU_PUT_INDEX]) {
#define ROW(NAME, name, kind, I, ...)                                                                                  \
    case NEAP_DTYPE_##NAME: {                                                                                          \
        const I given = ((const I *)indices)[k];                                                                       \
        row = (uint64_t)given;                                                                                         \
        below = given < 0;                                                                                             \
        break;                                                                                                         \
    }
        NEAP_DTYPE_INTEGER_ROWS(ROW)
#undef ROW
    default:
        break;
    }
    return row + (below ? words[GPU_PUT_SIZE] : 0);
}

/* ---- Set --------------------------------------------------------------------------------------------------------- */
PHASE(put_clear, begin, 0) {
    if (THREAD_OF_ALL < words[GPU_PUT_SIZE])
        ((uint64_t *)at[4])[THREAD_OF_ALL] = 0;
}
PHASE(put_mark, begin, 0) {
    const uint64_t k = THREAD_OF_ALL;
    const uint64_t row = k < words[GPU_PUT_COUNT] ? put_row(words, at[1], k) : UINT64_MAX;
    if (row < words[GPU_PUT_SIZE])
        __atomic_fetch_max((uint64_t *)at[4] + row, k + 1, __ATOMIC_RELAXED);
}

typedef struct put_spot { /* of an element of the updates, or of so many in another order of the indices */
    uint64_t outer, k, column;
} put_spot;

static inline put_spot put_spot_of(const uint64_t *words, uint64_t i) {
    const uint64_t inner = words[GPU_PUT_INNER], n = words[GPU_PUT_COUNT], row = i / inner;
    return (put_spot){row / n, row % n, i % inner};
}

static inline uint64_t put_at(const uint64_t *words, uint64_t outer, uint64_t row, uint64_t column) {
    return (outer * words[GPU_PUT_SIZE] + row) * words[GPU_PUT_INNER] + column;
}

PHASE(put_set, begin, 0) {
    const uint64_t i = THREAD_OF_ALL;
    if (i >= words[GPU_PUT_OUTER] * words[GPU_PUT_COUNT] * words[GPU_PUT_INNER])
        return;
    const put_spot spot = put_spot_of(words, i);
    const uint64_t row = put_row(words, at[1], spot.k);
    if (row < words[GPU_PUT_SIZE] && ((const uint64_t *)at[4])[row] == spot.k + 1)
        ((OWN_T *)at[3])[put_at(words, spot.outer, row, spot.column)] = ((const OWN_T *)at[2])[i];
}

/* ---- Add --------------------------------------------------------------------------------------------------------- */
#if defined(OWN_ADDED)
static inline void put_write(char *const *at, const uint64_t *words, uint64_t line, uint64_t k, uint64_t pair) {
}
enum { put_WRITES = 0 };
SORT(put, uint64_t, ABOVE_WORD)

/* A row and the number of its update; those of no row come last. */
PHASE(put_tiles, begin, 0) {
    for (uint64_t e = thread; e < TILE_OF(words); e += GPU_CALL_THREADS) {
        const sort_spot spot = sort_spot_of(words, group, e);
        const uint64_t row = spot.there ? put_row(words, at[1], spot.place) : UINT64_MAX;
        ((uint64_t *)memory)[spot.slot] = row < words[GPU_PUT_SIZE] ? row << 32 | spot.place
                                          : spot.there              ? UINT64_C(0xffffffff) << 32 | spot.place
                                                                    : UINT64_MAX;
    }
}
PHASE(put_tiles, turn, 0) {
    put_step(words, (uint64_t *)memory, turn, thread);
}
PHASE(put_tiles, end, 0) {
    for (uint64_t e = thread; e < TILE_OF(words); e += GPU_CALL_THREADS) {
        const sort_spot spot = sort_spot_of(words, group, e);
        if (spot.there)
            ((uint64_t *)at[4])[spot.place] = ((const uint64_t *)memory)[spot.slot];
    }
}
SORT_PHASES(put_merge, put, 4)

enum { PUT_AHEAD = 8 }; /* updates of a row that are read before the first of them is needed */

/* Elements of rows, by the places of pairs in order. */
PHASE(put_add, begin, 0) {
    const uint64_t i = THREAD_OF_ALL, n = words[GPU_PUT_COUNT];
    if (i >= words[GPU_PUT_OUTER] * n * words[GPU_PUT_INNER])
        return;
    const put_spot spot = put_spot_of(words, i);
    const uint64_t *pairs = (const uint64_t *)at[4] + (words[GPU_SORT_MERGES] & 1 ? n : 0);
    const uint64_t row = pairs[spot.k] >> 32;
    if (row >= words[GPU_PUT_SIZE] || (spot.k > 0 && pairs[spot.k - 1] >> 32 == row))
        return;
    OWN_ADDED *to = (OWN_ADDED *)at[3] + put_at(words, spot.outer, row, spot.column);
    const OWN_ADDED *updates = (const OWN_ADDED *)at[2] + spot.outer * n * words[GPU_PUT_INNER] + spot.column;
    OWN_ADDED a = *to;
    a = OWN_SUM(a, updates[(uint32_t)pairs[spot.k] * words[GPU_PUT_INNER]]);
    /* Those that follow in the row wait for each other, so several are read ahead; in place of others the first one. */
    bool more = true;
    for (uint64_t k = spot.k + 1; k < n && more; k += PUT_AHEAD) {
        bool own[PUT_AHEAD];
        OWN_ADDED next[PUT_AHEAD];
        STRAIGHT for (int j = 0; j < PUT_AHEAD; j++) {
            const uint64_t there = k + (uint64_t)j < n ? k + (uint64_t)j : spot.k;
            const uint64_t pair = pairs[there];
            own[j] = there > spot.k && pair >> 32 == row;
            next[j] = updates[(uint32_t)(own[j] ? pair : pairs[spot.k]) * words[GPU_PUT_INNER]];
        }
        STRAIGHT for (int j = 0; j < PUT_AHEAD; j++) {
            const OWN_ADDED sum = OWN_SUM(a, next[j]);
            a = own[j] ? sum : a;
        }
        more = own[PUT_AHEAD - 1];
    }
    *to = a;
}
#endif

#endif
