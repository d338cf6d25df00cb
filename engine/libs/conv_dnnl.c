/* conv_dnnl.c: convolutions of f32 by oneDNN, versions 2, loaded at run time.
 *
 * Built without oneDNN's headers (NEAP_HAVE_DNNL), this says that the library is not there; so it does where the
 * library of that version is not installed. Its own threads are never used: each thread that calls it first tells its
 * OpenMP runtime to use one, so a result does not depend on how many there are. The library chooses the layout of the
 * kernel; images stay as they are. It keeps what it has compiled for earlier calls (its primitive cache). */
#include "engine/libs/conv.h"
#include "engine/libs/library.h"

#ifndef NEAP_HAVE_DNNL

bool engine_conv_dnnl_there(void) {
    return false;
}

engine_conv_call *engine_conv_dnnl_open(neap_convolution_kind kind, const neap_convolution *args,
                                        const engine_conv_call *like) {
    (void)kind, (void)args, (void)like;
    return NULL;
}

size_t engine_conv_dnnl_kernel_bytes(const engine_conv_call *call) {
    (void)call;
    return 0;
}

bool engine_conv_dnnl_copy(const engine_conv_call *call, void *plain, void *copy) {
    (void)call, (void)plain, (void)copy;
    return false;
}

bool engine_conv_dnnl_run(const neap_run *run, engine_conv_call *call, void *x, void *w, void *y) {
    (void)run, (void)call, (void)x, (void)w, (void)y;
    return false;
}

engine_conv_stand *engine_conv_dnnl_begin(const neap_run *run, engine_conv_call *call, void *w) {
    (void)run, (void)call, (void)w;
    return NULL;
}

bool engine_conv_dnnl_step(engine_conv_stand *stand, void *x, void *y) {
    (void)stand, (void)x, (void)y;
    return false;
}

void engine_conv_dnnl_end(engine_conv_stand *stand) {
    (void)stand;
}

void engine_conv_dnnl_close(engine_conv_call *call) {
    (void)call;
}

const char *engine_conv_library(void) {
    return "none: convolutions are products of matrices, which is slower. Install libdnnl-dev and build neap again";
}

#else

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/device.h"

/* The functions that are used, without their prefix. */
#define DNNL_FUNCTIONS(X)                                                                                              \
    X(version)                                                                                                         \
    X(engine_create)                                                                                                   \
    X(stream_create)                                                                                                   \
    X(stream_wait)                                                                                                     \
    X(stream_destroy)                                                                                                  \
    X(memory_create)                                                                                                   \
    X(memory_destroy)                                                                                                  \
    X(memory_set_data_handle)                                                                                          \
    X(memory_desc_init_by_strides)                                                                                     \
    X(memory_desc_equal)                                                                                               \
    X(memory_desc_get_size)                                                                                            \
    X(dilated_convolution_forward_desc_init)                                                                           \
    X(dilated_convolution_backward_data_desc_init)                                                                     \
    X(dilated_convolution_backward_weights_desc_init)                                                                  \
    X(reorder_primitive_desc_create)                                                                                   \
    X(primitive_attr_create)                                                                                           \
    X(primitive_attr_set_scratchpad_mode)                                                                              \
    X(primitive_attr_destroy)                                                                                          \
    X(primitive_desc_create)                                                                                           \
    X(primitive_desc_destroy)                                                                                          \
    X(primitive_desc_query_md)                                                                                         \
    X(primitive_create)                                                                                                \
    X(primitive_execute)                                                                                               \
    X(primitive_destroy)

static struct {
    pthread_once_t once;
    bool there;
    dnnl_engine_t engine;
    void (*set_threads)(int); /* of the OpenMP runtime that the library brings */
#define DNNL_FIELD(name) __typeof__(&dnnl_##name) name;
    DNNL_FUNCTIONS(DNNL_FIELD)
#undef DNNL_FIELD
} lib = {.once = PTHREAD_ONCE_INIT};

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
static void load_dnnl(void) {
#define DNNL_SYMBOL(field) {"dnnl_" #field, &lib.field},
    static const engine_symbol symbols[] = {DNNL_FUNCTIONS(DNNL_SYMBOL){"omp_set_num_threads", &lib.set_threads}};
#undef DNNL_SYMBOL
    lib.there = engine_library_load("libdnnl.so.2", sizeof symbols / sizeof *symbols, symbols) &&
                lib.version()->major == DNNL_VERSION_MAJOR &&
                lib.engine_create(&lib.engine, dnnl_cpu, 0) == dnnl_success;
}

