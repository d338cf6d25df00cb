/* conv_dnnl.c: convolutions of f32 by oneDNN, versions 2, loaded at run time.
 *
 * Built without oneDNN's headers (NEAP_HAVE_DNNL), this says that the library is not there; so it does where the
 * library of that version is not installed. Its own threads are never used: each thread that calls it first tells its
 * OpenMP runtime to use one, so a result does not depend on how many there are. The library chooses the layout of the
 * kernel; images stay as they are. It keeps what it has compiled for earlier calls (its primitive cache). */
#include "engine/libs/conv.h"

#ifndef NEAP_HAVE_DNNL

bool engine_conv_dnnl_there(void) {
    return false;
}

bool engine_conv_dnnl(const neap_run *run, engine_conv_kind kind, const engine_conv_args *args) {
    (void)run, (void)kind, (void)args;
    return false;
}

const char *engine_conv_library(void) {
    return "none: convolutions are products of matrices, which is slower. Install libdnnl-dev and build neap again";
}

#else

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdio.h>

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
    X(memory_desc_init_by_strides)                                                                                     \
    X(memory_desc_equal)                                                                                               \
    X(memory_desc_get_size)                                                                                            \
    X(dilated_convolution_forward_desc_init)                                                                           \
    X(dilated_convolution_backward_data_desc_init)                                                                     \
    X(dilated_convolution_backward_weights_desc_init)                                                                  \
    X(reorder_primitive_desc_create)                                                                                   \
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
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    bool complete = true;
#define DNNL_FIND(field)                                                                                               \
    *(void **)&lib.field = dlsym(library, "dnnl_" #field);                                                             \
    complete = complete && lib.field;
    DNNL_FUNCTIONS(DNNL_FIND)
#undef DNNL_FIND
    *(void **)&lib.set_threads = dlsym(library, "omp_set_num_threads");
    if (!complete || !lib.set_threads || lib.version()->major != DNNL_VERSION_MAJOR ||
        lib.engine_create(&lib.engine, dnnl_cpu, 0) != dnnl_success)
        return;
    lib.there = true;
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

/* ---- Descriptions of memory -------------------------------------------------------------------------------------- */
typedef struct tensor { /* an operand as it lies in memory, and as the library wants it */
    dnnl_memory_desc_t own, wanted;
    void *data, *copy; /* copy: in the wanted form, NULL: they are the same */
    size_t bytes;
    dnnl_memory_t memory; /* over the copy or the data */
    int arg;
} tensor;

/* Images with the channels last, as (batch, channels, spatial…), which is the library's order of axes. */
static bool describe_images(tensor *t, const engine_conv_args *a, const int64_t *extents, int64_t channels) {
    dnnl_dims_t dims = {a->batch, channels}, strides = {0, 1};
    int64_t row = channels;
    for (int k = a->ndim - 1; k >= 0; k--) {
        dims[2 + k] = extents[k];
        strides[2 + k] = row;
        row *= extents[k];
    }
    strides[0] = row;
    return lib.memory_desc_init_by_strides(&t->own, a->ndim + 2, dims, dnnl_f32, strides) == dnnl_success;
}

/* A kernel as (groups, features of one, channels of one, spatial…). */
static bool describe_kernel(tensor *t, const engine_conv_args *a) {
    int64_t channels = a->channels / a->groups, features = a->features / a->groups;
    dnnl_dims_t dims = {a->groups, features, channels}, strides = {features, 1, a->features};
    int64_t row = channels * a->features;
    for (int k = a->ndim - 1; k >= 0; k--) {
        dims[3 + k] = a->kernel[k];
        strides[3 + k] = row;
        row *= a->kernel[k];
    }
    return lib.memory_desc_init_by_strides(&t->own, a->ndim + 3, dims, dnnl_f32, strides) == dnnl_success;
}

/* ---- One call ---------------------------------------------------------------------------------------------------- */
typedef struct dnnl_job {
    const neap_run *run;
    const engine_conv_args *args;
    engine_conv_kind kind;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t forward, desc; /* forward: a hint for those of derivatives */
    dnnl_primitive_t primitive;
    tensor x, w, y;
} dnnl_job;

static dnnl_status_t describe_call(dnnl_job *j, engine_conv_kind kind, dnnl_convolution_desc_t *out) {
    const engine_conv_args *a = j->args;
    dnnl_memory_desc_t any = j->w.own; /* the library chooses the kernel's layout */
    any.format_kind = dnnl_format_kind_any;
    dnnl_dims_t strides = {0}, dilates = {0}, low = {0}, high = {0};
    for (int k = 0; k < a->ndim; k++) {
        strides[k] = a->stride[k];
        dilates[k] = a->dilation[k] - 1;
        low[k] = a->low[k];
        high[k] = a->high[k];
    }
    const dnnl_memory_desc_t *x = &j->x.own, *y = &j->y.own;
    switch (kind) {
    case ENGINE_CONV_FORWARD:
        return lib.dilated_convolution_forward_desc_init(out, dnnl_forward_training, dnnl_convolution_direct, x, &any,
                                                         NULL, y, strides, dilates, low, high);
    case ENGINE_CONV_INPUT:
        return lib.dilated_convolution_backward_data_desc_init(out, dnnl_convolution_direct, x, &any, y, strides,
                                                               dilates, low, high);
    default:
        return lib.dilated_convolution_backward_weights_desc_init(out, dnnl_convolution_direct, x, &any, NULL, y,
                                                                  strides, dilates, low, high);
    }
}

static bool make_primitive(dnnl_job *j) {
    dnnl_convolution_desc_t desc;
    if (describe_call(j, ENGINE_CONV_FORWARD, &desc) != dnnl_success ||
        lib.primitive_desc_create(&j->forward, &desc, NULL, lib.engine, NULL) != dnnl_success)
        return false;
    dnnl_primitive_desc_t chosen = j->forward;
    if (j->kind != ENGINE_CONV_FORWARD) {
        if (describe_call(j, j->kind, &desc) != dnnl_success ||
            lib.primitive_desc_create(&j->desc, &desc, NULL, lib.engine, j->forward) != dnnl_success)
            return false;
        chosen = j->desc;
    }
    j->x.wanted = j->x.own;
    j->y.wanted = j->y.own;
    dnnl_query_t query = j->kind == ENGINE_CONV_KERNEL ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    j->w.wanted = *lib.primitive_desc_query_md(chosen, query, 0);
    return lib.primitive_create(&j->primitive, chosen) == dnnl_success;
}

static bool execute(dnnl_job *j, dnnl_primitive_t primitive, int n, const dnnl_exec_arg_t *args) {
    return lib.primitive_execute(primitive, j->stream, n, args) == dnnl_success &&
           lib.stream_wait(j->stream) == dnnl_success;
}

/* From one form of an operand to the other. */
static bool reorder(dnnl_job *j, const tensor *t, bool back) {
    dnnl_memory_t own = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    const dnnl_memory_desc_t *from = back ? &t->wanted : &t->own, *to = back ? &t->own : &t->wanted;
    bool done = lib.memory_create(&own, &t->own, lib.engine, t->data) == dnnl_success &&
                lib.reorder_primitive_desc_create(&desc, from, lib.engine, to, lib.engine, NULL) == dnnl_success &&
                lib.primitive_create(&primitive, desc) == dnnl_success;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, back ? t->memory : own}, {DNNL_ARG_TO, back ? own : t->memory}};
    done = done && execute(j, primitive, 2, args);
    lib.primitive_destroy(primitive);
    lib.primitive_desc_destroy(desc);
    lib.memory_destroy(own);
    return done;
}

