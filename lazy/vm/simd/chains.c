/* chains.c: chains (simd.h has the picture). chains_gen.h applies the forms below to the kernel texts of the op rows;
 * this file is compiled once per instruction set (-DNEAP_ISA).
 *
 * A block is as many vectors as calling conventions pass in registers, eight on every target, and a link's code ends
 * with a call of the next one, which the compiler makes a jump. So the block never leaves the registers between the
 * links. Its vectors are of no element type; a code takes each as elements, in a loop that becomes one instruction.
 */
#include <string.h>

#include "lazy/vm/simd/simd.h"
#include "lazy/vm/simd/vmath.h"
#include "ops_gen.h"

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#define STREAM __builtin_ia32_movntdq512
#elif defined(__AVX__)
enum { VECTOR = 32 };
#define STREAM __builtin_ia32_movntdq256
#elif defined(__SSE2__)
enum { VECTOR = 16 };
#define STREAM __builtin_ia32_movntdq
#else
enum { VECTOR = 16 };
#define STREAM(to, from) (*(to) = (from))
#endif
enum { BLOCK = 8 * VECTOR, LINE = 64 };

/* How far ahead of the block memory is asked for: some hundred ns, and not so far that it would be lost again. */
enum { AHEAD = 6144 };

typedef long long vector __attribute__((vector_size(VECTOR)));
typedef vector loose __attribute__((aligned(1), may_alias));

#define VECTORS vector v0, vector v1, vector v2, vector v3, vector v4, vector v5, vector v6, vector v7
#define CODE(name) static void name(VECTORS, const lazy_link *at, int64_t i)
#define NEXT ((code)at[1].code)(v0, v1, v2, v3, v4, v5, v6, v7, at + 1, i)

/* `i` is the place of the block, in bytes. The first link has no block yet. */
typedef void (*code)(VECTORS, const lazy_link *at, int64_t i);
typedef void (*begin_code)(const lazy_link *at, int64_t i);

/* v = text of its elements and those of the other operand, OTHER(k, l). */
#define ELEMENTS(v, k, T, OTHER, mine, others, text)                                                                   \
    {                                                                                                                  \
        T x[VECTOR / sizeof(T)];                                                                                       \
        *(loose *)x = v;                                                                                               \
        _Pragma("omp simd") for (int l = 0; l < (int)(VECTOR / sizeof(T)); l++) {                                      \
            const T mine = x[l], others = OTHER(k * (int)(VECTOR / sizeof(T)) + l);                                    \
            x[l] = text;                                                                                               \
        }                                                                                                              \
        v = *(loose *)x;                                                                                               \
    }
#define ALL_ELEMENTS(T, OTHER, mine, others, text)                                                                     \
    ELEMENTS(v0, 0, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v1, 1, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v2, 2, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v3, 3, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v4, 4, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v5, 5, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v6, 6, T, OTHER, mine, others, text)                                                                      \
    ELEMENTS(v7, 7, T, OTHER, mine, others, text)
#define FROM_VECTOR(l) y[l]
#define FROM_SCALAR(l) s
#define NO_OTHER(l) 0

/* The operand that is so many links on: elements of a type, one for each of the chain's. */
#define PLACE(type, T) (sizeof(type) == sizeof(T) ? (uint64_t)i : (uint64_t)i / sizeof(T) * sizeof(type))
#define VECTOR_AT(links, type, T) ((const type *)((const char *)at[links].operand + PLACE(type, T)))
#define SCALAR_AT(links, type) (*(const type *)at[links].operand)

#define LINK1(id, T, text)                                                                                             \
    CODE(id##_one) {                                                                                                   \
        ALL_ELEMENTS(T, NO_OTHER, a, b, text)                                                                          \
        NEXT;                                                                                                          \
    }
#define LINK_SIDE(name, T, mine, others, text)                                                                         \
    CODE(name##_vector) {                                                                                              \
        const T *y = VECTOR_AT(0, T, T);                                                                               \
        ALL_ELEMENTS(T, FROM_VECTOR, mine, others, text)                                                               \
        NEXT;                                                                                                          \
    }                                                                                                                  \
    CODE(name##_scalar) {                                                                                              \
        const T s = SCALAR_AT(0, T);                                                                                   \
        ALL_ELEMENTS(T, FROM_SCALAR, mine, others, text)                                                               \
        NEXT;                                                                                                          \
    }
#define LINK2(id, T, text) LINK_SIDE(id##_left, T, a, b, text) LINK_SIDE(id##_right, T, b, a, text)
#define LINK2_COMMUTES(id, T, text) LINK_SIDE(id##_left, T, a, b, text)

