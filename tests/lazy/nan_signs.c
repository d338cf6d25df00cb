/* nan_signs.c: the sign of a NaN decides nothing but where it is asked for. Processors give NaNs signs of their own:
 * x86 a minus to those that it makes, GPUs a plus to all. So every map and cast is computed of inputs with many NaNs,
 * and again with the signs of all of them turned around. */
#include "tests/lazy/vm_rows.h"

enum { COUNT = 512 };

/* The parts of an element: 1, or 2 of a complex number. */
static int parts_of(int dtype) {
    return is_complex(dtype) ? 2 : 1;
}

static int part_dtype(int dtype) {
    return is_complex(dtype) ? dtype_of_part(dtype) : dtype;
}

static int part_bytes(int dtype) {
    return neap_dtype_bytes(part_dtype(dtype));
}

static bool is_nan_part(int dtype, const void *part) {
    lazy_scalar as = {0};
    memcpy(&as, part, (size_t)part_bytes(dtype));
    const double x = dtype_number(part_dtype(dtype), &as);
    return x != x;
}

static void turn_sign(int dtype, void *part) {
    ((uint8_t *)part)[part_bytes(dtype) - 1] ^= 0x80;
}

/* Some parts of random elements are NaN, or, as what meets one, infinite or zero. */
static void *elements_new(int dtype) {
    static const double special[] = {
        __builtin_nan(""), __builtin_nan(""), __builtin_inf(), -__builtin_inf(), 0.0, -0.0};
    const int bytes = part_bytes(dtype);
    char *data = random_buffer(dtype, COUNT);
    for (int k = 0; k < COUNT * parts_of(dtype); k++)
        if (below(2))
            lazy_simd_baseline.cast[NEAP_DTYPE_F64][part_dtype(dtype)](data + k * bytes, &special[below(6)],
                                                                       &special[0], &special[0], 1);
    return data;
}

static void turn_nans(int dtype, char *data, int n) {
    for (int k = 0; k < n * parts_of(dtype); k++)
        if (is_nan_part(dtype, data + k * part_bytes(dtype)))
            turn_sign(dtype, data + k * part_bytes(dtype));
}

/* Whether a row's result is, or has, the sign of an input. */
static bool asks(int op) {
    return op == LAZY_OP_copysign || op == LAZY_OP_signbit;
}

static void run(lazy_kernel *kernel, void **bufs, const lazy_scalar *number) {
    CHECK_EQ(vm_kernel_prepare(kernel), NEAP_OK);
    CHECK_EQ(vm_kernel_run(kernel, bufs, number, NULL), NEAP_OK);
    vm_kernel_unprepare(kernel);
}

static void try_row(const lazy_ins *ins, int dtype) {
    lazy_load loads[ROWS_INPUTS];
    lazy_sink sink = {.kind = LAZY_SINK_STORE,
                      .dtype = ins->result,
                      .value = ROWS_INPUTS,
                      .slot = ROWS_INPUTS - 1,
                      .write = {.stride = {1}}};
    lazy_kernel kernel = {
        .ndim = 1, .nkept = 1, .shape = {COUNT}, .nloads = ROWS_INPUTS, .nins = 1, .nsinks = 1, .loads = loads};
    void *plain[ROWS_INPUTS], *turned[ROWS_INPUTS];
    lazy_scalar number = {0}, other;
    const size_t bytes = (size_t)COUNT * (size_t)neap_dtype_bytes(ins->result);
    kernel.ins = (lazy_ins *)ins, kernel.sinks = &sink;
    for (int k = 0; k < ROWS_INPUTS; k++) {
        const int type = k == 0 ? NEAP_DTYPE_BOOL : dtype;
        const bool is_number = k == ROWS_INPUTS - 1;
        loads[k] = (lazy_load){.kind = is_number ? LAZY_LOAD_SCALAR : LAZY_LOAD_BUFFER,
                               .dtype = (uint8_t)type,
                               .slot = (int16_t)(is_number ? 0 : k),
                               .read = {.stride = {1}}};
        plain[k] = is_number ? calloc(1, bytes) : k == 0 ? random_buffer(type, COUNT) : elements_new(type);
        turned[k] = malloc(is_number ? bytes : (size_t)COUNT * (size_t)neap_dtype_bytes(type));
        memcpy(turned[k], plain[k], is_number ? bytes : (size_t)COUNT * (size_t)neap_dtype_bytes(type));
        if (k > 0 && !is_number)
            turn_nans(type, turned[k], COUNT);
    }
    random_element(dtype, &number);
    other = number;
    turn_nans(dtype, (char *)&other, 1);
    run(&kernel, plain, &number);
    run(&kernel, turned, &other);
    if (!CHECK(same(ins->result, plain[ROWS_INPUTS - 1], turned[ROWS_INPUTS - 1], (int64_t)bytes)))
        fprintf(stderr, "%s of %s to %s\n", lazy_ops[ins->op]->name, neap_dtype_name(dtype),
                neap_dtype_name(ins->result));
    for (int k = 0; k < ROWS_INPUTS; k++)
        free(plain[k]), free(turned[k]);
}

/* nan_signs [ROUNDS] */
int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : check_times(4, 1);
    static rows r;
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++) {
        if (!strchr("fc", neap_dtype_kind(dtype)))
            continue;
        rows_new(&r, dtype);
        for (int k = 0; k < r.n * rounds; k++)
            if (!asks(r.ins[k % r.n].op))
                try_row(&r.ins[k % r.n], dtype);
    }
    return check_end();
}