bool engine_conv_dnnl_there(void) {
    pthread_once(&lib.once, load_dnnl);
    return lib.there;
}

const char *engine_conv_library(void) {
    if (!engine_conv_dnnl_there())
        return "none: libdnnl.so.2 is not there, so convolutions are products of matrices, which is slower. Install "
               "libdnnl2";
    static char text[64]; /* all threads write the same */
    const dnnl_version_t *version = lib.version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

/* Before anything is made or run: sums are cut by the number of threads that the making one may use. */
static void use_one_thread(void) {
    static _Thread_local bool told;
    if (!told)
        lib.set_threads(1);
    told = true;
}

/* ---- Descriptions of memory -------------------------------------------------------------------------------------- */
/* Images with the channels last, as (batch, channels, spatial…), which is the library's order of axes. */
static bool describe_images(dnnl_memory_desc_t *out, const neap_convolution *a, const int64_t *extents,
                            int64_t channels) {
    dnnl_dims_t dims = {a->batch, channels}, strides = {0, 1};
    int64_t row = channels;
    for (int k = a->ndim - 1; k >= 0; k--) {
        dims[2 + k] = extents[k];
        strides[2 + k] = row;
        row *= extents[k];
    }
    strides[0] = row;
    return lib.memory_desc_init_by_strides(out, a->ndim + 2, dims, dnnl_f32, strides) == dnnl_success;
}

/* A kernel as (groups, features of one, channels of one, spatial…). */
static bool describe_kernel(dnnl_memory_desc_t *out, const neap_convolution *a) {
    int64_t channels = a->channels / a->groups, features = a->features / a->groups;
    dnnl_dims_t dims = {a->groups, features, channels}, strides = {features, 1, a->features};
    int64_t row = channels * a->features;
    for (int k = a->ndim - 1; k >= 0; k--) {
        dims[3 + k] = a->kernel[k];
        strides[3 + k] = row;
        row *= a->kernel[k];
    }
    return lib.memory_desc_init_by_strides(out, a->ndim + 3, dims, dnnl_f32, strides) == dnnl_success;
}

/* ---- A call ------------------------------------------------------------------------------------------------------ */
struct engine_conv_call {
    neap_convolution_kind kind;
    dnnl_memory_desc_t x, y, w, wanted; /* w: as it lies; wanted: as the library has it */
    dnnl_memory_desc_t scratch;
    dnnl_primitive_desc_t forward, desc; /* forward: a hint for those of derivatives */
    dnnl_primitive_t primitive;
    _Atomic(engine_conv_stand *) idle; /* of an earlier run, for the next one; NULL: none, or a thread has it */
};

static dnnl_status_t describe_call(const engine_conv_call *c, const neap_convolution *a, neap_convolution_kind kind,
                                   const dnnl_memory_desc_t *w, dnnl_convolution_desc_t *out) {
    dnnl_dims_t strides = {0}, dilates = {0}, low = {0}, high = {0};
    for (int k = 0; k < a->ndim; k++) {
        strides[k] = a->stride[k];
        dilates[k] = a->dilation[k] - 1;
        low[k] = a->low[k];
        high[k] = a->high[k];
    }
    switch (kind) {
    case NEAP_CONVOLUTION_FORWARD:
        return lib.dilated_convolution_forward_desc_init(out, dnnl_forward_training, dnnl_convolution_direct, &c->x, w,
                                                         NULL, &c->y, strides, dilates, low, high);
    case NEAP_CONVOLUTION_INPUT:
        return lib.dilated_convolution_backward_data_desc_init(out, dnnl_convolution_direct, &c->x, w, &c->y, strides,
                                                               dilates, low, high);
    default:
        return lib.dilated_convolution_backward_weights_desc_init(out, dnnl_convolution_direct, &c->x, w, NULL, &c->y,
                                                                  strides, dilates, low, high);
    }
}

/* Several threads run one call at once, so its scratch memory must be theirs and not its own. */
static bool make_primitive(engine_conv_call *c, const neap_convolution *a, const dnnl_memory_desc_t *w) {
    dnnl_convolution_desc_t desc;
    dnnl_primitive_attr_t attributes = NULL;
    bool made = lib.primitive_attr_create(&attributes) == dnnl_success &&
                lib.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user) == dnnl_success &&
                describe_call(c, a, NEAP_CONVOLUTION_FORWARD, w, &desc) == dnnl_success &&
                lib.primitive_desc_create(&c->forward, &desc, attributes, lib.engine, NULL) == dnnl_success;
    if (made && c->kind != NEAP_CONVOLUTION_FORWARD) {
        made = describe_call(c, a, c->kind, w, &desc) == dnnl_success &&
               lib.primitive_desc_create(&c->desc, &desc, attributes, lib.engine, c->forward) == dnnl_success;
    }
    lib.primitive_attr_destroy(attributes);
    dnnl_primitive_desc_t chosen = c->desc ? c->desc : c->forward;
    return made && lib.primitive_create(&c->primitive, chosen) == dnnl_success;
}

