/* gpu_scans.h: cumulative operations as phases, in the order of lazy/vm/simd/scans.h, by the text of scan_step.h.
 *
 * A thread has a group of 16 elements in its registers, and one thread of each line joins what the groups combine to
 * from left to right: these are few, and that order is the only one. Lines of several blocks are gone over twice: first
 * for what each block combines to, which one thread of each line joins; then for the results.
 *
 *      totals    what each block of each line combines to       (scratch: by line and block)
 *      starts    what the blocks before each combine to
 *      scan      the results
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_SCANS_H
#define LAZY_NATIVE_PLUGIN_GPU_SCANS_H

#include "lazy/native/plugin/gpu_phase.h"
#include "lazy/vm/simd/scan_step.h"
#include "lazy/vm/simd/simd.h"
#include "lazy/vm/simd/vmath.h"

enum {
    SCAN_GROUP = LAZY_SCAN_GROUP,
    SCAN_PADDED = SCAN_GROUP + 1, /* so that neighbouring threads find their groups in different banks */
    SCAN_SLOTS = GPU_CALL_THREADS * SCAN_PADDED,
    SCAN_LOADS = 4, /* elements of a thread that are under way together */
    SCAN_AHEAD = 8  /* elements of a line that a recurrence has read before it needs the first of them */
};

typedef struct scan_spot {      /* element e of what a group of threads has in a turn */
    uint32_t line, group, slot; /* its line among those of the group, the 16 that it is of, and where it is kept */
    uint64_t place;             /* in memory */
    bool there;
} scan_spot;

static inline uint64_t scan_line(const uint64_t *words, uint64_t group, uint64_t line) {
    return group / words[GPU_SCAN_BLOCKS] * words[GPU_SCAN_TOGETHER] + line;
}

/* Neighbours are of one line, or of lines beside each other if elements of a line are apart. */
static inline scan_spot scan_spot_of(const uint64_t *words, uint64_t group, uint64_t turn, uint32_t e) {
    const uint32_t together = (uint32_t)words[GPU_SCAN_TOGETHER], groups = (uint32_t)words[GPU_SCAN_GROUPS];
    const uint64_t n = words[GPU_SCAN_LENGTH], inner = words[GPU_SCAN_INNER];
    const uint32_t line = inner > 1 ? e % together : e / (groups * SCAN_GROUP);
    const uint32_t number = inner > 1 ? e / together : e % (groups * SCAN_GROUP);
    const uint64_t block = group % words[GPU_SCAN_BLOCKS], own = scan_line(words, group, line);
    const uint64_t at = block * LAZY_SCAN_BLOCK + turn * groups * SCAN_GROUP + number;
    scan_spot spot = {.line = line, .group = line * groups + number / SCAN_GROUP};
    spot.slot = spot.group * SCAN_PADDED + number % SCAN_GROUP;
    spot.there = own < words[GPU_SCAN_LINES] && at < n;
    const uint64_t turned = words[GPU_SCAN_REVERSE] ? n - 1 - at : at;
    spot.place = inner > 1 ? (own / inner * n + turned) * inner + own % inner : own * n + turned;
    return spot;
}

static inline uint32_t scan_elements(const uint64_t *words) {
    return (uint32_t)(words[GPU_SCAN_TOGETHER] * words[GPU_SCAN_GROUPS]) * SCAN_GROUP;
}

