/* draws.c: random numbers from counters (draws.h says which), compiled once per instruction set (-DNEAP_ISA), and the
 * compiler vectorizes over counters. What becomes of one counter stands in drawn.h; floats are made of the bits while
 * these are in the first cache.
 */
#include "lazy/vm/simd/draw_of.h"

enum { PART = 512 }; /* draws that are made together */

/* How many of n counters from `at` on have its high word. */
static inline int64_t same_high(uint64_t at, int64_t n) {
    const uint64_t left = (UINT64_C(1) << 32) - (uint32_t)at;
    return (uint64_t)n < left ? n : (int64_t)left;
}

static void words_part(uint32_t *out, schedule k, uint32_t high, uint32_t low, int64_t count) {
    EACH {
        uint32_t hi = high, lo = low + (uint32_t)i;
        threefry(k, &hi, &lo);
        out[i] = hi ^ lo;
    }
}

static void pairs_part(vm_key *out, schedule k, uint32_t high, uint32_t low, int64_t count) {
    EACH {
        uint32_t hi = high, lo = low + (uint32_t)i;
        threefry(k, &hi, &lo);
        out[i] = (vm_key){hi, lo};
    }
}

static void draw_words(void *out, vm_key key, uint64_t first, int64_t n) {
    const schedule k = schedule_of(key);
    for (int64_t from = 0, count; from < n; from += count) {
        const uint64_t at = first + (uint64_t)from;
        count = same_high(at, n - from);
        words_part((uint32_t *)out + from, k, (uint32_t)(at >> 32), (uint32_t)at, count);
    }
}

static void draw_pairs(void *out, vm_key key, uint64_t first, int64_t n) {
    const schedule k = schedule_of(key);
    for (int64_t from = 0, count; from < n; from += count) {
        const uint64_t at = first + (uint64_t)from;
        count = same_high(at, n - from);
        pairs_part((vm_key *)out + from, k, (uint32_t)(at >> 32), (uint32_t)at, count);
    }
}

static void hash(vm_key *out, vm_key key, const vm_key *counts, int64_t count) {
    const schedule k = schedule_of(key);
    EACH {
        uint32_t hi = counts[i].hi, lo = counts[i].lo;
        threefry(k, &hi, &lo);
        out[i] = (vm_key){hi, lo};
    }
}

#define FLOATS(name, D, T, W, draw)                                                                                    \
    static void draw_##name##_##D(void *out, vm_key key, uint64_t first, int64_t n) {                                  \
        W words[PART];                                                                                                 \
        for (int64_t from = 0; from < n; from += PART) {                                                               \
            const int64_t count = n - from < PART ? n - from : PART;                                                   \
            T *o = (T *)out + from;                                                                                    \
            draw(words, key, first + (uint64_t)from, count);                                                           \
            EACH o[i] = name##_##D(unit_##D(words[i]));                                                                \
        }                                                                                                              \
    }
#define FLOATS_OF(name)                                                                                                \
    FLOATS(name, f32, float, uint32_t, draw_words)                                                                     \
    FLOATS(name, f64, double, vm_key, draw_pairs)
FLOATS_OF(uniform)
FLOATS_OF(normal)
FLOATS_OF(exponential)
FLOATS_OF(gumbel)

#include "lazy/vm/simd/samplers.h"

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_draws_##isa

const vm_draws TABLE_NAME(NEAP_ISA) = {
    .words = draw_words,
    .pairs = draw_pairs,
    .hash = hash,
    .gamma = {draw_gamma_f32, draw_gamma_f64},
    .poisson = draw_poisson,
    .binomial = {draw_binomial_f32, draw_binomial_f64},
    .within = {within_u32, within_u64},
    .floats = {[VM_DRAW_UNIFORM] = {draw_uniform_f32, draw_uniform_f64},
               [VM_DRAW_NORMAL] = {draw_normal_f32, draw_normal_f64},
               [VM_DRAW_EXPONENTIAL] = {draw_exponential_f32, draw_exponential_f64},
               [VM_DRAW_GUMBEL] = {draw_gumbel_f32, draw_gumbel_f64}},
};
