/* isa.c (sanitized with --long): every map and reduction gives the same bits on every instruction set that this CPU
 * has, for any bits of its operands: ordinary numbers and the whole range of patterns, NaNs, infinities and denormals
 * among them. (Which NaN a result is, is not promised.)
 *
 * With the argument --hashes it prints a line for each op, dtype and variant with a hash of the baseline's results:
 * programs for different machines must print the same lines (tests/tools/aarch64_test.sh). */
#include <math.h>
#include <stdlib.h>

#include "lazy/vm/kernel.h"
#include "tests/check.h"

enum { SIZE = 1537, BOX = SIZE * 2 }; /* neither a multiple of a vector nor of a chunk */

static uint64_t state = 88172645463325252u;

static uint64_t draw(void) { /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Half of the elements lie in the row's domain, the others have any bits. */
static void fill(const lazy_op *row, int dtype, void *data) {
    double low = row->domain[0], width = row->domain[1] - low;
    for (int k = 0; k < BOX; k++) {
        uint64_t bits = draw();
        double value = low + width * (double)(draw() >> 11) * 0x1p-53;
        bool any = bits & 1;
        switch (dtype) {
        case NEAP_DTYPE_BOOL:
            ((uint8_t *)data)[k] = bits >> 1 & 1;
            break;
#define VALUE(NAME, name, kind, ctype, ...)                                                                            \
    case NEAP_DTYPE_##NAME:                                                                                            \
        ((ctype *)data)[k] = (ctype)value;                                                                             \
        break;
#define VALUE_HALF(NAME, name, kind, ctype, ...)                                                                       \
    case NEAP_DTYPE_##NAME:                                                                                            \
        ((ctype *)data)[k] = dtype_scalar(dtype, value).name;                                                          \
        break;
            NEAP_DTYPE_REAL_ROWS(VALUE)
            NEAP_DTYPE_HALF_ROWS(VALUE_HALF)
#undef VALUE
#undef VALUE_HALF
#define VALUE(NAME, name, kind, ctype, ...)                                                                            \
    case NEAP_DTYPE_##NAME:                                                                                            \
        ((ctype *)data)[k] = __builtin_complex(value, (double)(int32_t)bits * 0x1p-30);                                \
        break;
            NEAP_DTYPE_COMPLEX_ROWS(VALUE)
#undef VALUE
        }
        any |= !dtype_is_inexact(dtype);
        if (any && dtype != NEAP_DTYPE_BOOL)
            for (int part = 0; part < (neap_dtype_bytes(dtype) + 7) / 8; part++, bits = draw())
                memcpy((char *)data + k * neap_dtype_bytes(dtype) + 8 * part,
                       (char *)&bits + (neap_dtype_bytes(dtype) < 8),
                       (size_t)(neap_dtype_bytes(dtype) < 8 ? neap_dtype_bytes(dtype) : 8));
    }
}

typedef struct operands {
    const lazy_op *row;
    int number, dtype, nattrs;
    int64_t attrs[2];
    uint64_t data[3][2 * BOX];
} operands;

/* Row-major elements of the result in `out`; their number, and the dtype. */
static int64_t compute(const operands *o, int *dtype, char *out) {
    neap_ctx *ctx;
    int32_t in[3], id;
    int64_t size = 0;
    if (!CHECK_EQ(neap_ctx_new(&ctx), 0))
        return 0;
    for (int k = 0; k < o->row->arity; k++) {
        bool condition = o->row->dtype == graph_dtype_where && k == 0;
        CHECK_EQ(
            neap_array_new(ctx, condition ? NEAP_DTYPE_BOOL : o->dtype, 2, (int64_t[]){2, SIZE}, o->data[k], &in[k]),
            0);
    }
    if (CHECK_EQ(neap_op(ctx, o->number, o->row->arity, in, o->nattrs, o->attrs, &id), 0)) {
        neap_info info;
        const void *data;
        int status;
        while ((status = neap_array_data(ctx, id, &data)) == NEAP_PENDING)
            neap_engine_help(1000000);
        neap_array_info(ctx, id, &info);
        *dtype = info.dtype;
        if (CHECK_EQ(status, 0)) {
            size = info.size;
            memcpy(out, data, (size_t)(size * neap_dtype_bytes(info.dtype)));
        }
    }
    neap_ctx_free(ctx);
    return size;
}

static bool same(int dtype, const char *a, const char *b) {
    int part = dtype_of_part(dtype), bytes = neap_dtype_bytes(part);
    if (part != dtype)
        return same(part, a, b) && same(part, a + bytes, b + bytes);
    double left = dtype_number(dtype, a), right = dtype_number(dtype, b);
    return memcmp(a, b, (size_t)bytes) == 0 || (left != left && right != right);
}

/* FNV-1a over the bytes, every NaN as the same one. */
static uint64_t hash(int dtype, const char *data, int64_t size) {
    uint64_t h = 0xcbf29ce484222325u;
    if (dtype_of_part(dtype) != dtype)
        dtype = dtype_of_part(dtype), size *= 2;
    int width = neap_dtype_bytes(dtype);
    for (int64_t k = 0; k < size; k++, data += width) {
        double value = dtype_number(dtype, data);
        lazy_scalar nan = dtype_scalar(dtype, value == value ? 0 : (double)NAN);
        const char *element = value == value ? data : (const char *)&nan;
        for (int b = 0; b < width; b++)
            h = (h ^ (uint8_t)element[b]) * 0x100000001b3u;
    }
    return h;
}

static bool hashes;

/* Compares all sets with the baseline. */
static void check(const operands *o) {
    static char expected[BOX * 16], got[BOX * 16];
    static const char *const sets[] = {"avx2", "avx512"};
    int dtype = 0, other = 0;
    vm_isa_set("baseline");
    int64_t size = compute(o, &dtype, expected);
    if (hashes)
        printf("%s %s %d %016llx\n", o->row->name, neap_dtype_name(o->dtype), (int)o->attrs[0],
               (unsigned long long)hash(dtype, expected, size));
    for (int s = 0; s < 2; s++) {
        if (vm_isa_set(sets[s]) != 0)
            continue;
        int64_t differences = compute(o, &other, got) == size && other == dtype ? 0 : 1;
        for (int64_t k = 0; k < size && differences == 0; k++) {
            size_t at = (size_t)(k * neap_dtype_bytes(dtype));
            differences += !same(dtype, expected + at, got + at);
        }
        if (!CHECK_EQ(differences, 0))
            fprintf(stderr, "np.%s of %s differs on %s\n", o->row->name, neap_dtype_name(o->dtype), sets[s]);
    }
}

/* Rows of one dtype of several of its kind have loops for that alone. */
static bool accepts(int op, int dtype) {
    const lazy_op *row = lazy_ops[op];
    const int kind = neap_dtype_kind(dtype);
    const bool loops = row->kind != LAZY_MAP || row->flags & LAZY_OP_CASTS || vm_map_loop_of(op, dtype);
    const int bit = kind == 'b' ? LAZY_BOOL : kind == 'f' ? LAZY_REAL : kind == 'c' ? LAZY_COMPLEX : LAZY_INT;
    return loops && row->types & bit;
}

int main(int argc, char **argv) {
    static operands o;
    int rows = 0;
    hashes = argc > 1 && strcmp(argv[1], "--hashes") == 0;
    for (o.number = 0; o.number < lazy_op_count; o.number++) {
        o.row = lazy_ops[o.number];
        if (o.row->kind != LAZY_MAP && o.row->kind != LAZY_REDUCE)
            continue;
        rows++;
        for (o.dtype = 0; o.dtype < NEAP_DTYPE_COUNT; o.dtype++) {
            if (!accepts(o.number, o.dtype))
                continue;
            for (int k = 0; k < o.row->arity; k++)
                fill(o.row, o.row->dtype == graph_dtype_where && k == 0 ? NEAP_DTYPE_BOOL : o.dtype, o.data[k]);
            o.nattrs = o.row->kind == LAZY_REDUCE ? 2 : o.row->flags & LAZY_OP_CASTS ? 1 : 0;
            /* A reduction of the rows, the columns, everything; a cast to every dtype. */
            int variants = o.nattrs == 2 ? 3 : o.nattrs == 1 ? NEAP_DTYPE_COUNT : 1;
            for (int v = 0; v < variants; v++) {
                o.attrs[0] = o.nattrs == 2 ? v + 1 : v;
                bool drops = neap_dtype_kind(o.dtype) == 'c' && neap_dtype_kind(v) != 'c' && neap_dtype_kind(v) != 'b';
                if (o.nattrs != 1 || !drops) /* a complex number becomes no real one */
                    check(&o);
            }
        }
    }
    CHECK(rows > 50);
    neap_engine_stop();
    return check_end();
}
