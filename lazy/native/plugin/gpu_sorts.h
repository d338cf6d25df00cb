/* gpu_sorts.h: sorts as phases. What is sorted are pairs, a key and the place that its element has in its line: no two
 * are equal, so the order is stable, and the same however it is found. Keys are those of lazy/vm/simd/keys_of.h.
 *
 *      tiles    a group sorts a tile in its memory, by a bitonic network: a turn is one step of it
 *      merge    several runs are merged into one; a group makes a part of the result, of as many pairs as there is room
 *
 * A group that merges looks first where its part begins and ends in each run. Both searches go side by side: a turn
 * takes samples of the runs, evenly spaced in a *window* of each in which the place must be, and tells by the order of
 * all samples how many pairs are before each of them, at least and at most; samples that are surely before, or surely
 * behind, make the windows smaller. With 32 samples of each of four runs a window of m pairs has 4 * ceil(m / 32) - 1
 * left at most: two samples of a run that stay undecided are less than three steps of that size apart.
 *
 *      run 0   . . . . [lo . . * . . . * . . . hi] . . . .       *: samples, `step` apart
 *      run 1   . [lo . . . * . . . * hi] . . . . . . . . .
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_SORTS_H
#define LAZY_NATIVE_PLUGIN_GPU_SORTS_H

#include <string.h>

#include "lazy/native/plugin/gpu_phase.h"
#include "lazy/vm/simd/simd.h"

#define TILE_OF(words) (UINT64_C(1) << (words)[GPU_SORT_TILE])
#define OF_ONE_LINE(words) ((words)[GPU_SORT_LENGTH] > TILE_OF(words))

typedef struct sort_spot {      /* element e of a tile */
    uint64_t line, place, slot; /* its line and place, and where its pair is kept */
    bool there;
} sort_spot;

/* Of short lines a tile has several, each filled up to a power of two; of a long one, a part. Neighbours in memory are
 * of neighbouring threads. */
static inline sort_spot sort_spot_of(const uint64_t *words, uint64_t group, uint64_t e) {
    const uint64_t n = words[GPU_SORT_LENGTH], run = words[GPU_SORT_RUN], lines = TILE_OF(words) >> run;
    sort_spot spot = {.slot = e};
    if (OF_ONE_LINE(words)) {
        const uint64_t tiles = (n + TILE_OF(words) - 1) / TILE_OF(words);
        spot.line = group / tiles;
        spot.place = group % tiles * TILE_OF(words) + e;
    } else {
        const uint64_t own = words[GPU_SORT_INNER] > 1 ? e % lines : e >> run;
        spot.place = words[GPU_SORT_INNER] > 1 ? e / lines : e & ((UINT64_C(1) << run) - 1);
        spot.slot = own << run | spot.place;
        spot.line = group * lines + own;
    }
    spot.there = spot.line < words[GPU_SORT_LINES] && spot.place < n;
    return spot;
}

/* ---- Parts of a merge -------------------------------------------------------------------------------------------- */
typedef struct sort_part {         /* of the result, that a group makes */
    uint64_t line, start;          /* of the runs, in their line */
    uint64_t width, count, end[2]; /* of a run; of the runs together; the part is end[0] … end[1] - 1 of these */
} sort_part;

static inline sort_part sort_part_of(const uint64_t *words, uint64_t group, uint64_t most) {
    const uint64_t n = words[GPU_SORT_LENGTH], parts = (n + most - 1) / most, first = group % parts * most;
    sort_part part = {.line = group / parts, .width = TILE_OF(words) << GPU_SORT_WAYS_LOG * words[GPU_CALL_STEP]};
    part.start = first & ~((part.width << GPU_SORT_WAYS_LOG) - 1);
    part.count = n - part.start;
    if (part.count > part.width << GPU_SORT_WAYS_LOG)
        part.count = part.width << GPU_SORT_WAYS_LOG;
    part.end[0] = first - part.start;
    part.end[1] = part.end[0] + most < part.count ? part.end[0] + most : part.count;
    return part;
}

static inline uint64_t sort_run_length(const sort_part *part, int run) {
    const uint64_t before = (uint64_t)run * part->width;
    return part->count <= before ? 0 : part->count - before < part->width ? part->count - before : part->width;
}

/* In shared memory: windows of both ends, of this turn and of the next: lo, hi. */
typedef struct sort_windows {
    uint64_t at[2][2][GPU_SORT_WAYS][2];
} sort_windows;
_Static_assert(sizeof(sort_windows) == GPU_SORT_SHARED, "room for windows");
_Static_assert(2 * GPU_SORT_WAYS * GPU_SORT_SAMPLES == GPU_CALL_THREADS, "a sample of each thread");