engine_conv_call *engine_conv_dnnl_open(neap_convolution_kind kind, const neap_convolution *args,
                                        const engine_conv_call *like) {
    engine_conv_call *c = engine_conv_dnnl_there() ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return NULL;
    use_one_thread();
    c->kind = kind;
    bool described = describe_images(&c->x, args, args->in, args->channels) && describe_kernel(&c->w, args) &&
                     describe_images(&c->y, args, args->out, args->features);
    dnnl_memory_desc_t any = c->w;
    any.format_kind = dnnl_format_kind_any; /* the library chooses the kernel's layout */
    if (!described || !make_primitive(c, args, like ? &like->wanted : &any)) {
        engine_conv_dnnl_close(c);
        return NULL;
    }
    dnnl_primitive_desc_t chosen = c->desc ? c->desc : c->forward;
    dnnl_query_t query = kind == NEAP_CONVOLUTION_KERNEL ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    c->wanted = *lib.primitive_desc_query_md(chosen, query, 0);
    c->scratch = *lib.primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
    return c;
}

static void free_stand(engine_conv_stand *s);

void engine_conv_dnnl_close(engine_conv_call *c) {
    if (!c)
        return;
    free_stand(atomic_load(&c->idle));
    lib.primitive_destroy(c->primitive);
    lib.primitive_desc_destroy(c->desc);
    lib.primitive_desc_destroy(c->forward);
    free(c);
}

size_t engine_conv_dnnl_kernel_bytes(const engine_conv_call *c) {
    return lib.memory_desc_equal(&c->w, &c->wanted) ? 0 : lib.memory_desc_get_size(&c->wanted);
}

/* ---- Running it -------------------------------------------------------------------------------------------------- */
static bool execute(dnnl_primitive_t primitive, int n, const dnnl_exec_arg_t *args) {
    use_one_thread();
    dnnl_stream_t stream = NULL;
    bool done = lib.stream_create(&stream, lib.engine, dnnl_stream_default_flags) == dnnl_success &&
                lib.primitive_execute(primitive, stream, n, args) == dnnl_success &&
                lib.stream_wait(stream) == dnnl_success;
    if (stream)
        lib.stream_destroy(stream);
    return done;
}

