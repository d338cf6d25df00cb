/* rules.c: the rules by which ops on divided arrays are divided (lazy/shard/shard.h), on shapes alone: no array is
 * made.
 *
 * An array is written as its axes, "8:i 16:jk 5": sizes, and by which axes of the mesh they are divided. The mesh
 * is i: 4, j: 2, k: 3, t: 1. */
#include <stdarg.h>

#include "mesh/auto.h"
#include "tests/check.h"

static const lazy_mesh mesh = {
    .number = 1, .naxes = 4, .size = 24, .names = {"i", "j", "k", "t"}, .sizes = {4, 2, 3, 1}};

enum { MOST = 4 };

typedef struct array {
    lazy_aval aval;
    int64_t shape[NEAP_MAX_DIMS];
    lazy_sharding sharding;
} array;

static void read_array(array *a, const char *text, int dtype) {
    memset(a, 0, sizeof *a);
    a->aval = (lazy_aval){.dtype = (uint8_t)dtype, .size = 1, .shape = a->shape};
    while (*text) {
        char *end;
        int axis = a->aval.ndim++;
        a->shape[axis] = strtoll(text, &end, 10);
        a->aval.size *= a->shape[axis];
        text = end + (*end == ':');
        for (int n = 0; *text && *text != ' '; n++)
            a->sharding.split[axis][n] = (uint8_t)(1 + strchr("ijkt", *text++) - "ijkt");
        text += *text == ' ';
    }
    a->sharding.mesh = &mesh;
    a->sharding.ndim = a->aval.ndim;
}

/* "i - jk": what divides the axes. */
static const char *say_split(const lazy_sharding *sharding, char *text) {
    char *at = text;
    for (int axis = 0; axis < sharding->ndim; axis++) {
        at += sprintf(at, axis ? " " : "");
        for (int k = 0; k < NEAP_MESH_AXES && sharding->split[axis][k]; k++)
            *at++ = *mesh.names[sharding->split[axis][k] - 1];
        at += sprintf(at, sharding->split[axis][0] ? "" : "-");
    }
    *at = 0;
    return text;
}

static int find_op(const char *name) {
    for (int op = 0; op < lazy_op_count; op++)
        if (strcmp(lazy_ops[op]->name, name) == 0)
            return op;
    return -1;
}

/* The shape of a map is that of its inputs, broadcast. */
static int infer(const lazy_op *row, const lazy_call_desc *call, lazy_result *out) {
    if (row->dtype && row->dtype(call, out) != 0)
        return -1;
    if (row->shape)
        return row->shape(call, out);
    for (int k = 0; k < call->nin; k++)
        out->ndim = call->in[k].ndim > out->ndim ? call->in[k].ndim : out->ndim;
    for (int a = 0; a < out->ndim; a++) {
        out->shape[a] = 1;
        for (int k = 0; k < call->nin; k++) {
            int own = a - out->ndim + call->in[k].ndim;
            if (own >= 0 && call->in[k].shape[own] != 1)
                out->shape[a] = call->in[k].shape[own];
        }
    }
    return 0;
}

static int64_t attrs[64], block_attrs[64];
static int nattrs;
static void set_attrs(int n, ...) {
    va_list list;
    va_start(list, n);
    for (nattrs = 0; nattrs < n; nattrs++)
        attrs[nattrs] = va_arg(list, int);
    va_end(list);
}
#define ATTRS(...) set_attrs((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), __VA_ARGS__)

/* The op on these inputs: `expect` is how they are wanted, then how the result lies, then what combines it:
 * "i j, j -, i - add j". After the call attrs are none. */