/* Pairs from one sample to the next in the windows of one end; 0: these are empty. */
static inline uint64_t sort_step(uint64_t (*of)[2]) {
    uint64_t most = 0;
    for (int run = 0; run < GPU_SORT_WAYS; run++)
        most = of[run][1] - of[run][0] > most ? of[run][1] - of[run][0] : most;
    return (most + GPU_SORT_SAMPLES - 1) / GPU_SORT_SAMPLES;
}

static inline void sort_windows_begin(const sort_part *part, sort_windows *windows, uint64_t thread) {
    if (thread >= 2 * GPU_SORT_WAYS)
        return;
    const int side = (int)thread / GPU_SORT_WAYS, run = (int)thread % GPU_SORT_WAYS;
    windows->at[0][side][run][0] = 0;
    windows->at[0][side][run][1] = sort_run_length(part, run);
}

enum sort_verdict { SORT_DOUBT, SORT_BEFORE, SORT_BEHIND };

typedef struct sort_sample { /* the one of a thread */
    int side, run;
    uint64_t number, step, count; /* how many there are of this run */
    bool there;
} sort_sample;

static inline sort_sample sort_sample_of(sort_windows *windows, uint64_t turn, uint64_t thread) {
    sort_sample s = {.side = (int)(thread / (GPU_SORT_WAYS * GPU_SORT_SAMPLES)),
                     .run = (int)(thread / GPU_SORT_SAMPLES % GPU_SORT_WAYS),
                     .number = thread % GPU_SORT_SAMPLES};
    uint64_t(*of)[2] = windows->at[turn & 1][s.side];
    s.step = sort_step(of);
    s.count = s.step ? (of[s.run][1] - of[s.run][0]) / s.step : 0;
    s.there = s.number < s.count;
    return s;
}

/* The windows of the next turn: each edge is moved, or kept, by the one thread that knows of it. */
static inline void sort_windows_turn(sort_windows *windows, const uint8_t *verdicts, uint64_t turn, uint64_t thread) {
    const sort_sample s = sort_sample_of(windows, turn, thread);
    const uint64_t *old = windows->at[turn & 1][s.side][s.run];
    uint64_t *next = windows->at[(turn + 1) & 1][s.side][s.run];
    const bool first = s.number == 0, last = s.number + 1 == s.count;
    const uint8_t own = s.there ? verdicts[thread] : SORT_DOUBT;
    if (s.there && own == SORT_BEFORE && (last || verdicts[thread + 1] != SORT_BEFORE))
        next[0] = old[0] + (s.number + 1) * s.step;
    if (first && own != SORT_BEFORE)
        next[0] = old[0];
    if (s.there && own == SORT_BEHIND && (first || verdicts[thread - 1] != SORT_BEHIND))
        next[1] = old[0] + (s.number + 1) * s.step - 1;
    if (s.count == 0 ? first : last && own != SORT_BEHIND)
        next[1] = old[1];
}

/* NAME_step: one step of the network: `turn` counts those of merging runs of 1, of 2 (two steps), of 4 (three), ….
 * NAME_find: how many pairs of the first run are among the first `diagonal` of both.
 * NAME_sample, NAME_judge: takes a thread's sample; tells on which side of the end it is.
 * NAME_gather: brings a part's pairs into memory, run behind run.
 * NAME_join: the first two and the last two of the runs there become one each; or these one, if `last`.
 * NAME_hand: hands the pairs of a part on. */