/* The whole block as elements: compilers make vectors of loops over elements of several widths only if these are as
 * long as vectors of the narrowest are. They keep the block in registers. */
#define BLOCK_ELEMENTS(T, ...)                                                                                         \
    T x[BLOCK / sizeof(T)];                                                                                            \
    const vector before[8] = {v0, v1, v2, v3, v4, v5, v6, v7};                                                         \
    memcpy(x, before, sizeof x);                                                                                       \
    _Pragma("omp simd") for (int l = 0; l < (int)(BLOCK / sizeof(T)); l++) __VA_ARGS__;
#define NEXT_WITH(x, links)                                                                                            \
    const loose *after = (const loose *)(x);                                                                           \
    ((code)at[links].code)(after[0], after[1], after[2], after[3], after[4], after[5], after[6], after[7],             \
                           at + (links), i)

/* Of three operands, the first of which are bools: bytes, or what the chain gives. The second other one is z. */
#define SECOND_VECTOR(l) z[l]
#define SECOND_SCALAR(l) t
#define CODE3(name, T, mine, P, first, FIRST, get_first, second, SECOND, get_second, text)                             \
    CODE(name) {                                                                                                       \
        get_first;                                                                                                     \
        get_second;                                                                                                    \
        BLOCK_ELEMENTS(T, {                                                                                            \
            const T mine = x[l], second = SECOND(l);                                                                   \
            const P first = FIRST(l);                                                                                  \
            x[l] = text;                                                                                               \
        })                                                                                                             \
        NEXT_WITH(x, 2);                                                                                               \
    }
