/* gguf.c: quantized weights as f32: the blocks of GGUF files, by the kinds that ggml numbers.
 *
 * A block has a scale or two, f16, and its elements as few bits each; the kinds with K in their names have blocks of
 * 256 elements, in groups that have scales of their own, which are numbers of few bits too. Each product and difference
 * is rounded once, in the order that the gguf package of Python has, so results are the same to the bit. What a byte
 * holds is stated above each function, low bits first. Facts: gguf-py/gguf/quants.py.
 */
#include <stddef.h>
#include <string.h>

#include "formats/formats.h"

enum { SMALL = 32, LARGE = 256 }; /* elements of a block */

static float half(const uint8_t *at) {
    uint32_t bits = at[0] | (uint32_t)at[1] << 8, sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;
    float value;
    if (rest < 0x400) { /* a multiple of 2^-24 */
        value = (float)rest * 0x1p-24f;
        return sign ? -value : value;
    }
    uint32_t wide = sign | (rest >= 0x7c00 ? 0x7f800000 | (rest & 0x3ff) << 13 : (rest << 13) + 0x38000000);
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint32_t u32(const uint8_t *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ---- Elements without blocks ------------------------------------------------------------------------------------- */

static void read_f32(const uint8_t *at, float *out) {
    memcpy(out, at, sizeof *out);
}

static void read_f16(const uint8_t *at, float *out) {
    *out = half(at);
}

static void read_bf16(const uint8_t *at, float *out) {
    uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
    memcpy(out, &bits, sizeof bits);
}

/* ---- Blocks of 32 ------------------------------------------------------------------------------------------------ */

/* Byte k of 16: elements k and k + 16, 4 bits each. */
static void read_q4_0(const uint8_t *at, float *out) {
    float d = half(at);
    for (int k = 0; k < SMALL / 2; k++) {
        out[k] = d * (float)((at[2 + k] & 15) - 8);
        out[k + SMALL / 2] = d * (float)((at[2 + k] >> 4) - 8);
    }
}

static void read_q4_1(const uint8_t *at, float *out) {
    float d = half(at), m = half(at + 2);
    for (int k = 0; k < SMALL / 2; k++) {
        out[k] = d * (float)(at[4 + k] & 15) + m;
        out[k + SMALL / 2] = d * (float)(at[4 + k] >> 4) + m;
    }
}

/* Bit k of 32 bits in front: the fifth bit of element k. */
static void read_q5_0(const uint8_t *at, float *out) {
    float d = half(at);
    uint32_t high = u32(at + 2);
    for (int k = 0; k < SMALL / 2; k++) {
        out[k] = d * (float)((int)(at[6 + k] & 15) + (int)(high >> k & 1) * 16 - 16);
        out[k + SMALL / 2] = d * (float)((int)(at[6 + k] >> 4) + (int)(high >> (k + SMALL / 2) & 1) * 16 - 16);
    }
}

static void read_q5_1(const uint8_t *at, float *out) {
    float d = half(at), m = half(at + 2);
    uint32_t high = u32(at + 4);
    for (int k = 0; k < SMALL / 2; k++) {
        out[k] = d * (float)((int)(at[8 + k] & 15) + (int)(high >> k & 1) * 16) + m;
        out[k + SMALL / 2] = d * (float)((int)(at[8 + k] >> 4) + (int)(high >> (k + SMALL / 2) & 1) * 16) + m;
    }
}

static void read_q8_0(const uint8_t *at, float *out) {
    float d = half(at);
    for (int k = 0; k < SMALL; k++)
        out[k] = d * (float)(int8_t)at[2 + k];
}

static const int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void read_iq4_nl(const uint8_t *at, float *out) {
    float d = half(at);
    for (int k = 0; k < SMALL / 2; k++) {
        out[k] = d * (float)uneven[at[2 + k] & 15];
        out[k + SMALL / 2] = d * (float)uneven[at[2 + k] >> 4];
    }
}

/* ---- Blocks of 256 ----------------------------------------------------------------------------------------------- */

/* 16 bytes with a scale and a minimum of 4 bits each; 64 bytes of elements: byte k of 32 has elements k, k + 32, k + 64
 * and k + 96 of a half; the scale and the minimum of all, f16. */
static void read_q2_k(const uint8_t *at, float *out) {
    float d = half(at + 80), least = half(at + 82);
    for (int group = 0; group < 16; group++) {
        const uint8_t *bytes = at + 16 + group / 8 * 32 + group % 2 * 16;
        float scale = d * (float)(at[group] & 15), minimum = least * (float)(at[group] >> 4);
        int shift = group % 8 / 2 * 2;
        for (int k = 0; k < 16; k++)
            out[group * 16 + k] = scale * (float)(bytes[k] >> shift & 3) - minimum;
    }
}

/* 32 bytes of which bit g of byte k is 0 where 4 is taken from element k of 32 of group g; 64 bytes of elements as of
 * q2_k; 16 scales of 6 bits: the low 4 of all, 8 bytes, then the high 2, 4 bytes; the scale of all, f16. */
static void read_q3_k(const uint8_t *at, float *out) {
    const uint8_t *low = at + 96, *high = at + 104;
    float d = half(at + 108);
    for (int group = 0; group < 16; group++) {
        int scale = (low[group % 8] >> group / 8 * 4 & 15) | (high[group % 4] >> group / 4 * 2 & 3) << 4;
        const uint8_t *bytes = at + 32 + group / 8 * 32 + group % 2 * 16, *mask = at + group % 2 * 16;
        float of_group = d * (float)(scale - 32);
        int shift = group % 8 / 2 * 2, place = group / 2;
        for (int k = 0; k < 16; k++) {
            int value = (bytes[k] >> shift & 3) - ((mask[k] >> place & 1) ? 0 : 4);
            out[group * 16 + k] = of_group * (float)value;
        }
    }
}

/* Scale and minimum of group g of 8, 6 bits each, of 12 bytes. */
static void scale_of_group(const uint8_t *at, int g, int *scale, int *minimum) {
    if (g < 4) {
        *scale = at[g] & 63;
        *minimum = at[g + 4] & 63;
    } else {
        *scale = (at[g + 4] & 15) | (at[g - 4] >> 6) << 4;
        *minimum = at[g + 4] >> 4 | (at[g] >> 6) << 4;
    }
}

/* Scale and minimum of all, f16; those of groups; 128 bytes of elements: byte k of 32 has elements k and k + 32. */
static void read_q4_k(const uint8_t *at, float *out) {
    float d = half(at), least = half(at + 2);
    for (int group = 0; group < 8; group++) {
        int scale, minimum, shift = group % 2 * 4;
        scale_of_group(at + 4, group, &scale, &minimum);
        const uint8_t *bytes = at + 16 + group / 2 * 32;
        float a = d * (float)scale, b = least * (float)minimum;
        for (int k = 0; k < 32; k++)
            out[group * 32 + k] = a * (float)(bytes[k] >> shift & 15) - b;
    }
}

/* As q4_k, with 32 bytes in front of the elements: bit g of byte k is the fifth bit of element k of group g. */
static void read_q5_k(const uint8_t *at, float *out) {
    float d = half(at), least = half(at + 2);
    for (int group = 0; group < 8; group++) {
        int scale, minimum, shift = group % 2 * 4;
        scale_of_group(at + 4, group, &scale, &minimum);
        const uint8_t *high = at + 16, *bytes = at + 48 + group / 2 * 32;
        float a = d * (float)scale, b = least * (float)minimum;
        for (int k = 0; k < 32; k++) {
            int value = (bytes[k] >> shift & 15) | (high[k] >> group & 1) << 4;
            out[group * 32 + k] = a * (float)value - b;
        }
    }
}

/* 128 bytes: the low 4 bits of elements, byte k of 64 of k and k + 64; 64 bytes: the high 2, byte k of 32 of k, k + 32,
 * k + 64, k + 96; 16 scales of 8 bits; the scale of all, f16. */
static void read_q6_k(const uint8_t *at, float *out) {
    float d = half(at + 208);
    for (int group = 0; group < 16; group++) {
        int from = group * 16 % 128, part = group / 8;
        const uint8_t *low = at + part * 64 + from % 64, *high = at + 128 + part * 32 + from % 32;
        float scale = d * (float)(int8_t)at[192 + group];
        int low_shift = from / 64 * 4, high_shift = from / 32 * 2;
        for (int k = 0; k < 16; k++) {
            int value = (low[k] >> low_shift & 15) | (high[k] >> high_shift & 3) << 4;
            out[group * 16 + k] = scale * (float)(value - 32);
        }
    }
}

/* The scale of all, f16; the high 2 bits of 8 scales, then their low 4; 128 bytes of elements as of iq4_nl. */
static void read_iq4_xs(const uint8_t *at, float *out) {
    float d = half(at);
    uint32_t high = at[2] | (uint32_t)at[3] << 8;
    for (int group = 0; group < 8; group++) {
        int scale = (at[4 + group / 2] >> group % 2 * 4 & 15) | (int)(high >> 2 * group & 3) << 4;
        const uint8_t *bytes = at + 8 + group * 16;
        float of_group = d * (float)(scale - 32);
        for (int k = 0; k < 16; k++) {
            out[group * 32 + k] = of_group * (float)uneven[bytes[k] & 15];
            out[group * 32 + k + 16] = of_group * (float)uneven[bytes[k] >> 4];
        }
    }
}

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

static const struct {
    neap_gguf_kind kind;
    void (*read)(const uint8_t *at, float *out);
} kinds[] = {
    [0] = {{"f32", 1, 4}, read_f32},
    [1] = {{"f16", 1, 2}, read_f16},
    [2] = {{"q4_0", SMALL, 18}, read_q4_0},
    [3] = {{"q4_1", SMALL, 20}, read_q4_1},
    [6] = {{"q5_0", SMALL, 22}, read_q5_0},
    [7] = {{"q5_1", SMALL, 24}, read_q5_1},
    [8] = {{"q8_0", SMALL, 34}, read_q8_0},
    [10] = {{"q2_k", LARGE, 84}, read_q2_k},
    [11] = {{"q3_k", LARGE, 110}, read_q3_k},
    [12] = {{"q4_k", LARGE, 144}, read_q4_k},
    [13] = {{"q5_k", LARGE, 176}, read_q5_k},
    [14] = {{"q6_k", LARGE, 210}, read_q6_k},
    [20] = {{"iq4_nl", SMALL, 18}, read_iq4_nl},
    [23] = {{"iq4_xs", LARGE, 136}, read_iq4_xs},
    [30] = {{"bf16", 1, 2}, read_bf16},
};

const neap_gguf_kind *neap_gguf_kind_of(int32_t number) {
    if (number < 0 || number >= (int32_t)(sizeof kinds / sizeof *kinds) || !kinds[number].read)
        return NULL;
    return &kinds[number].kind;
}

void neap_gguf_read(int32_t number, const void *data, int64_t blocks, float *out) {
    const neap_gguf_kind *kind = neap_gguf_kind_of(number);
    for (int64_t k = 0; kind && k < blocks; k++)
        kinds[number].read((const uint8_t *)data + k * kind->bytes, out + k * kind->elements);
}
