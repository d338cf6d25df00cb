/* scan_of.h: one cumulative operation on one dtype; scans.c includes it once for each, with these defined:
 *
 *      KIND, OP        which operation: sum, and ADD (elements) with ADD_V (vectors)
 *      DTYPE           f32; T_f32 is the type that is combined, I_f32 a signed integer type of its size, and
 *                      PLACES_f32(X, d) is X(lane, d, lanes) for all lanes of a vector, or ONE_AT_A_TIME is defined
 *      NEUTRAL         the neutral element as it is combined
 *      LOAD, STORE     from elements of memory to what is combined, and back (LOAD_V of vectors); without: the same
 *      PAD             with these: an element of memory that changes nothing behind others
 *
 * It takes away all definitions but the first two.
 */
#define NAME(x) NAME_OF(KIND, DTYPE, x)
#define T JOIN(T_, DTYPE)
#define I JOIN(I_, DTYPE)
#define PLACES JOIN(PLACES_, DTYPE)
#define COMBINE OP
#define COMBINE_V JOIN(OP, _V)
#ifndef LOAD
#define LOAD SAME
#define STORE SAME
#define PAD NEUTRAL
#endif
#define LOAD_V JOIN(LOAD, _V)

/* ---- Lines beside each other ------------------------------------------------------------------------------------- */
#define TAKE(k) T v##k = LOAD(in[c + k * step]);
#define PUT(k) out[c + k * step] = STORE(COMBINE(s, COMBINE(before, v##k)));
#define SIXTEEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

INLINE void NAME(group)(T *out, const T *in, int64_t step, int64_t width, const T *start, T *carry, bool store) {
    EACH(width) {
        const T s = start[c], before = carry[c];
        SIXTEEN(TAKE)
        v1 = COMBINE(v0, v1), v3 = COMBINE(v2, v3), v5 = COMBINE(v4, v5), v7 = COMBINE(v6, v7);
        v9 = COMBINE(v8, v9), v11 = COMBINE(v10, v11), v13 = COMBINE(v12, v13), v15 = COMBINE(v14, v15);
        v2 = COMBINE(v1, v2), v3 = COMBINE(v1, v3), v6 = COMBINE(v5, v6), v7 = COMBINE(v5, v7);
        v10 = COMBINE(v9, v10), v11 = COMBINE(v9, v11), v14 = COMBINE(v13, v14), v15 = COMBINE(v13, v15);
        v4 = COMBINE(v3, v4), v5 = COMBINE(v3, v5), v6 = COMBINE(v3, v6), v7 = COMBINE(v3, v7);
        v12 = COMBINE(v11, v12), v13 = COMBINE(v11, v13), v14 = COMBINE(v11, v14), v15 = COMBINE(v11, v15);
        v8 = COMBINE(v7, v8), v9 = COMBINE(v7, v9), v10 = COMBINE(v7, v10), v11 = COMBINE(v7, v11);
        v12 = COMBINE(v7, v12), v13 = COMBINE(v7, v13), v14 = COMBINE(v7, v14), v15 = COMBINE(v7, v15);
        if (store) {
            SIXTEEN(PUT)
        }
        (void)s;
        carry[c] = COMBINE(before, v15);
    }
}

static __attribute__((noinline)) void NAME(stored)(T *out, const T *in, int64_t step, int64_t width, const T *start,
                                                   T *carry) {
    NAME(group)(out, in, step, width, start, carry, true);
}

static void NAME(columns)(void *to, const void *from, int64_t n, int64_t step, int64_t width, const void *start,
                          void *total) {
    T *out = to, *carry = total, last[GROUP * WIDTH];
    const T *in = from;
    int64_t i = 0;
    EACH(width) carry[c] = NEUTRAL;
    for (; i + GROUP <= n; i += GROUP)
        if (out)
            NAME(stored)(out + i * step, in + i * step, step, width, start, carry);
        else
            NAME(group)(NULL, in + i * step, step, width, start, carry, false);
    if (i == n)
        return;
    for (int64_t k = 0; k < GROUP; k++)
        if (i + k < n)
            memcpy(last + k * WIDTH, in + (i + k) * step, (size_t)width * sizeof(T));
        else
            EACH(width) last[k * WIDTH + c] = PAD;
    NAME(stored)(last, last, WIDTH, width, start, carry);
    for (int64_t k = 0; out && i + k < n; k++)
        memcpy(out + (i + k) * step, last + k * WIDTH, (size_t)width * sizeof(T));
}