static int rule_at(int line, const char *name, int dtype, const char *inputs, const char *expect) {
    int op = find_op(name), nin = 0;
    array in[MOST];
    lazy_aval avals[MOST];
    lazy_sharding want[MOST];
    char text[512], told[512], *at = told, part[128];
    snprintf(text, sizeof text, "%s", inputs);
    for (char *rest = text, *one; nin < MOST && (one = strsep(&rest, ",")) != NULL; nin++) {
        read_array(&in[nin], one + (*one == ' '), dtype);
        avals[nin] = in[nin].aval;
        want[nin] = in[nin].sharding;
    }
    if (strcmp(name, "take") == 0 || strncmp(name, "put_", 4) == 0)
        avals[1].dtype = NEAP_DTYPE_I32;
    lazy_result out = {0};
    lazy_call_desc call = {.nin = nin, .in = avals, .nattrs = nattrs, .attrs = attrs};
    if (op < 0 || infer(lazy_ops[op], &call, &out) != 0) {
        fprintf(stderr, "line %d: %s: %s\n", line, name, op < 0 ? "no such op" : neap_error_text());
        return CHECK(!"the op fits its inputs");
    }
    lazy_shard_rule g = {.row = lazy_ops[op],
                         .mesh = &mesh,
                         .nin = nin,
                         .in = avals,
                         .out = &out,
                         .nattrs = nattrs,
                         .attrs = attrs,
                         .want = want,
                         .block_attrs = block_attrs,
                         .result = want[0]};
    int status = mesh_shard_plan(&g);
    for (int k = 0; k < nin; k++)
        at += sprintf(at, "%s, ", say_split(&want[k], part));
    at += sprintf(at, "%s", say_split(&g.result, part));
    if (g.combine >= 0)
        at += sprintf(at, " %s ", lazy_ops[g.combine]->name);
    for (int k = 0; k < mesh.naxes; k++)
        if (g.over >> k & 1)
            at += sprintf(at, "%s", mesh.names[k]);
    sprintf(at, "%s", status == 1 ? " gathered" : "");
    if (strcmp(told, expect) != 0)
        fprintf(stderr, "line %d: %s of %s: %s, expected %s\n", line, name, inputs, told, expect);
    nattrs = 0;
    return CHECK(strcmp(told, expect) == 0);
}
#define RULE(name, inputs, expect) rule_at(__LINE__, name, NEAP_DTYPE_F32, inputs, expect)
#define RULE_OF(dtype, name, inputs, expect) rule_at(__LINE__, name, NEAP_DTYPE_##dtype, inputs, expect)

static void test_maps(void) {
    RULE("add", "8:i 6:j, 8:i 6:j", "i j, i j, i j");
    RULE("add", "8:i 6, 8 6:j", "i j, i j, i j"); /* of equal bytes each says what the other does not */
    RULE("add", "8:i 6, 6:j", "i j, j, i j");
    RULE("add", "8:i 6, 8 1", "i -, i -, i -");
    RULE("add", "8:i 1, 1 6:j", "i -, - j, i j"); /* an axis of size 1 is not divided */
    RULE("add", "8:i 12, 12:i", "i -, -, i -");   /* i divides one axis only: the input of more bytes has it */
    RULE("add", "8:j, 8:i", "j, j, j");           /* of as many bytes: the first one */
    RULE("add", "1 8:i, 4 8:j", "- j, - j, - j");
    RULE("add", "24:i, 24:ij", "ij, ij, ij"); /* what begins alike is added to */
    RULE("add", "24:ij, 24:i", "ij, ij, ij");
    RULE("add", "24:ij, 24:ji", "ij, ij, ij");
    RULE("add", "24:ij 4, 24:i 4:j", "ij -, ij -, ij -");
    RULE("add", "24:i 4:j, 24:ij 4", "i j, i j, i j"); /* j is taken */
    RULE("where", "8, 8:i, 8", "i, i, i, i");
    RULE("negative", "", ", ");
    RULE("multiply", "0:i 3, 3", "i -, -, i -");
    RULE("add", "8:it 1:t, 8 1", "it -, it -, it -");
}

