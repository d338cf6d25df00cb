/* vm_draws.c: random numbers from counters. Words, pairs and hashes equal a plain threefry on every instruction set,
 * for all lengths around a vector and a part, and where the counter's high word changes; floats are those that the
 * loops of maps make of the words, on every set. What is drawn by rejection has the bits of the baseline on every set,
 * whole or in parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/vm/kernel.h"
#include "lazy/vm/simd/simd.h"
#include "ops_gen.h"
#include "tests/check.h"

enum { MOST = 1100 };

static uint32_t rotate(uint32_t x, int by) {
    return x << by | x >> (32 - by);
}

/* As the paper writes it. */
static vm_key threefry(vm_key key, uint64_t count) {
    static const int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t k[3] = {key.hi, key.lo, key.hi ^ key.lo ^ 0x1BD11BDAu};
    uint32_t x = (uint32_t)(count >> 32) + k[0], y = (uint32_t)count + k[1];
    for (int round = 0; round < 20; round++) {
        x += y;
        y = rotate(y, rotations[round % 8]) ^ x;
        if (round % 4 == 3) {
            uint32_t group = (uint32_t)round / 4 + 1;
            x += k[group % 3], y += k[(group + 1) % 3] + group;
        }
    }
    return (vm_key){x, y};
}

static const int64_t lengths[] = {0, 1, 3, 15, 16, 17, 63, 511, 512, 513, 1023, 1024, 1025, MOST};
static const uint64_t firsts[] = {0, 7, 0xfffffff0u, 0xffffffffu, 0x123456789au, ~UINT64_C(0) - 2000};
static const vm_key keys[] = {{0, 0}, {1, 2}, {0xffffffffu, 0x13579bdfu}};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static void test_bits(const vm_draws *draws, vm_key key, uint64_t first, int64_t n) {
    static uint32_t words[MOST + 1];
    static vm_key pairs[MOST + 1], counts[MOST + 1], hashed[MOST + 1];
    int64_t wrong = 0;
    words[n] = 77, pairs[n] = hashed[n] = (vm_key){7, 7};
    for (int64_t i = 0; i < n; i++)
        counts[i] = (vm_key){(uint32_t)((first + (uint64_t)i) >> 32), (uint32_t)(first + (uint64_t)i)};
    draws->words(words, key, first, n);
    draws->pairs(pairs, key, first, n);
    draws->hash(hashed, key, counts, n);
    for (int64_t i = 0; i < n; i++) {
        vm_key want = threefry(key, first + (uint64_t)i);
        wrong += words[i] != (want.hi ^ want.lo);
        wrong += memcmp(&pairs[i], &want, sizeof want) != 0 || memcmp(&hashed[i], &want, sizeof want) != 0;
    }
    CHECK_EQ(wrong, 0);
    CHECK(words[n] == 77 && pairs[n].hi == 7 && hashed[n].lo == 7);
}

/* Integers of both widths by spans around those where an inverse could be wrong, against remainders. */
static void test_within(const vm_draws *draws, uint64_t span, vm_key key, int64_t n) {
    static vm_key more[MOST], rest[MOST];
    static uint64_t wide[MOST + 1];
    static uint32_t few_more[MOST], few_rest[MOST], narrow[MOST + 1];
    const uint64_t half = span ? (UINT64_C(1) << 32) % span : 0, multiplier = span ? half * half % span : 0;
    const uint32_t span32 = (uint32_t)span, half32 = span32 ? (UINT32_C(1) << 16) % span32 : 0;
    const uint32_t multiplier32 = span32 ? half32 * half32 % span32 : 0;
    int64_t wrong = 0;
    draws->pairs(more, key, 0, n), draws->pairs(rest, key, 5000, n);
    draws->words(few_more, key, 0, n), draws->words(few_rest, key, 5000, n);
    for (int64_t i = 0; i < n && i < 40; i++) { /* multiples of the span, and what lies beside them */
        const uint64_t by = span ? UINT64_MAX / span - (uint64_t)i / 3 : 0, at = by * span + (uint64_t)i % 3 - 1;
        more[i] = (vm_key){(uint32_t)(at >> 32), (uint32_t)at};
        few_rest[i] = span32 ? (UINT32_MAX / span32 - (uint32_t)i / 3) * span32 + (uint32_t)i % 3 - 1 : 0;
    }
    wide[n] = narrow[n] = 77;
    draws->within[0](narrow, few_more, few_rest, n, 12345, span32);
    draws->within[1](wide, more, rest, n, UINT64_C(0xfffffffff0000000), span);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t a = (uint64_t)more[i].hi << 32 | more[i].lo, b = (uint64_t)rest[i].hi << 32 | rest[i].lo;
        wrong += wide[i] != UINT64_C(0xfffffffff0000000) + (span ? (a % span * multiplier + b % span) % span : b);
        const uint32_t c = few_more[i], e = few_rest[i];
        wrong += narrow[i] != 12345 + (span32 ? (c % span32 * multiplier32 + e % span32) % span32 : e);
    }
    CHECK_EQ(wrong, 0);
    CHECK(wide[n] == 77 && narrow[n] == 77);
}