static void NAME(combine)(void *to, const void *a, const void *b, int64_t n) {
    T *t = to;
    const T *x = a, *y = b;
    for (int64_t c = 0; c < n; c++)
        t[c] = COMBINE(x[c], y[c]);
}

/* ---- Elements in a row ------------------------------------------------------------------------------------------- */
#ifndef ONE_AT_A_TIME
typedef T NAME(v) __attribute__((vector_size(VECTOR)));
typedef I NAME(i) __attribute__((vector_size(VECTOR)));
typedef NAME(v) NAME(loose) __attribute__((aligned(1), may_alias));

/* Runs of d become runs of 2d within a vector. */
#define DOUBLE(d)                                                                                                      \
    if (d < LANES) {                                                                                                   \
        const NAME(i) from = {PLACES(JOINED, d)};                                                                      \
        const NAME(v) run = __builtin_shuffle(x, neutral, from);                                                       \
        x = COMBINE_V(NAME(v), run, x);                                                                                \
    }

INLINE NAME(v) NAME(groups)(T *out, const T *in, int64_t n, NAME(v) start, NAME(v) carry, bool store) {
    enum { LANES = VECTOR / sizeof(T), VECTORS = GROUP / LANES };
    const NAME(i) last = {PLACES(LAST, 0)};
    const NAME(v) neutral = NEUTRAL - (NAME(v)){0};
    for (int64_t i = 0; i < n; i += GROUP) {
        NAME(v) v[VECTORS];
        STRAIGHT for (int k = 0; k < VECTORS; k++) {
            NAME(v) x = *(const NAME(loose) *)(in + i + k * LANES);
            x = LOAD_V(x);
            DOUBLE(1) DOUBLE(2) DOUBLE(4) DOUBLE(8) v[k] = x;
        }
        STRAIGHT for (int m = 1; m < VECTORS; m *= 2) {
            STRAIGHT for (int k = 0; k < VECTORS; k++) {
                const NAME(v) run = __builtin_shuffle(v[k & m ? (k & ~(2 * m - 1)) + m - 1 : 0], last);
                if (k & m)
                    v[k] = COMBINE_V(NAME(v), run, v[k]);
            }
        }
        STRAIGHT for (int k = 0; store && k < VECTORS; k++) {
            NAME(v) y = COMBINE_V(NAME(v), carry, v[k]);
            y = COMBINE_V(NAME(v), start, y);
            *(NAME(loose) *)(out + i + k * LANES) = STORE(y);
        }
        const NAME(v) all = __builtin_shuffle(v[VECTORS - 1], last);
        carry = COMBINE_V(NAME(v), carry, all);
    }
    return carry;
}

static void NAME(row)(void *to, const void *from, int64_t n, const void *start, void *total) {
    T *out = to, last[GROUP];
    const T *in = from;
    const int64_t whole = n / GROUP * GROUP;
    const NAME(v) first = *(const T *)start - (NAME(v)){0};
    NAME(v) carry = NEUTRAL - (NAME(v)){0};
    carry = out ? NAME(groups)(out, in, whole, first, carry, true) : NAME(groups)(out, in, whole, first, carry, false);
    if (whole < n) {
        for (int64_t k = 0; k < GROUP; k++)
            last[k] = PAD;
        memcpy(last, in + whole, (size_t)(n - whole) * sizeof(T));
        carry = NAME(groups)(last, last, GROUP, first, carry, true);
        if (out)
            memcpy(out + whole, last, (size_t)(n - whole) * sizeof(T));
    }
    *(T *)total = carry[0];
}
#undef DOUBLE
#else
/* Of integers every order gives the same. */
static void NAME(row)(void *to, const void *from, int64_t n, const void *start, void *total) {
    T *out = to, all = NEUTRAL;
    const T *in = from, first = *(const T *)start;
    for (int64_t k = 0; k < n; k++) {
        all = COMBINE(all, in[k]);
        if (out)
            out[k] = COMBINE(first, all);
    }
    *(T *)total = all;
}
#endif

#undef TAKE
#undef PUT
#undef SIXTEEN
#undef NAME
#undef T
#undef I
#undef PLACES
#undef COMBINE
#undef COMBINE_V
#undef LOAD
#undef LOAD_V
#undef STORE
#undef PAD
#undef DTYPE
#undef NEUTRAL