static void test_reductions(void) {
    ATTRS(1, 0);
    RULE("sum", "8:i 6:j", "i j, j add i");
    ATTRS(2, 1);
    RULE("sum", "8:i 6:j", "i j, i - add j");
    ATTRS(3, 0);
    RULE("max", "8:i 6:j", "i j,  maximum ij");
    ATTRS(1, 0);
    RULE("min", "24:ij 6", "ij -, - minimum ij");
    ATTRS(2, 0);
    RULE("sum", "8:i 6", "i -, i"); /* nothing to combine */
    ATTRS(1, 0);
    RULE_OF(BOOL, "any", "8:i", "i,  maximum i");
    ATTRS(1, 0);
    RULE_OF(BOOL, "all", "8:i", "i,  minimum i");
    ATTRS(1, 0);
    RULE("prod", "8:i 6:j", "- j, j"); /* no collective multiplies: the axis is needed whole */
    ATTRS(2, 1);
    RULE("argmax", "8:i 6:j", "i -, i -");
}

static void test_views(void) {
    ATTRS(1, 0, 2);
    RULE("transpose", "8:i 6:j 5", "i j -, j i -");
    ATTRS(3, 8, 6);
    RULE("broadcast_to", "8:i 1", "i -, - i -");
    CHECK_EQ(block_attrs[0], 3);
    CHECK_EQ(block_attrs[1], 2);
    CHECK_EQ(block_attrs[2], 6);
    ATTRS(0, 1, 8, 1, 1, 4);
    RULE("slice", "8:i 6:j", "i -, i -");
    CHECK_EQ(block_attrs[2], 2);
    CHECK_EQ(block_attrs[5], 4);
    ATTRS(7, -1, 8, 0, 1, 6);
    RULE("slice", "8:i 6:j", "- j, - j"); /* turned around: its parts would change places */
    CHECK_EQ(block_attrs[5], 3);
    RULE("alias", "8:i 6:j", "i j, i j");
    ATTRS(1, 2, 1, 1);
    RULE("windows", "8:i 6:j", "i -, i - -");
}

static void test_reshapes(void) {
    ATTRS(48);
    RULE("reshape", "8:i 6", "i -, i");
    CHECK_EQ(block_attrs[0], 12);
    ATTRS(48);
    RULE("reshape", "8 6:j", "- -, -"); /* would not lie together */
    ATTRS(8);
    RULE("reshape", "4:i 2:j", "i j, ij"); /* single parts: the next axis goes on */
    CHECK_EQ(block_attrs[0], 1);
    ATTRS(4, 2);
    RULE("reshape", "8:ij", "ij, i j");
    ATTRS(8, 6);
    RULE("reshape", "48:i", "i, i -");
    CHECK_EQ(block_attrs[0], 2);
    ATTRS(2, 24);
    RULE("reshape", "48:i", "-, - -"); /* 4 does not divide 2 */
    ATTRS(2, 24);
    RULE("reshape", "48:ji", "ji, j i");
    ATTRS(3, 8, 6);
    RULE("reshape", "24:i 6:j", "- j, - - j");
    CHECK_EQ(block_attrs[2], 3);
    ATTRS(6, 4);
    RULE("reshape", "4:j 6", "j -, j -"); /* both begin with a factor of 2 */
    CHECK_EQ(block_attrs[0], 3);
    ATTRS(2, 5, 3);
    RULE("reshape", "3:k 5 2:j", "- - -, - - -"); /* no common factors */
    ATTRS(10, 3, 4);
    RULE("reshape", "5 6 4:i", "- - i, - - i"); /* … but behind them */
    ATTRS(1, 8, 1, 6, 1);
    RULE("reshape", "8:i 6:j", "i j, - i - j -");
    ATTRS(1);
    RULE("reshape", "", ", -");
    ATTRS(3, 0);
    RULE("reshape", "0:i 4:j", "- -, - -");
}

