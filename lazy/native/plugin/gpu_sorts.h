/* gpu_sorts.h: sorts as phases. What is sorted are pairs, a key and the place that its element has in its line: no two
 * are equal, so the order is stable, and the same however it is found. Keys are those of lazy/vm/simd/keys_of.h.
 *
 *      tiles    a group sorts a tile in its memory, by a bitonic network: a turn is one step of it
 *      merge    pairs of runs are merged; each thread finds where its part of the result begins in both
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_SORTS_H
#define LAZY_NATIVE_PLUGIN_GPU_SORTS_H

#include <string.h>

#include "lazy/native/plugin/gpu_phase.h"
#include "lazy/vm/simd/simd.h"

#define OF_ONE_LINE(words) ((words)[GPU_SORT_LENGTH] > GPU_SORT_TILE)

typedef struct sort_spot {      /* element e of a tile */
    uint64_t line, place, slot; /* its line and place, and where its pair is kept */
    bool there;
} sort_spot;

/* Of short lines a tile has several, each filled up to a power of two; of a long one, a part. Neighbours in memory are
 * of neighbouring threads. */
static inline sort_spot sort_spot_of(const uint64_t *words, uint64_t group, uint64_t e) {
    const uint64_t n = words[GPU_SORT_LENGTH], run = words[GPU_SORT_RUN], lines = GPU_SORT_TILE >> run;
    sort_spot spot = {.slot = e};
    if (OF_ONE_LINE(words)) {
        const uint64_t tiles = (n + GPU_SORT_TILE - 1) / GPU_SORT_TILE;
        spot.line = group / tiles;
        spot.place = group % tiles * GPU_SORT_TILE + e;
    } else {
        const uint64_t own = words[GPU_SORT_INNER] > 1 ? e % lines : e >> run;
        spot.place = words[GPU_SORT_INNER] > 1 ? e / lines : e & ((UINT64_C(1) << run) - 1);
        spot.slot = own << run | spot.place;
        spot.line = group * lines + own;
    }
    spot.there = spot.line < words[GPU_SORT_LINES] && spot.place < n;
    return spot;
}

/* NAME_step: one step of the network: `turn` counts those of merging runs of 1, of 2 (two steps), of 4 (three), ….
 * NAME_find: how many pairs of the first run are among the first `diagonal` of both.
 * NAME_merge: hands to TAKE the pairs that this thread has of the result of launch `step`. */