#define CODE3_BY_SECOND(name, T, mine, P, first, FIRST, get_first, second, text)                                       \
    CODE3(name##_vector, T, mine, P, first, FIRST, get_first, second, SECOND_VECTOR, const T *z = VECTOR_AT(1, T, T),  \
          text)                                                                                                        \
    CODE3(name##_scalar, T, mine, P, first, FIRST, get_first, second, SECOND_SCALAR, const T t = SCALAR_AT(1, T), text)
#define LINK3(id, T, text)                                                                                             \
    CODE3_BY_SECOND(id##_a, T, a, T, b, FROM_VECTOR, const T *y = VECTOR_AT(0, T, T), c, text)                         \
    CODE3_BY_SECOND(id##_a_scalar, T, a, T, b, FROM_SCALAR, const T s = SCALAR_AT(0, T), c, text)                      \
    CODE3_BY_SECOND(id##_b, T, b, uint8_t, a, FROM_VECTOR, const uint8_t *y = VECTOR_AT(0, uint8_t, T), c, text)       \
    CODE3_BY_SECOND(id##_c, T, c, uint8_t, a, FROM_VECTOR, const uint8_t *y = VECTOR_AT(0, uint8_t, T), b, text)

/* A chain that begins with a cast from memory. */
#define BEGIN_AS(id, S, T)                                                                                             \
    static void id##_begin(const lazy_link *at, int64_t i) {                                                           \
        const S *y = VECTOR_AT(0, S, T);                                                                               \
        T x[BLOCK / sizeof(T)];                                                                                        \
        _Pragma("omp simd") for (int l = 0; l < (int)(BLOCK / sizeof(T)); l++) x[l] = (T)y[l];                         \
        NEXT_WITH(x, 1);                                                                                               \
    }

#define BY_OTHER(name)                                                                                                 \
    {                                                                                                                  \
        {(lazy_code)name##_vector}, {                                                                                  \
            (lazy_code) name##_scalar                                                                                  \
        }                                                                                                              \
    }
#define BY_SECOND(name)                                                                                                \
    { (lazy_code) name##_vector, (lazy_code)name##_scalar }
#define LINK1_CODES(id)                                                                                                \
    {                                                                                                                  \
        .by = { {{(lazy_code)id##_one}} }                                                                              \
    }
#define LINK2_CODES(id)                                                                                                \
    {                                                                                                                  \
        .by = { BY_OTHER(id##_left), BY_OTHER(id##_right) }                                                            \
    }
#define LINK2_COMMUTES_CODES(id)                                                                                       \
    {                                                                                                                  \
        .by = { BY_OTHER(id##_left), BY_OTHER(id##_left) }                                                             \
    }
#define LINK3_CODES(id)                                                                                                \
    {                                                                                                                  \
        .by = { {BY_SECOND(id##_a), BY_SECOND(id##_a_scalar)}, {BY_SECOND(id##_b)}, {BY_SECOND(id##_c)} }              \
    }

#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#include "chains_gen.h"

static void begin_chain(const lazy_link *at, int64_t i) {
    const loose *in = (const loose *)((const char *)at->operand + i);
    ((code)at[1].code)(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], at + 1, i);
}

CODE(ask) {
    const char *ahead = (const char *)at->operand + i + AHEAD;
    for (int k = 0; k < BLOCK; k += LINE)
        __builtin_prefetch(ahead + k);
    NEXT;
}

CODE(end) {
    loose *out = (loose *)((char *)at->operand + i);
    out[0] = v0, out[1] = v1, out[2] = v2, out[3] = v3;
    out[4] = v4, out[5] = v5, out[6] = v6, out[7] = v7;
}

CODE(end_far) {
    vector *out = (vector *)((char *)at->operand + i);
    STREAM(out, v0), STREAM(out + 1, v1), STREAM(out + 2, v2), STREAM(out + 3, v3);
    STREAM(out + 4, v4), STREAM(out + 5, v5), STREAM(out + 6, v6), STREAM(out + 7, v7);
}

/* Elements of the chain's own type that are 1 or 0, as bools. */
#define END_BOOL(name, T)                                                                                              \
    CODE(name) {                                                                                                       \
        uint8_t *out = (uint8_t *)at->operand + PLACE(uint8_t, T);                                                     \
        BLOCK_ELEMENTS(T, out[l] = x[l] != 0)                                                                          \
    }
END_BOOL(end_bool_4, int32_t)
END_BOOL(end_bool_8, int64_t)

/* The block that ends with the last element, into a place of its own: its first elements may be results already. */
static void last(const lazy_link *links, int count, int64_t from, int64_t bytes) {
    char block[BLOCK] __attribute__((aligned(VECTOR)));
    lazy_link copied[LAZY_LINKS_MAX], *store = &copied[count - 1];
    int64_t i = bytes - BLOCK;
    memcpy(copied, links, (size_t)count * sizeof *links);
    if (store->code == (lazy_code)end_far)
        store->code = (lazy_code)end;
    store->operand = (const void *)((uintptr_t)block - (uintptr_t)(i >> store->narrower));
    ((begin_code)copied->code)(copied, i);
    memcpy((char *)links[count - 1].operand + (from >> store->narrower), block + ((from - i) >> store->narrower),
           (size_t)(bytes - from) >> store->narrower);
}

/* Less than a block: operands are copied into blocks of their own, and the result back. */
static void lone(const lazy_link *links, int count, int64_t bytes) {
    char block[2 * LAZY_CHAIN_MAX + 2][BLOCK] __attribute__((aligned(VECTOR)));
    lazy_link copied[LAZY_LINKS_MAX], *store = &copied[count - 1];
    int used = 0;
    memcpy(copied, links, (size_t)count * sizeof *links);
    for (int k = 0; k < count; k++)
        if (links[k].vector) {
            memset(block[used], 0, BLOCK);
            memcpy(block[used], links[k].operand, (size_t)bytes >> links[k].narrower);
            copied[k].operand = block[used++];
        }
    if (store->code == (lazy_code)end_far)
        store->code = (lazy_code)end;
    store->operand = block[used];
    ((begin_code)copied->code)(copied, 0);
    memcpy((char *)links[count - 1].operand, block[used], (size_t)bytes >> store->narrower);
}

static void run_links(lazy_link *links, int count, int64_t bytes) {
    lazy_link *store = &links[count - 1];
    int64_t i = 0;
    if (store->code == (lazy_code)end_far && (uintptr_t)store->operand % VECTOR != 0)
        store->code = (lazy_code)end;
    for (; i + BLOCK <= bytes; i += BLOCK)
        ((begin_code)links->code)(links, i);
    if (bytes < BLOCK)
        lone(links, count, bytes);
    else if (i < bytes)
        last(links, count, i, bytes);
#if defined(__AVX__)
    __builtin_ia32_vzeroupper(); /* the compiler does not see that codes leave wide registers in use */
#endif
}

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_chains_##isa

const lazy_chains TABLE_NAME(NEAP_ISA) = {
    .codes = code_table,
    .begin_as = begin_table,
    .begin = (lazy_code)begin_chain,
    .ask = (lazy_code)ask,
    .end = (lazy_code)end,
    .end_far = (lazy_code)end_far,
    .end_bool = {[4] = (lazy_code)end_bool_4, [8] = (lazy_code)end_bool_8},
    .run = run_links,
};