static void test_products(void) {
    RULE("matmul2", "8:i 6, 6 4:j", "i -, - j, i j");
    RULE("matmul2", "8:i 6:j, 6:j 4", "i j, j -, i - add j");
    RULE("matmul2", "8:i 6:j, 6 4", "i j, j -, i - add j"); /* the other one is divided alike: its parts are there */
    RULE("matmul2", "8:i 6, 6:j 4", "i j, j -, i - add j");
    RULE("matmul2", "8:i 6, 6 4:i", "i -, - -, i -");        /* i divides one axis of the result */
    RULE("matmul2", "64:i 8, 8:i 4", "i -, - -, i -");       /* more rows than weights: these are gathered … */
    RULE("matmul2", "4:i 8, 8:i 64", "- i, i -, - - add i"); /* … more weights: these stay */
    RULE("matmul2", "4:i 8 6:j, 4 6 2", "i - j, i j -, i - - add j");
    RULE_OF(BOOL, "matmul2", "8 6:j, 6 4", "- j, j -, - - maximum j");
    ATTRS(1, 1, 0, 0, 1);
    RULE("conv", "8:i 9 4:j, 3 4 6:k", "i - j, - j k, i - k add j");
    ATTRS(2, 1, 0, 0, 1);
    RULE("conv", "8:i 9 4:j, 3 2 6:k", "i - -, - - -, i - -"); /* two groups */
    ATTRS(1, 1, 0, 0, 1);
    RULE("conv", "8 12:i 4, 3 4 6", "- - -, - - -, - - -");
    ATTRS(1, 1, 0, 0, 1, 9);
    RULE("conv_input", "8:i 7 6:k, 3 4:j 6", "i - k, - j k, i - j add k");
    ATTRS(1, 1, 0, 0, 1, 3);
    RULE("conv_kernel", "8:i 9 4:j, 8:i 7 6:k", "i - j, i - k, - j k add i");
}

static void test_assemblies(void) {
    ATTRS(0);
    RULE("concatenate", "8:i 6:j, 4 6", "- j, - j, - j");
    ATTRS(-1);
    RULE("concatenate", "8:i 6:j, 8 6", "i -, i -, i -");
    ATTRS(0, 0, 0, 1, 1, 0);
    RULE("pad", "8:i 6:j, ", "i -, , i -");
    ATTRS(0);
    RULE("take", "12:i 6:j, 8:k", "- j, -, - j");
    ATTRS(0);
    RULE("take", "12 6:j, 9:k 5", "- j, k -, k - j");
    ATTRS(1);
    RULE("take", "12:i 6:j, 9:k", "i -, k, i k");
    ATTRS(0);
    RULE("put_add", "12:i 6:j, 9:k, 9:k 6", "- j, -, - j, - j");
    ATTRS(1);
    RULE("put_set", "12:i 6:j, 9:k, 12 9", "i -, -, i -, i -");
    ATTRS(1, 0);
    RULE("argsort", "8:i 6:j", "i -, i -");
    ATTRS(1, 0);
    RULE("sort", "8:i 6:j", "i -, i -");
    ATTRS(1, 0);
    RULE("cumsum", "8:i 6:j", "i -, i -");
    ATTRS(1, 0);
    RULE("recurrence", "8:i 6:j, 8 6", "i -, i -, i -");
    ATTRS(0);
    RULE("searchsorted", "8, 8:i 6:j", "-, i j, i j");
    ATTRS(0);
    RULE("searchsorted", "8 5:j, 8:i 6:k", "i -, i k, i k");
    ATTRS(2);
    RULE("nearest", "9 3:j, 8:i 6:k 3", "- -, i k -, i k -");
    ATTRS(2);
    RULE("nearest", "8 9:j 3, 8:i 6:k 3", "i - -, i k -, i k -");
}