#define SORT(name, PAIR, ABOVE)                                                                                        \
    static inline void name##_step(const uint64_t *words, PAIR *pairs, uint64_t turn, uint64_t thread) {               \
        const uint32_t inside = (1u << words[GPU_SORT_RUN]) - 1;                                                       \
        uint32_t size = 1, below = (uint32_t)turn;                                                                     \
        for (; below >= size; size++)                                                                                  \
            below -= size;                                                                                             \
        const uint32_t distance = size - 1 - below;                                                                    \
        for (uint32_t c = (uint32_t)thread; c < GPU_SORT_TILE / 2; c += GPU_CALL_THREADS) {                            \
            const uint32_t low = c & ((1u << distance) - 1);                                                           \
            const uint32_t i = c >> distance << (distance + 1) | low, j = i + (1u << distance);                        \
            const PAIR a = pairs[i], b = pairs[j];                                                                     \
            const bool rises = ((i & inside) >> size & 1) == 0;                                                        \
            if ((ABOVE(a, b)) == rises) {                                                                              \
                pairs[i] = b;                                                                                          \
                pairs[j] = a;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static inline uint64_t name##_find(const PAIR *a, uint64_t na, const PAIR *b, uint64_t nb, uint64_t diagonal) {    \
        uint64_t low = diagonal > nb ? diagonal - nb : 0, high = diagonal < na ? diagonal : na;                        \
        while (low < high) {                                                                                           \
            const uint64_t middle = (low + high) / 2;                                                                  \
            if (ABOVE(a[middle], b[diagonal - 1 - middle]))                                                            \
                high = middle;                                                                                         \
            else                                                                                                       \
                low = middle + 1;                                                                                      \
        }                                                                                                              \
        return low;                                                                                                    \
    }                                                                                                                  \
    static inline void name##_merge(char *const *at, const uint64_t *words, const PAIR *from, PAIR *to,                \
                                    uint64_t number) {                                                                 \
        const uint64_t n = words[GPU_SORT_LENGTH], threads = (n + GPU_SORT_EACH - 1) / GPU_SORT_EACH;                  \
        const uint64_t line = number / threads, first = number % threads * GPU_SORT_EACH;                              \
        if (line >= words[GPU_SORT_LINES])                                                                             \
            return;                                                                                                    \
        const uint64_t width = (uint64_t)GPU_SORT_TILE << words[GPU_CALL_STEP], start = first & ~(2 * width - 1);      \
        const uint64_t left = n - start, na = left < width ? left : width;                                             \
        const uint64_t nb = left - na < width ? left - na : width;                                                     \
        const PAIR *a = from + line * n + start, *b = a + na;                                                          \
        uint64_t i = name##_find(a, na, b, nb, first - start), j = first - start - i;                                  \
        for (uint64_t k = first; k < first + GPU_SORT_EACH && k < n; k++) {                                            \
            const bool is_first = j >= nb || (i < na && !(ABOVE(a[i], b[j])));                                         \
            const PAIR pair = is_first ? a[i] : b[j];                                                                  \
            i += is_first;                                                                                             \
            j += !is_first;                                                                                            \
            if (words[GPU_CALL_STEP] + 1 < words[GPU_SORT_MERGES] || !(name##_WRITES))                                 \
                to[line * n + k] = pair;                                                                               \
            else                                                                                                       \
                name##_write(at, words, line, k, pair);                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    /* Pairs are in one half of the scratch and then in the other. */                                                  \
    static inline void name##_merge_half(char *const *at, const uint64_t *words, char *scratch, uint64_t number) {     \
        PAIR *half[2] = {(PAIR *)scratch, (PAIR *)scratch + words[GPU_SORT_LINES] * words[GPU_SORT_LENGTH]};           \
        const bool odd = words[GPU_CALL_STEP] & 1;                                                                     \
        name##_merge(at, words, odd ? half[1] : half[0], odd ? half[0] : half[1], number);                             \
    }

#define ABOVE_WORD(a, b) ((a) > (b))
#define ABOVE_PAIR(a, b) ((a).key > (b).key || ((a).key == (b).key && (a).place > (b).place))

/* ---- Sorts of elements ------------------------------------------------------------------------------------------- */
#if defined(OWN_ORDERED)
#define NAME(x) own_##x
#define T OWN_T
#if OWN_BITS == 64
typedef lazy_pair own_pair;
#define K uint64_t
#define HIGH 63
#define ABOVE_OWN ABOVE_PAIR
#define OWN_LAST ((lazy_pair){UINT64_MAX, UINT64_MAX}) /* behind all others */
#else
typedef uint64_t own_pair;
#define K uint32_t
#define HIGH 31
#define ABOVE_OWN ABOVE_WORD
#define OWN_LAST UINT64_MAX
#endif
#if defined(OWN_REAL)
#define REAL
#elif defined(OWN_SIGNED)
#define SIGNED
#endif
#include "lazy/vm/simd/keys_of.h"

static inline uint64_t place_of_pair(own_pair pair) {
#if OWN_BITS == 64
    return pair.place;
#else
    return (uint32_t)pair;
#endif
}

/* Element k of a line in order. */
static inline void own_write(char *const *at, const uint64_t *words, uint64_t line, uint64_t k, own_pair pair) {
    const uint64_t inner = words[GPU_SORT_INNER], kept = words[GPU_SORT_KEPT], n = words[GPU_SORT_LENGTH];
    const uint64_t to = (line / inner * kept + k) * inner + line % inner;
    if (k >= kept)
        return;
    if (words[GPU_SORT_PLACES])
        ((int32_t *)at[1])[to] = (int32_t)place_of_pair(pair);
    else
        ((OWN_T *)at[1])[to] = ((const OWN_T *)at[0])[(line / inner * n + place_of_pair(pair)) * inner + line % inner];
}

enum { own_WRITES = 1 };
SORT(own, own_pair, ABOVE_OWN)

PHASE(sort_tiles, begin, 0) {
    const uint64_t n = words[GPU_SORT_LENGTH], inner = words[GPU_SORT_INNER];
    for (uint64_t e = thread; e < GPU_SORT_TILE; e += GPU_CALL_THREADS) {
        const sort_spot spot = sort_spot_of(words, group, e);
        own_pair *pair = (own_pair *)memory + spot.slot;
        if (spot.there) {
            const uint64_t from = (spot.line / inner * n + spot.place) * inner + spot.line % inner;
            own_pairs(pair, at[0] + from * sizeof(OWN_T), 1, 1, words[GPU_SORT_DESCENDING] != 0, (int64_t)spot.place);
        } else {
            *pair = OWN_LAST;
        }
    }
}
PHASE(sort_tiles, turn, 0) {
    own_step(words, (own_pair *)memory, turn, thread);
}
PHASE(sort_tiles, end, 0) {
    for (uint64_t e = thread; e < GPU_SORT_TILE; e += GPU_CALL_THREADS) {
        const sort_spot spot = sort_spot_of(words, group, e);
        const own_pair pair = ((const own_pair *)memory)[spot.slot];
        if (!spot.there)
            continue;
        if (OF_ONE_LINE(words))
            ((own_pair *)at[2])[spot.line * words[GPU_SORT_LENGTH] + spot.place] = pair;
        else
            own_write(at, words, spot.line, spot.place, pair);
    }
}
PHASE(sort_merge, begin, 0) {
    own_merge_half(at, words, at[2], THREAD_OF_ALL);
}
#endif

#endif