bool engine_conv_dnnl_copy(const engine_conv_call *c, void *plain, void *copy) {
    bool back = c->kind == NEAP_CONVOLUTION_KERNEL;
    dnnl_memory_t own = NULL, other = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    bool done = lib.memory_create(&own, &c->w, lib.engine, plain) == dnnl_success &&
                lib.memory_create(&other, &c->wanted, lib.engine, copy) == dnnl_success &&
                lib.reorder_primitive_desc_create(&desc, back ? &c->wanted : &c->w, lib.engine,
                                                  back ? &c->w : &c->wanted, lib.engine, NULL) == dnnl_success &&
                lib.primitive_create(&primitive, desc) == dnnl_success;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, back ? other : own}, {DNNL_ARG_TO, back ? own : other}};
    done = done && execute(primitive, 2, args);
    lib.primitive_destroy(primitive);
    lib.primitive_desc_destroy(desc);
    lib.memory_destroy(own);
    lib.memory_destroy(other);
    return done;
}

struct engine_conv_stand {
    const neap_run *run;
    engine_conv_call *call;
    dnnl_stream_t stream;
    dnnl_exec_arg_t args[4]; /* x, w and y of the kind, and what the library needs besides */
    void *data[4];           /* of these, as the library knows */
    void *scratch;
    size_t bytes;
};

static void free_stand(engine_conv_stand *s) {
    if (!s)
        return;
    for (int k = 0; k < 4; k++)
        lib.memory_destroy(s->args[k].memory);
    if (s->stream)
        lib.stream_destroy(s->stream);
    free(s);
}

/* The library's objects, without data. They take longer than the call of a small convolution, so a call that stays open
 * has them from its last run. */
static engine_conv_stand *new_stand(engine_conv_call *c) {
    static const int arguments[][4] = {
        [NEAP_CONVOLUTION_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD},
        [NEAP_CONVOLUTION_INPUT] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD},
        [NEAP_CONVOLUTION_KERNEL] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD},
    };
    engine_conv_stand *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (engine_conv_stand){.call = c, .bytes = lib.memory_desc_get_size(&c->scratch)};
    bool done = lib.stream_create(&s->stream, lib.engine, dnnl_stream_default_flags) == dnnl_success;
    const dnnl_memory_desc_t *descs[] = {&c->x, &c->wanted, &c->y, &c->scratch};
    for (int k = 0; k < 4 && done; k++) {
        s->args[k].arg = arguments[c->kind][k];
        done = lib.memory_create(&s->args[k].memory, descs[k], lib.engine, DNNL_MEMORY_NONE) == dnnl_success;
    }
    if (done)
        return s;
    free_stand(s);
    return NULL;
}

static bool set_data(engine_conv_stand *s, int k, void *data) {
    if (s->data[k] != data && lib.memory_set_data_handle(s->args[k].memory, data) != dnnl_success)
        return false;
    s->data[k] = data;
    return true;
}

engine_conv_stand *engine_conv_dnnl_begin(const neap_run *run, engine_conv_call *c, void *w) {
    use_one_thread();
    engine_conv_stand *s = atomic_exchange(&c->idle, NULL);
    s = s ? s : new_stand(c);
    if (!s)
        return NULL;
    s->run = run;
    if ((!s->bytes || neap_run_alloc(run, s->bytes, &s->scratch) == 0) && set_data(s, 1, w) &&
        set_data(s, 3, s->scratch))
        return s;
    engine_conv_dnnl_end(s);
    return NULL;
}

bool engine_conv_dnnl_step(engine_conv_stand *s, void *x, void *y) {
    return set_data(s, 0, x) && set_data(s, 2, y) &&
           lib.primitive_execute(s->call->primitive, s->stream, 4, s->args) == dnnl_success &&
           lib.stream_wait(s->stream) == dnnl_success;
}

void engine_conv_dnnl_end(engine_conv_stand *s) {
    if (!s)
        return;
    if (s->scratch)
        neap_run_free(s->run, s->scratch, s->bytes);
    s->scratch = NULL;
    free_stand(atomic_exchange(&s->call->idle, s));
}

bool engine_conv_dnnl_run(const neap_run *run, engine_conv_call *c, void *x, void *w, void *y) {
    engine_conv_stand *s = engine_conv_dnnl_begin(run, c, w);
    bool done = s && engine_conv_dnnl_step(s, x, y);
    engine_conv_dnnl_end(s);
    return done;
}

#endif