static void test_others(void) {
    RULE("cholesky", "8:i 6:j 6", "i - -, i - -");
    RULE("det", "8:i 6 6, 8 7:j 6", "i - -, i - -, i");
    ATTRS(1);
    RULE("debug_sleep", "8:i 6:j", "i j, i j");
    ATTRS(32, 8);
    RULE_OF(U32, "random_bits", "4:i 2:j", "i -, i -");
    CHECK_EQ(block_attrs[1], 8);
    ATTRS(1, NEAP_DTYPE_F32, 8);
    RULE_OF(U32, "random_floats", "4:i 2:j", "i -, i -");
    CHECK_EQ(block_attrs[2], 8);
    RULE_OF(U32, "threefry", "4:i 2, 4 6:j 2", "i -, i j -, i j -");
    ATTRS(0, 8);
    RULE_OF(U32, "random_integers", ", , 4:i 2", ", , i -, i -");
    ATTRS(0, 8);
    RULE_OF(U32, "random_integers", "4:i, , 4:i 2", "-, , - -, - -");
}

/* A row without a rule, of a class that has none, needs its inputs whole. */
static void test_no_rule(void) {
    static const lazy_op row = {.name = "bare", .kind = LAZY_CALL, .arity = 1};
    array x;
    read_array(&x, "8:i 6:j", NEAP_DTYPE_F32);
    lazy_sharding want = x.sharding;
    lazy_result out = {.dtype = NEAP_DTYPE_F32, .ndim = 2, .shape = {8, 6}};
    char text[128];
    lazy_shard_rule g = {.row = &row,
                         .mesh = &mesh,
                         .nin = 1,
                         .in = &x.aval,
                         .out = &out,
                         .want = &want,
                         .result = x.sharding,
                         .combine = 7,
                         .over = 7};
    CHECK_EQ(mesh_shard_plan(&g), 1);
    CHECK(strcmp(say_split(&want, text), "- -") == 0);
    CHECK(strcmp(say_split(&g.result, text), "- -") == 0);
    CHECK_EQ(g.combine, -1);
    CHECK_EQ(g.over, 0);
}

/* Between axes of a vmap: the axis that the op deals with is needed whole, the others stay. */
static void test_collectives(void) {
    lazy_aval token = {.dtype = NEAP_DTYPE_I32, .size = 1};
    static const struct {
        const char *name;
        int nattrs;
        int64_t attrs[4];
        const char *in, *want, *result;
    } cases[] = {
        {"psum", 2, {1, 4}, "8:i 6:j", "i j", "i j"},
        {"all_gather", 3, {1, 4, 1}, "8:i 6:j", "i j", "i - j"},
        {"psum_scatter", 3, {1, 8, 0}, "8:i 6:j", "- j", "j"},
        {"all_to_all", 4, {1, 8, 0, 1}, "8:i 6:j", "- j", "j -"},
        {"all_to_all", 4, {1, 6, 1, 0}, "8:i 6:j", "i -", "- i"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        array x;
        char text[128];
        read_array(&x, cases[c].in, NEAP_DTYPE_F32);
        lazy_aval in[2] = {x.aval, token};
        lazy_sharding want[2] = {x.sharding, {.mesh = &mesh}};
        lazy_result out = {0};
        lazy_shard_rule g = {.row = lazy_ops[find_op(cases[c].name)],
                             .mesh = &mesh,
                             .nin = 2,
                             .in = in,
                             .out = &out,
                             .nattrs = cases[c].nattrs,
                             .attrs = cases[c].attrs,
                             .want = want,
                             .block_attrs = block_attrs};
        CHECK_EQ(g.row->shape(&(lazy_call_desc){2, in, g.nattrs, g.attrs}, &out), 0);
        CHECK_EQ(mesh_shard_plan(&g), 0);
        CHECK(strcmp(say_split(&want[0], text), cases[c].want) == 0);
        CHECK(strcmp(say_split(&g.result, text), cases[c].result) == 0);
        CHECK_EQ(g.combine, -1);
    }
}

int main(void) {
    test_maps();
    test_reductions();
    test_views();
    test_reshapes();
    test_products();
    test_assemblies();
    test_others();
    test_no_rule();
    test_collectives();
    return check_end();
}