static bool open_tensor(dnnl_job *j, tensor *t, void *data, bool is_result) {
    t->data = data;
    if (!lib.memory_desc_equal(&t->own, &t->wanted)) {
        t->bytes = lib.memory_desc_get_size(&t->wanted);
        if (neap_run_alloc(j->run, t->bytes, &t->copy) != 0)
            return false;
    }
    if (lib.memory_create(&t->memory, &t->wanted, lib.engine, t->copy ? t->copy : data) != dnnl_success)
        return false;
    return !t->copy || is_result || reorder(j, t, false);
}

static void close_tensor(dnnl_job *j, tensor *t) {
    lib.memory_destroy(t->memory);
    if (t->copy)
        neap_run_free(j->run, t->copy, t->bytes);
}

static bool compute(dnnl_job *j) {
    const engine_conv_args *a = j->args;
    static const int arguments[][3] = {
        [ENGINE_CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        [ENGINE_CONV_INPUT] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
        [ENGINE_CONV_KERNEL] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
    };
    if (!describe_images(&j->x, a, a->in, a->channels) || !describe_kernel(&j->w, a) ||
        !describe_images(&j->y, a, a->out, a->features) || !make_primitive(j) ||
        lib.stream_create(&j->stream, lib.engine, dnnl_stream_default_flags) != dnnl_success)
        return false;
    bool done = open_tensor(j, &j->x, a->x, false) && open_tensor(j, &j->y, a->y, false) &&
                open_tensor(j, &j->w, a->w, j->kind == ENGINE_CONV_KERNEL);
    const int *arg = arguments[j->kind];
    dnnl_exec_arg_t args[] = {{arg[0], j->x.memory}, {arg[1], j->w.memory}, {arg[2], j->y.memory}};
    done = done && execute(j, j->primitive, 3, args);
    return done && (j->kind != ENGINE_CONV_KERNEL || !j->w.copy || reorder(j, &j->w, true));
}

bool engine_conv_dnnl(const neap_run *run, engine_conv_kind kind, const engine_conv_args *args) {
    static _Thread_local bool told;
    if (!engine_conv_dnnl_there())
        return false;
    if (!told)
        lib.set_threads(1);
    told = true;
    dnnl_job j = {.run = run, .args = args, .kind = kind};
    bool done = compute(&j);
    close_tensor(&j, &j.x);
    close_tensor(&j, &j.w);
    close_tensor(&j, &j.y);
    lib.primitive_destroy(j.primitive);
    lib.primitive_desc_destroy(j.desc);
    lib.primitive_desc_destroy(j.forward);
    if (j.stream)
        lib.stream_destroy(j.stream);
    return done;
}

#endif