/* out = op(out, number), or op(out) where the op has one operand. */
static void apply(const lazy_simd *simd, int op, int dtype, void *out, double number, int64_t n) {
    float single = (float)number;
    const void *other = dtype == NEAP_DTYPE_F32 ? (const void *)&single : &number;
    bool two = lazy_ops[op]->arity == 2;
    simd->map[op][dtype].by_scalars[two ? 2 : 0](out, out, other, other, n);
}

static void compose(const lazy_simd *simd, int distribution, int dtype, void *out, vm_key key, uint64_t first,
                    int64_t n) {
    static vm_key pairs[MOST];
    bool single = dtype == NEAP_DTYPE_F32;
    simd->draws->pairs(pairs, key, first, n);
    for (int64_t i = 0; i < n; i++)
        if (single)
            ((float *)out)[i] = (float)((pairs[i].hi ^ pairs[i].lo) >> 9) * 0x1p-23f;
        else
            ((double *)out)[i] = (double)((uint64_t)pairs[i].hi << 20 | pairs[i].lo >> 12) * 0x1p-52;
    if (distribution == VM_DRAW_NORMAL || distribution == VM_DRAW_GUMBEL) {
        double low = distribution == VM_DRAW_NORMAL ? (single ? -0x1.fffffep-1 : -0x1.fffffffffffffp-1)
                                                    : (single ? 0x1p-126 : 0x1p-1022);
        apply(simd, LAZY_OP_multiply, dtype, out, single ? (double)(1 - (float)low) : 1 - low, n);
        apply(simd, LAZY_OP_add, dtype, out, low, n);
        apply(simd, LAZY_OP_maximum, dtype, out, low, n);
    }
    if (distribution == VM_DRAW_NORMAL) {
        apply(simd, LAZY_OP_erf_inv, dtype, out, 0, n);
        apply(simd, LAZY_OP_multiply, dtype, out, 1.41421356237309504880, n);
    }
    if (distribution == VM_DRAW_EXPONENTIAL)
        apply(simd, LAZY_OP_negative, dtype, out, 0, n), apply(simd, LAZY_OP_log1p, dtype, out, 0, n);
    if (distribution == VM_DRAW_GUMBEL)
        for (int k = 0; k < 2; k++) {
            apply(simd, LAZY_OP_log, dtype, out, 0, n);
            if (k == 0)
                apply(simd, LAZY_OP_negative, dtype, out, 0, n);
        }
    if (distribution == VM_DRAW_EXPONENTIAL || distribution == VM_DRAW_GUMBEL)
        apply(simd, LAZY_OP_negative, dtype, out, 0, n);
}

static void test_floats(const lazy_simd *simd, vm_key key, uint64_t first, int64_t n) {
    static char got[(MOST + 1) * 8], want[MOST * 8];
    for (int distribution = 0; distribution < VM_DRAW_COUNT; distribution++)
        for (int wide = 0; wide < 2; wide++) {
            int dtype = wide ? NEAP_DTYPE_F64 : NEAP_DTYPE_F32;
            size_t bytes = (size_t)n * (wide ? 8 : 4);
            memset(got, 0x55, sizeof got);
            simd->draws->floats[distribution][wide](got, key, first, n);
            compose(simd, distribution, dtype, want, key, first, n);
            if (!CHECK(memcmp(got, want, bytes) == 0 && got[bytes] == 0x55))
                fprintf(stderr, "  distribution %d of %s, %s\n", distribution, neap_dtype_name(dtype), simd->name);
        }
}