#define SORT(name, PAIR, ABOVE)                                                                                        \
    enum { name##_EACH = (int)(GPU_SORT_BYTES / 2 / sizeof(PAIR) / GPU_CALL_THREADS) };                                \
    enum { name##_PART = name##_EACH * GPU_CALL_THREADS };                                                             \
    static inline void name##_step(const uint64_t *words, PAIR *pairs, uint64_t turn, uint64_t thread) {               \
        const uint32_t inside = (1u << words[GPU_SORT_RUN]) - 1;                                                       \
        uint32_t size = 1, below = (uint32_t)turn;                                                                     \
        for (; below >= size; size++)                                                                                  \
            below -= size;                                                                                             \
        const uint32_t distance = size - 1 - below;                                                                    \
        for (uint32_t c = (uint32_t)thread; c < TILE_OF(words) / 2; c += GPU_CALL_THREADS) {                           \
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
    static inline uint32_t name##_find(const PAIR *a, uint32_t na, const PAIR *b, uint32_t nb, uint32_t diagonal) {    \
        uint32_t low = diagonal > nb ? diagonal - nb : 0, high = diagonal < na ? diagonal : na;                        \
        while (low < high) {                                                                                           \
            const uint32_t middle = (low + high) / 2;                                                                  \
            if (ABOVE(a[middle], b[diagonal - 1 - middle]))                                                            \
                high = middle;                                                                                         \
            else                                                                                                       \
                low = middle + 1;                                                                                      \
        }                                                                                                              \
        return low;                                                                                                    \
    }                                                                                                                  \
    /* Pairs are in one half of the scratch and then in the other. */                                                  \
    static inline PAIR *name##_half(const uint64_t *words, char *scratch, uint64_t launch) {                           \
        return (PAIR *)scratch + (launch & 1 ? words[GPU_SORT_LINES] * words[GPU_SORT_LENGTH] : 0);                    \
    }                                                                                                                  \
    static inline const PAIR *name##_run(const uint64_t *words, char *scratch, const sort_part *part, int run) {       \
        return name##_half(words, scratch, words[GPU_CALL_STEP]) + part->line * words[GPU_SORT_LENGTH] + part->start + \
               (uint64_t)run * part->width;                                                                            \
    }                                                                                                                  \
    static inline void name##_sample(const uint64_t *words, char *scratch, char *memory, uint64_t group,               \
                                     uint64_t turn, uint64_t thread) {                                                 \
        const sort_part part = sort_part_of(words, group, name##_PART);                                                \
        sort_windows *windows = (sort_windows *)(memory + GPU_SORT_BYTES);                                             \
        const sort_sample s = sort_sample_of(windows, turn, thread);                                                   \
        if (s.there)                                                                                                   \
            ((PAIR *)memory)[thread] = name##_run(                                                                     \
                words, scratch, &part, s.run)[windows->at[turn & 1][s.side][s.run][0] + (s.number + 1) * s.step - 1];  \
    }                                                                                                                  \
    static inline void name##_judge(const uint64_t *words, char *memory, uint64_t group, uint64_t turn,                \
                                    uint64_t thread) {                                                                 \
        const sort_part part = sort_part_of(words, group, name##_PART);                                                \
        sort_windows *windows = (sort_windows *)(memory + GPU_SORT_BYTES);                                             \
        const sort_sample s = sort_sample_of(windows, turn, thread);                                                   \
        if (!s.there)                                                                                                  \
            return;                                                                                                    \
        const PAIR *samples = (const PAIR *)memory + s.side * GPU_SORT_WAYS * GPU_SORT_SAMPLES;                        \
        const PAIR own = samples[s.run * GPU_SORT_SAMPLES + (int)s.number];                                            \
        uint64_t least = 0, most = 0; /* pairs before the sample */                                                    \
        for (int run = 0; run < GPU_SORT_WAYS; run++) {                                                                \
            const uint64_t *window = windows->at[turn & 1][s.side][run], size = window[1] - window[0];                 \
            const PAIR *others = samples + run * GPU_SORT_SAMPLES;                                                     \
            uint64_t low = 0, high = size / s.step; /* of its samples are below */                                     \
            while (low < high) {                                                                                       \
                const uint64_t middle = (low + high) / 2;                                                              \
                if (ABOVE(own, others[middle]))                                                                        \
                    low = middle + 1;                                                                                  \
                else                                                                                                   \
                    high = middle;                                                                                     \
            }                                                                                                          \
            const uint64_t up_to = (low + 1) * s.step - 1;                                                             \
            least += window[0] + (run == s.run ? up_to : low * s.step);                                                \
            most += window[0] + (up_to < size ? up_to : size);                                                         \
        }                                                                                                              \
        ((uint8_t *)memory)[GPU_SORT_BYTES / 2 + thread] = (uint8_t)(most < part.end[s.side]     ? SORT_BEFORE         \
                                                                     : least >= part.end[s.side] ? SORT_BEHIND         \
                                                                                                 : SORT_DOUBT);        \
    }                                                                                                                  \
    static inline void name##_gather(const uint64_t *words, char *scratch, char *memory, uint64_t group,               \
                                     uint64_t thread) {                                                                \
        const sort_part part = sort_part_of(words, group, name##_PART);                                                \
        uint64_t(*at)[GPU_SORT_WAYS][2] = ((sort_windows *)(memory + GPU_SORT_BYTES))->at[words[GPU_CALL_TURNS] & 1];  \
        uint64_t first = 0;                                                                                            \
        STRAIGHT for (int run = 0; run < GPU_SORT_WAYS; run++) {                                                       \
            const uint64_t from = at[0][run][0], n = at[1][run][0] - from;                                             \
            const PAIR *pairs = name##_run(words, scratch, &part, run) + from;                                         \
            for (uint64_t e = thread; e < n; e += GPU_CALL_THREADS)                                                    \
                ((PAIR *)memory)[first + e] = pairs[e];                                                                \
            first += n;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void name##_merge(const PAIR *a, uint32_t na, const PAIR *b, uint32_t nb, PAIR *to,                  \
                                    uint32_t thread) {                                                                 \
        const uint32_t first = thread * name##_EACH, n = na + nb;                                                      \
        if (first >= n)                                                                                                \
            return;                                                                                                    \
        uint32_t i = name##_find(a, na, b, nb, first), j = first - i;                                                  \
        for (uint32_t k = first; k < first + name##_EACH && k < n; k++) {                                              \
            const bool is_first = j >= nb || (i < na && !(ABOVE(a[i], b[j])));                                         \
            to[k] = is_first ? a[i] : b[j];                                                                            \
            i += is_first;                                                                                             \
            j += !is_first;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void name##_join(const uint64_t *words, char *memory, uint64_t group, uint64_t thread, bool last) {  \
        const sort_part part = sort_part_of(words, group, name##_PART);                                                \
        uint64_t(*at)[GPU_SORT_WAYS][2] = ((sort_windows *)(memory + GPU_SORT_BYTES))->at[words[GPU_CALL_TURNS] & 1];  \
        PAIR *one = (PAIR *)memory, *two = one + name##_PART;                                                          \
        uint32_t n[GPU_SORT_WAYS];                                                                                     \
        STRAIGHT for (int run = 0; run < GPU_SORT_WAYS; run++) n[run] = (uint32_t)(at[1][run][0] - at[0][run][0]);     \
        const uint32_t half = n[0] + n[1], rest = n[2] + n[3], own = (uint32_t)thread;                                 \
        if (last) {                                                                                                    \
            name##_merge(two, half, two + half, rest, one, own);                                                       \
        } else {                                                                                                       \
            name##_merge(one, n[0], one + n[0], n[1], two, own);                                                       \
            name##_merge(one + half, n[2], one + half + n[2], n[3], two + half, GPU_CALL_THREADS - 1 - own);           \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void name##_hand(char *const *at, const uint64_t *words, char *scratch, const char *memory,          \
                                   uint64_t group, uint64_t thread) {                                                  \
        const sort_part part = sort_part_of(words, group, name##_PART);                                                \
        const uint64_t n = words[GPU_SORT_LENGTH], launch = words[GPU_CALL_STEP] + 1;                                  \
        for (uint64_t e = thread; e < part.end[1] - part.end[0]; e += GPU_CALL_THREADS) {                              \
            const uint64_t k = part.start + part.end[0] + e;                                                           \
            if (launch < words[GPU_SORT_MERGES] || !(name##_WRITES))                                                   \
                name##_half(words, scratch, launch)[part.line * n + k] = ((const PAIR *)memory)[e];                    \
            else                                                                                                       \
                name##_write(at, words, part.line, k, ((const PAIR *)memory)[e]);                                      \
        }                                                                                                              \
    }

/* The phases of merging pairs whose scratch is operand SCRATCH. */
#define SORT_PHASES(entry, name, SCRATCH)                                                                              \
    PHASE(entry, begin, 0) {                                                                                           \
        const sort_part part = sort_part_of(words, group, name##_PART);                                                \
        sort_windows_begin(&part, (sort_windows *)(memory + GPU_SORT_BYTES), thread);                                  \
    }                                                                                                                  \
    PHASE(entry, turn, 0) {                                                                                            \
        name##_sample(words, at[SCRATCH], memory, group, turn, thread);                                                \
    }                                                                                                                  \
    PHASE(entry, turn, 1) {                                                                                            \
        name##_judge(words, memory, group, turn, thread);                                                              \
    }                                                                                                                  \
    PHASE(entry, turn, 2) {                                                                                            \
        sort_windows_turn((sort_windows *)(memory + GPU_SORT_BYTES), (uint8_t *)memory + GPU_SORT_BYTES / 2, turn,     \
                          thread);                                                                                     \
    }                                                                                                                  \
    PHASE(entry, end, 0) {                                                                                             \
        name##_gather(words, at[SCRATCH], memory, group, thread);                                                      \
    }                                                                                                                  \
    PHASE(entry, end, 1) {                                                                                             \
        name##_join(words, memory, group, thread, false);                                                              \
    }                                                                                                                  \
    PHASE(entry, end, 2) {                                                                                             \
        name##_join(words, memory, group, thread, true);                                                               \
    }                                                                                                                  \
    PHASE(entry, end, 3) {                                                                                             \
        name##_hand(at, words, at[SCRATCH], memory, group, thread);                                                    \
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
    for (uint64_t e = thread; e < TILE_OF(words); e += GPU_CALL_THREADS) {
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
    for (uint64_t e = thread; e < TILE_OF(words); e += GPU_CALL_THREADS) {
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
SORT_PHASES(sort_merge, own, 2)
#endif

#endif
