/* gpu_draws.h: random numbers as phases: each thread makes one element, by the text of lazy/vm/simd/draw_of.h. */
#ifndef LAZY_NATIVE_PLUGIN_GPU_DRAWS_H
#define LAZY_NATIVE_PLUGIN_GPU_DRAWS_H

#include "lazy/native/plugin/gpu_phase.h"
#include "lazy/vm/simd/draw_of.h"

enum { PART = 1 }; /* what draws.c makes together, and what samplers.h takes of it */

static inline void draw_pairs(vm_key *out, vm_key key, uint64_t first, int64_t count) {
    EACH {
        uint32_t hi = (uint32_t)((first + (uint64_t)i) >> 32), lo = (uint32_t)(first + (uint64_t)i);
        threefry(schedule_of(key), &hi, &lo);
        out[i] = (vm_key){hi, lo};
    }
}

static inline void draw_words(uint32_t *out, vm_key key, uint64_t first, int64_t count) {
    EACH {
        vm_key pair;
        draw_pairs(&pair, key, first + (uint64_t)i, 1);
        out[i] = pair.hi ^ pair.lo;
    }
}

#include "lazy/vm/simd/samplers.h"

typedef struct draw_place {
    uint64_t key, number; /* of the key, and of the element among those that it draws */
} draw_place;

static inline draw_place place_of(const uint64_t *words, uint64_t i) {
    const uint64_t each = words[GPU_DRAW_EACH], key = i < each ? 0 : i / each;
    return (draw_place){key, i - key * each};
}

/* What stands behind is done for element i, under the key of operand `keys`, with the counter `number`. */
#define DRAW(entry, keys, ...)                                                                                         \
    PHASE(entry, begin, 0) {                                                                                           \
        const uint64_t i = THREAD_OF_ALL;                                                                              \
        if (i >= words[GPU_DRAW_SIZE])                                                                                 \
            return;                                                                                                    \
        const draw_place place = place_of(words, i);                                                                   \
        const vm_key key = ((const vm_key *)at[keys])[place.key];                                                      \
        const uint64_t number = place.number;                                                                          \
        __VA_ARGS__                                                                                                    \
    }

#if defined(NATIVE_U32)
DRAW(words, 0, {
    const vm_key pair = pair_at(key, number);
    ((uint32_t *)at[1])[i] = pair.hi ^ pair.lo;
})
DRAW(pairs, 0, ((vm_key *)at[1])[i] = pair_at(key, number);)
DRAW(threefry, 0, {
    const vm_key count = ((const vm_key *)at[1])[i];
    ((vm_key *)at[2])[i] = pair_at(key, (uint64_t)count.hi << 32 | count.lo);
})
#endif

#define DRAW_FLOATS(D, T)                                                                                              \
    DRAW(uniform, 0, ((T *)at[1])[i] = uniform_##D(unit_at_##D(key, number));)                                         \
    DRAW(normal, 0, ((T *)at[1])[i] = normal_##D(unit_at_##D(key, number));)                                           \
    DRAW(exponential, 0, ((T *)at[1])[i] = exponential_##D(unit_at_##D(key, number));)                                 \
    DRAW(gumbel, 0, ((T *)at[1])[i] = gumbel_##D(unit_at_##D(key, number));)                                           \
    DRAW(gamma, 1, draw_gamma_##D((T *)at[2] + i, (const T *)at[0] + i, key, number, 1, words[GPU_DRAW_FLAG] != 0);)   \
    DRAW(binomial, 2, draw_binomial_##D((T *)at[3] + i, (const T *)at[0] + i, (const T *)at[1] + i, key, number, 1);)
#if defined(NATIVE_F32)
DRAW_FLOATS(f32, float)
DRAW(poisson, 1, draw_poisson((float *)at[2] + i, (const float *)at[0] + i, key, number, 1);)
#elif defined(NATIVE_F64)
DRAW_FLOATS(f64, double)
#endif

static inline uint64_t bound_of(uint64_t kind, uint64_t key, uint64_t i) {
    return kind == GPU_BOUND_ONE ? 0 : kind == GPU_BOUND_KEY ? key : i;
}

/* As random_integers does it on the CPU: two draws, under keys of their own, make one number. */
#define DRAW_INTEGERS(T, U, W, within, OF_PAIR)                                                                        \
    DRAW(integers, 2, {                                                                                                \
        const T low = ((const T *)at[0])[bound_of(words[GPU_DRAW_LOW], place.key, i)];                                 \
        const T high = ((const T *)at[1])[bound_of(words[GPU_DRAW_HIGH], place.key, i)];                               \
        const U span = high <= low ? 1 : (U)high - (U)low + (U)words[GPU_DRAW_FLAG];                                   \
        const vm_key more = pair_at(pair_at(key, 0), number), rest = pair_at(pair_at(key, 1), number);                 \
        const W upper = OF_PAIR(more), lower = OF_PAIR(rest);                                                          \
        within((T *)at[3] + i, &upper, &lower, 1, (U)low, span);                                                       \
    })
#define PAIR_WORD(pair) ((pair).hi ^ (pair).lo)
#define PAIR_WHOLE(pair) (pair)
#if defined(NATIVE_U32)
DRAW_INTEGERS(uint32_t, uint32_t, uint32_t, within_u32, PAIR_WORD)
#elif defined(NATIVE_I32)
DRAW_INTEGERS(int32_t, uint32_t, uint32_t, within_u32, PAIR_WORD)
#elif defined(NATIVE_U64)
DRAW_INTEGERS(uint64_t, uint64_t, vm_key, within_u64, PAIR_WHOLE)
#elif defined(NATIVE_I64)
DRAW_INTEGERS(int64_t, uint64_t, vm_key, within_u64, PAIR_WHOLE)
#endif

#endif