#define SCAN(kind, T, COMBINE, NEUTRAL, LOAD, STORE)                                                                   \
    typedef struct kind##_memory {                                                                                     \
        T values[SCAN_SLOTS], totals[GPU_CALL_THREADS], carry[GPU_CALL_THREADS], start[GPU_CALL_THREADS];              \
    } kind##_memory;                                                                                                   \
    _Static_assert(sizeof(kind##_memory) == GPU_SCAN_SHARED * sizeof(T), "memory of a group");                         \
    static inline void kind##_start(const uint64_t *words, kind##_memory *m, const T *starts, uint64_t group,          \
                                    uint64_t thread) {                                                                 \
        if (thread >= words[GPU_SCAN_TOGETHER])                                                                        \
            return;                                                                                                    \
        const uint64_t line = scan_line(words, group, thread), blocks = words[GPU_SCAN_BLOCKS];                        \
        const bool given = starts && blocks > 1 && line < words[GPU_SCAN_LINES];                                       \
        m->carry[thread] = NEUTRAL;                                                                                    \
        m->start[thread] = given ? starts[line * blocks + group % blocks] : (T)NEUTRAL;                                \
    }                                                                                                                  \
    static inline void kind##_load(const uint64_t *words, kind##_memory *m, const T *in, uint64_t group,               \
                                   uint64_t turn, uint64_t thread) {                                                   \
        const uint32_t all = scan_elements(words);                                                                     \
        for (uint32_t e = (uint32_t)thread; e < all; e += SCAN_LOADS * GPU_CALL_THREADS) {                             \
            scan_spot spots[SCAN_LOADS];                                                                               \
            T given[SCAN_LOADS];                                                                                       \
            STRAIGHT for (uint32_t j = 0; j < SCAN_LOADS; j++) {                                                       \
                const uint32_t own = e + j * GPU_CALL_THREADS;                                                         \
                spots[j] = scan_spot_of(words, group, turn, own < all ? own : e);                                      \
                given[j] = in[spots[j].there ? spots[j].place : 0];                                                    \
            }                                                                                                          \
            STRAIGHT for (uint32_t j = 0; j < SCAN_LOADS; j++) {                                                       \
                const T value = LOAD(given[j]);                                                                        \
                if (e + j * GPU_CALL_THREADS < all)                                                                    \
                    m->values[spots[j].slot] = spots[j].there ? value : (T)NEUTRAL;                                    \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void kind##_sixteen(const uint64_t *words, kind##_memory *m, uint64_t thread) {                      \
        T v[SCAN_GROUP];                                                                                               \
        if (thread >= words[GPU_SCAN_TOGETHER] * words[GPU_SCAN_GROUPS])                                               \
            return;                                                                                                    \
        STRAIGHT for (int k = 0; k < SCAN_GROUP; k++) v[k] = m->values[thread * SCAN_PADDED + k];                      \
        STRAIGHT for (int d = 1; d < SCAN_GROUP; d *= 2) {                                                             \
            STRAIGHT for (int k = 0; k < SCAN_GROUP; k++) {                                                            \
                if (k & d)                                                                                             \
                    v[k] = COMBINE(v[(k & ~(2 * d - 1)) + d - 1], v[k]);                                               \
            }                                                                                                          \
        }                                                                                                              \
        STRAIGHT for (int k = 0; k < SCAN_GROUP; k++) m->values[thread * SCAN_PADDED + k] = v[k];                      \
        m->totals[thread] = v[SCAN_GROUP - 1];                                                                         \
    }                                                                                                                  \
    /* Elements become what those before them combine to, `carry` in front. Returns what all do. 16 are read before */ \
    /* the first of them is needed, since each sum waits for the one before. */                                        \
    static inline T kind##_chain(T *of, uint32_t n, T carry) {                                                         \
        uint32_t k = 0;                                                                                                \
        for (; k + SCAN_GROUP <= n; k += SCAN_GROUP) {                                                                 \
            T own[SCAN_GROUP], before[SCAN_GROUP];                                                                     \
            STRAIGHT for (int j = 0; j < SCAN_GROUP; j++) own[j] = of[k + j];                                          \
            STRAIGHT for (int j = 0; j < SCAN_GROUP; j++) {                                                            \
                before[j] = carry;                                                                                     \
                carry = COMBINE(carry, own[j]);                                                                        \
            }                                                                                                          \
            STRAIGHT for (int j = 0; j < SCAN_GROUP; j++) of[k + j] = before[j];                                       \
        }                                                                                                              \
        for (; k < n; k++) {                                                                                           \
            const T own = of[k];                                                                                       \
            of[k] = carry;                                                                                             \
            carry = COMBINE(carry, own);                                                                               \
        }                                                                                                              \
        return carry;                                                                                                  \
    }                                                                                                                  \
    /* Totals of groups become what the groups before them combine to. */                                              \
    static inline void kind##_carry(const uint64_t *words, kind##_memory *m, uint64_t thread) {                        \
        if (thread >= words[GPU_SCAN_TOGETHER])                                                                        \
            return;                                                                                                    \
        const uint32_t groups = (uint32_t)words[GPU_SCAN_GROUPS];                                                      \
        m->carry[thread] = kind##_chain(m->totals + thread * groups, groups, m->carry[thread]);                        \
    }                                                                                                                  \
    PHASE(kind##_totals, begin, 0) {                                                                                   \
        kind##_start(words, (kind##_memory *)memory, NULL, group, thread);                                             \
    }                                                                                                                  \
    PHASE(kind##_totals, turn, 0) {                                                                                    \
        kind##_load(words, (kind##_memory *)memory, (const T *)at[0], group, turn, thread);                            \
    }                                                                                                                  \
    PHASE(kind##_totals, turn, 1) {                                                                                    \
        kind##_sixteen(words, (kind##_memory *)memory, thread);                                                        \
    }                                                                                                                  \
    PHASE(kind##_totals, turn, 2) {                                                                                    \
        kind##_carry(words, (kind##_memory *)memory, thread);                                                          \
    }                                                                                                                  \
    PHASE(kind##_totals, end, 0) {                                                                                     \
        const uint64_t line = scan_line(words, group, thread), blocks = words[GPU_SCAN_BLOCKS];                        \
        if (thread < words[GPU_SCAN_TOGETHER] && line < words[GPU_SCAN_LINES])                                         \
            ((T *)at[2])[line * blocks + group % blocks] = ((kind##_memory *)memory)->carry[thread];                   \
    }                                                                                                                  \
    PHASE(kind##_starts, begin, 0) {                                                                                   \
        if (thread == 0)                                                                                               \
            ((kind##_memory *)memory)->carry[0] = NEUTRAL;                                                             \
    }                                                                                                                  \
    PHASE(kind##_starts, turn, 0) {                                                                                    \
        const uint64_t blocks = words[GPU_SCAN_BLOCKS], first = turn * GPU_SCAN_AT_ONCE;                               \
        for (uint64_t e = thread; e < GPU_SCAN_AT_ONCE && first + e < blocks; e += GPU_CALL_THREADS)                   \
            ((kind##_memory *)memory)->values[e] = ((const T *)at[2])[group * blocks + first + e];                     \
    }                                                                                                                  \
    PHASE(kind##_starts, turn, 1) {                                                                                    \
        const uint64_t blocks = words[GPU_SCAN_BLOCKS], first = turn * GPU_SCAN_AT_ONCE;                               \
        kind##_memory *m = (kind##_memory *)memory;                                                                    \
        if (thread > 0)                                                                                                \
            return;                                                                                                    \
        const uint64_t left = blocks - first;                                                                          \
        const uint32_t n = left < GPU_SCAN_AT_ONCE ? (uint32_t)left : GPU_SCAN_AT_ONCE;                                \
        m->carry[0] = kind##_chain(m->values, n, m->carry[0]);                                                         \
    }                                                                                                                  \
    PHASE(kind##_starts, turn, 2) {                                                                                    \
        const uint64_t blocks = words[GPU_SCAN_BLOCKS], first = turn * GPU_SCAN_AT_ONCE;                               \
        for (uint64_t e = thread; e < GPU_SCAN_AT_ONCE && first + e < blocks; e += GPU_CALL_THREADS)                   \
            ((T *)at[2])[group * blocks + first + e] = ((kind##_memory *)memory)->values[e];                           \
    }                                                                                                                  \
    PHASE(kind##_scan, begin, 0) {                                                                                     \
        kind##_start(words, (kind##_memory *)memory, (const T *)at[2], group, thread);                                 \
    }                                                                                                                  \
    PHASE(kind##_scan, turn, 0) {                                                                                      \
        kind##_load(words, (kind##_memory *)memory, (const T *)at[0], group, turn, thread);                            \
    }                                                                                                                  \
    PHASE(kind##_scan, turn, 1) {                                                                                      \
        kind##_sixteen(words, (kind##_memory *)memory, thread);                                                        \
    }                                                                                                                  \
    PHASE(kind##_scan, turn, 2) {                                                                                      \
        kind##_carry(words, (kind##_memory *)memory, thread);                                                          \
    }                                                                                                                  \
    PHASE(kind##_scan, turn, 3) {                                                                                      \
        const kind##_memory *m = (const kind##_memory *)memory;                                                        \
        for (uint32_t e = (uint32_t)thread; e < scan_elements(words); e += GPU_CALL_THREADS) {                         \
            const scan_spot spot = scan_spot_of(words, group, turn, e);                                                \
            if (!spot.there)                                                                                           \
                continue;                                                                                              \
            const T own = COMBINE(m->totals[spot.group], m->values[spot.slot]);                                        \
            const T whole = COMBINE(m->start[spot.line], own);                                                         \
            ((T *)at[1])[spot.place] = STORE(whole);                                                                   \
        }                                                                                                              \
    }

/* The kinds that a dtype has: those of scans.c. */
#define SCAN_WRAPPED(T)                                                                                                \
    SCAN(cumsum, T, ADD, 0, SAME, SAME)                                                                                \
    SCAN(cumprod, T, TIMES, 1, SAME, SAME)
#define SCAN_EXTREMA(T, LOWEST, HIGHEST)                                                                               \
    SCAN(cummax, T, GREATER, LOWEST, SAME, SAME)                                                                       \
    SCAN(cummin, T, LESSER, HIGHEST, SAME, SAME)
#if defined(NATIVE_BOOL) || defined(NATIVE_U8)
SCAN_EXTREMA(uint8_t, 0, UINT8_MAX)
#elif defined(NATIVE_U16)
SCAN_EXTREMA(uint16_t, 0, UINT16_MAX)
#elif defined(NATIVE_U32)
SCAN_WRAPPED(uint32_t)
SCAN_EXTREMA(uint32_t, 0, UINT32_MAX)
#elif defined(NATIVE_U64)
SCAN_WRAPPED(uint64_t)
SCAN_EXTREMA(uint64_t, 0, UINT64_MAX)
#elif defined(NATIVE_I8)
SCAN_EXTREMA(int8_t, INT8_MIN, INT8_MAX)
#elif defined(NATIVE_I16)
SCAN_EXTREMA(int16_t, INT16_MIN, INT16_MAX)
#elif defined(NATIVE_I32)
SCAN_WRAPPED(uint32_t)
SCAN_EXTREMA(int32_t, INT32_MIN, INT32_MAX)
#elif defined(NATIVE_I64)
SCAN_WRAPPED(uint64_t)
SCAN_EXTREMA(int64_t, INT64_MIN, INT64_MAX)
#elif defined(NATIVE_F32)
SCAN(cumsum, float, ADD, -0.0f, SAME, SAME)
SCAN(cumprod, float, TIMES, 1, SAME, SAME)
SCAN(cummax, int32_t, GREATER, INT32_MIN, HIGH32, ORDERED32)
SCAN(cummin, int32_t, LESSER, INT32_MAX, LOW32, ORDERED32)
#elif defined(NATIVE_F64)
SCAN(cumsum, double, ADD, -0.0, SAME, SAME)
SCAN(cumprod, double, TIMES, 1, SAME, SAME)
SCAN(cummax, int64_t, GREATER, INT64_MIN, HIGH64, ORDERED64)
SCAN(cummin, int64_t, LESSER, INT64_MAX, LOW64, ORDERED64)
#endif

/* Linear recurrences: each step waits for the one before, so a thread has a line, of which it reads several elements
 * ahead. */
#define RECURRENCE_AT(k) (first + (words[GPU_SCAN_REVERSE] ? n - 1 - (k) : (k)) * inner)
#define RECURRENCE(T, TIMES_OF)                                                                                        \
    PHASE(recurrence, begin, 0) {                                                                                      \
        const uint64_t line = THREAD_OF_ALL, n = words[GPU_SCAN_LENGTH], inner = words[GPU_SCAN_INNER];                \
        if (line >= words[GPU_SCAN_LINES])                                                                             \
            return;                                                                                                    \
        const uint64_t first = line / inner * n * inner + line % inner;                                                \
        T last = 0;                                                                                                    \
        for (uint64_t k = 0; k < n; k += SCAN_AHEAD) {                                                                 \
            const uint32_t here = n - k < SCAN_AHEAD ? (uint32_t)(n - k) : SCAN_AHEAD;                                 \
            T factor[SCAN_AHEAD], own[SCAN_AHEAD];                                                                     \
            STRAIGHT for (uint32_t j = 0; j < SCAN_AHEAD; j++) {                                                       \
                const uint64_t i = RECURRENCE_AT(j < here ? k + j : k);                                                \
                factor[j] = ((const T *)at[0])[i];                                                                     \
                own[j] = ((const T *)at[1])[i];                                                                        \
            }                                                                                                          \
            STRAIGHT for (uint32_t j = 0; j < SCAN_AHEAD; j++) {                                                       \
                if (j >= here)                                                                                         \
                    return;                                                                                            \
                const T next = TIMES_OF(factor[j], last) + own[j];                                                     \
                ((T *)at[2])[RECURRENCE_AT(k + j)] = last = factor[j] == 0 ? own[j] : next;                            \
            }                                                                                                          \
        }                                                                                                              \
    }
#if defined(NATIVE_F32)
RECURRENCE(float, TIMES)
#elif defined(NATIVE_F64)
RECURRENCE(double, TIMES)
#elif defined(NATIVE_C64)
RECURRENCE(neap_c64, vm_multiply_c64)
#elif defined(NATIVE_C128)
RECURRENCE(neap_c128, vm_multiply_c128)
#endif

#endif