/* Gamma numbers and their logarithms, Poisson and binomial numbers, of parameters that lead through all ways. */
static void sample(const vm_draws *draws, int kind, int dtype, void *out, vm_key key, uint64_t first, int64_t n) {
    static const double values[] = {0.05, 0.5, 1, 2.5, 9.9, 10, 30, 1000, 1e5, 0, -1, INFINITY, NAN};
    static double wide[2][MOST];
    static float narrow[2][MOST];
    bool is_wide = dtype == NEAP_DTYPE_F64;
    for (int64_t i = 0; i < n; i++) {
        double value = values[(first + (uint64_t)i) % COUNT(values)], odds = (double)((first + (uint64_t)i) % 7) / 6;
        wide[0][i] = value, wide[1][i] = odds, narrow[0][i] = (float)value, narrow[1][i] = (float)odds;
    }
    const void *a = is_wide ? (void *)wide[0] : (void *)narrow[0], *b = is_wide ? (void *)wide[1] : (void *)narrow[1];
    if (kind < 2)
        draws->gamma[is_wide](out, a, key, first, n, kind == 1);
    else if (kind == 2)
        draws->poisson(out, narrow[0], key, first, n);
    else
        draws->binomial[is_wide](out, a, b, key, first, n);
}

static bool same_samples(int dtype, const char *x, const char *y, int64_t n) {
    bool same = true;
    for (int64_t i = 0; i < n; i++)
        if (dtype == NEAP_DTYPE_F64) {
            double p = ((const double *)x)[i], q = ((const double *)y)[i];
            same &= memcmp(&p, &q, sizeof p) == 0 || (p != p && q != q);
        } else {
            float p = ((const float *)x)[i], q = ((const float *)y)[i];
            same &= memcmp(&p, &q, sizeof p) == 0 || (p != p && q != q);
        }
    return same;
}

static void test_samples(const vm_draws *draws, vm_key key) {
    enum { SIZE = 130, PART = 26 }; /* PART: what the parameters repeat after, twice */
    static char whole[SIZE * 8], parts[SIZE * 8], want[SIZE * 8];
    for (int kind = 0; kind < 4; kind++)
        for (int wide = 0; wide < 2; wide++) {
            int of = kind == 2 || !wide ? NEAP_DTYPE_F32 : NEAP_DTYPE_F64, width = neap_dtype_bytes(of);
            sample(&lazy_draws_baseline, kind, of, want, key, 0, SIZE);
            sample(draws, kind, of, whole, key, 0, SIZE);
            for (int from = 0; from < SIZE; from += PART)
                sample(draws, kind, of, parts + from * width, key, (uint64_t)from, PART);
            CHECK(same_samples(of, whole, want, SIZE) && same_samples(of, parts, want, SIZE));
        }
}

static void test_set(const lazy_simd *simd) {
    static const uint64_t spans[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     1000,
                                     65535,
                                     65536,
                                     65537,
                                     0x7fffffff,
                                     0x80000000,
                                     0x80000001,
                                     0xffffffff,
                                     UINT64_C(1) << 32,
                                     UINT64_C(0x100000001),
                                     UINT64_C(0x123456789abcd),
                                     UINT64_C(1) << 63,
                                     (UINT64_C(1) << 63) + 1,
                                     UINT64_MAX - 1,
                                     UINT64_MAX};
    for (size_t k = 0; k < COUNT(spans); k++)
        for (size_t l = 0; l < COUNT(lengths); l++)
            test_within(simd->draws, spans[k], keys[l % COUNT(keys)], lengths[l]);
    for (size_t k = 0; k < COUNT(keys); k++)
        test_samples(simd->draws, keys[k]);
    for (size_t k = 0; k < COUNT(keys); k++)
        for (size_t f = 0; f < COUNT(firsts); f++)
            for (size_t l = 0; l < COUNT(lengths); l++) {
                test_bits(simd->draws, keys[k], firsts[f], lengths[l]);
                test_floats(simd, keys[k], firsts[f], lengths[l]);
            }
}

int main(void) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    for (size_t k = 0; k < COUNT(sets); k++)
        if (vm_isa_set(sets[k]) == NEAP_OK)
            test_set(vm_simd());
    return check_end();
}
