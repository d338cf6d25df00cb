/* libraries.c: finding cuBLAS, cuSOLVER, cuFFT, cuDNN and NCCL when they are first needed, and running routines.
 *
 *      lacks?  ── the library ── dlopen ── its functions ── its handle ──▶ NULL, or a reason that stays
 *      run     ── the device's lock of the library ──▶ products.c and its kin: calls of the library on the stream
 */
#include "engine/cuda/cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cublas_functions cublas;
cusolver_functions cusolver;
cufft_functions cufft;
cudnn_functions cudnn;
nccl_functions nccl;

typedef struct wanted {
    const char *name;
    void *to; /* the pointer that gets the address */
} wanted;

#define WANTED_BLAS(name, parameters) {#name, &cublas.name},
#define WANTED_BLAS_TYPED(name, member, parameters) {#name, &cublas.of[type].member},
#define WANTED_SOLVER(name, parameters) {#name, &cusolver.name},
#define WANTED_SOLVER_TYPED(name, member, parameters) {#name, &cusolver.of[type].member},
#define WANTED_FFT(name, parameters) {#name, &cufft.name},
#define WANTED_FFT_TYPED(name, member, parameters) {#name, &cufft.of[type].member},

#define WANTED_DNN(name, parameters) {#name, &cudnn.name},
#define WANTED_NCCL(name, parameters) {#name, &nccl.name},

/* Fills the table of a library. NULL, or the name of the first function that is missing. */
static const char *find(void *library, const wanted *functions, size_t n) {
    for (size_t k = 0; k < n; k++) {
        void *address = dlsym(library, functions[k].name);
        if (!address)
            return functions[k].name;
        memcpy(functions[k].to, &address, sizeof address);
    }
    return NULL;
}

#define FIND(library, ...)                                                                                             \
    do {                                                                                                               \
        const wanted functions[] = {__VA_ARGS__};                                                                      \
        const char *missing = find(library, functions, sizeof functions / sizeof *functions);                          \
        if (missing)                                                                                                   \
            return missing;                                                                                            \
    } while (0)
#define FIND_BLAS(library, letter, index)                                                                              \
    do {                                                                                                               \
        enum { type = index };                                                                                         \
        FIND(library, CUBLAS_TYPED_FUNCTIONS(WANTED_BLAS_TYPED, letter, void));                                        \
    } while (0)
#define FIND_SOLVER(library, letter, index, O, H)                                                                      \
    do {                                                                                                               \
        enum { type = index };                                                                                         \
        FIND(library, CUSOLVER_TYPED_FUNCTIONS(WANTED_SOLVER_TYPED, letter, void, void, O, H));                        \
    } while (0)
#define FIND_FFT(library, F, Z, index)                                                                                 \
    do {                                                                                                               \
        enum { type = index };                                                                                         \
        FIND(library, CUFFT_TYPED_FUNCTIONS(WANTED_FFT_TYPED, F, Z, void, void));                                      \
    } while (0)

static const char *find_blas(void *library) {
    FIND(library, CUBLAS_FUNCTIONS(WANTED_BLAS));
    FIND_BLAS(library, S, CUBLAS_S);
    FIND_BLAS(library, D, CUBLAS_D);
    FIND_BLAS(library, C, CUBLAS_C);
    FIND_BLAS(library, Z, CUBLAS_Z);
    return NULL;
}

static const char *find_solver(void *library) {
    FIND(library, CUSOLVER_FUNCTIONS(WANTED_SOLVER));
    FIND_SOLVER(library, S, CUBLAS_S, or, sy);
    FIND_SOLVER(library, D, CUBLAS_D, or, sy);
    FIND_SOLVER(library, C, CUBLAS_C, un, he);
    FIND_SOLVER(library, Z, CUBLAS_Z, un, he);
    return NULL;
}

static const char *find_fft(void *library) {
    FIND(library, CUFFT_FUNCTIONS(WANTED_FFT));
    FIND_FFT(library, R, C, 0);
    FIND_FFT(library, D, Z, 1);
    return NULL;
}

static const char *find_dnn(void *library) {
    FIND(library, CUDNN_FUNCTIONS(WANTED_DNN) WANTED_DNN(cudnnGetErrorString, ));
    return NULL;
}

static const char *find_nccl(void *library) {
    FIND(library, NCCL_FUNCTIONS(WANTED_NCCL) WANTED_NCCL(ncclGetErrorString, ));
    return NULL;
}

static int blas_version(int property, int *out) {
    return cublas.cublasGetProperty(property, out);
}

static int solver_version(int property, int *out) {
    return cusolver.cusolverGetProperty(property, out);
}

static int fft_version(int property, int *out) {
    return cufft.cufftGetProperty(property, out);
}

static int dnn_version(int property, int *out) {
    return cudnn.cudnnGetProperty(property, out);
}

/* 2.28.3 is 22803. */
static int nccl_version(int property, int *out) {
    static const int parts[] = {10000, 100, 1};
    int version = 0, status = nccl.ncclGetVersion(&version);
    *out = property == MAJOR_VERSION ? version / parts[0] : version / parts[property] % 100;
    return status;
}

/* ---- Libraries --------------------------------------------------------------------------------------------------- */

enum { BLAS, SOLVER, FFT, DNN, NCCL, LIBRARIES, FILES = 2 };

static struct library {
    const char *name;
    const char *files[FILES]; /* the newest first; NULL: no other */
    int newest_wants;         /* of the driver: a version of CUDA, for the first file */
    const char *(*find)(void *library);
    int (*version)(int property, int *out);
    _Atomic bool tried;
    const char *file;            /* that was loaded */
    char lacks[CUDA_TEXT_BYTES]; /* empty: it is there */
} libraries[LIBRARIES] = {
    [BLAS] = {.name = "cuBLAS",
              .files = {"libcublas.so.13", "libcublas.so.12"},
              .newest_wants = 13,
              .find = find_blas,
              .version = blas_version},
    [SOLVER] = {.name = "cuSOLVER",
                .files = {"libcusolver.so.12", "libcusolver.so.11"},
                .newest_wants = 13,
                .find = find_solver,
                .version = solver_version},
    [FFT] = {.name = "cuFFT",
             .files = {"libcufft.so.12", "libcufft.so.11"},
             .newest_wants = 13,
             .find = find_fft,
             .version = fft_version},
    [DNN] = {.name = "cuDNN", .files = {"libcudnn.so.9", "libcudnn.so.8"}, .find = find_dnn, .version = dnn_version},
    [NCCL] = {.name = "NCCL", .files = {"libnccl.so.2"}, .find = find_nccl, .version = nccl_version},
};
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Loads a file of a library, by a path or as the system's loader finds it. What keeps it from that is told in
 * `lacks`, which stays as it is where there is no such file. */
static void *open_path(struct library *library, const char *file, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *text = handle ? NULL : dlerror();
    if (text && !(strstr(text, path) == text && strstr(text, "No such file")))
        snprintf(library->lacks, sizeof library->lacks, "%s cannot be loaded: %s", file, text);
    return handle;
}

/* The same in the folders of a pattern. */
static void *open_in(struct library *library, const char *file, const char *pattern) {
    char path[PATH_MAX];
    glob_t found = {0};
    void *handle = NULL;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t k = 0; k < found.gl_pathc && !handle; k++)
            if (snprintf(path, sizeof path, "%s/%s", found.gl_pathv[k], file) < PATH_MAX && access(path, R_OK) == 0)
                handle = open_path(library, file, path);
    globfree(&found);
    return handle;
}

/* The same in each folder of a list, with something behind its name. */
static void *open_in_list(struct library *library, const char *file, const char *list, const char *behind) {
    char pattern[PATH_MAX];
    void *handle = NULL;
    while (list && *list && !handle) {
        const int length = (int)strcspn(list, ":");
        if (length > 0 && snprintf(pattern, sizeof pattern, "%.*s%s", length, list, behind) < PATH_MAX)
            handle = open_in(library, file, pattern);
        list += length + (list[length] == ':');
    }
    return handle;
}

/* In the folders that NEAP_CUDA_LIBRARIES names, and nowhere else; without it where the system's loader looks, in the
 * toolkit, and in packages of the Pythons on the path, where PyTorch and JAX have theirs. */
static void *open_file(struct library *library, const char *file) {
    const char *folders = getenv("NEAP_CUDA_LIBRARIES");
    void *handle = NULL;
    library->lacks[0] = '\0';
    if (folders) {
        handle = open_in_list(library, file, folders, "");
    } else if (!cuda.neap_stands_in) {
        handle = open_path(library, file, file);
        if (!handle)
            handle = open_in_list(library, file, getenv("CUDA_HOME"), "/lib64");
        if (!handle)
            handle = open_in(library, file, "/usr/local/cuda/lib64");
        if (!handle)
            handle = open_in_list(library, file, getenv("PATH"), "/../lib/python3*/*-packages/nvidia/*/lib");
    }
    if (handle)
        library->file = file;
    else if (!library->lacks[0])
        snprintf(library->lacks, sizeof library->lacks, "%s is not installed", file);
    return handle;
}

/* What a file lacks to be used; empty: nothing. */
static void try_file(struct library *library, const char *file) {
    void *handle = open_file(library, file);
    if (!handle)
        return;
    const char *missing = library->find(handle);
    library->lacks[0] = '\0';
    if (missing)
        snprintf(library->lacks, sizeof library->lacks, "%s has no %s", file, missing);
}

/* Of the files that the driver may serve the newest one that can be used; what the newest lacks is told. */
static void load(struct library *library) {
    int driver = 0, first = 0;
    char lacks[CUDA_TEXT_BYTES];
    if (cuda.cuDriverGetVersion(&driver) == CUDA_SUCCESS && driver / 1000 < library->newest_wants)
        first = 1;
    try_file(library, library->files[first]);
    for (int k = first + 1; k < FILES && library->files[k] && library->lacks[0]; k++) {
        memcpy(lacks, library->lacks, sizeof lacks);
        try_file(library, library->files[k]);
        if (library->lacks[0])
            memcpy(library->lacks, lacks, sizeof lacks);
    }
}

/* NULL, or why the library cannot be used, for ever. */
static const char *library_lacks(struct library *library) {
    if (!library->tried) {
        pthread_mutex_lock(&load_mutex);
        if (!library->tried)
            load(library);
        library->tried = true;
        pthread_mutex_unlock(&load_mutex);
    }
    return library->lacks[0] ? library->lacks : NULL;
}

const char *cuda_nccl_lacks(void) {
    return library_lacks(&libraries[NCCL]);
}

const char *cuda_keep_text(const char *text) {
    static struct kept {
        struct kept *next;
        char text[CUDA_TEXT_BYTES];
    } * kept;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    struct kept *each = kept;
    while (each && strcmp(each->text, text) != 0)
        each = each->next;
    if (!each && (each = calloc(1, sizeof *each)) != NULL) {
        snprintf(each->text, sizeof each->text, "%s", text);
        each->next = kept;
        kept = each;
    }
    pthread_mutex_unlock(&mutex);
    return each ? each->text : "a library does not start";
}

void cuda_device_libraries(neap_device *device, char *text, size_t bytes) {
    (void)device;
    size_t at = 0;
    for (int k = 0; k < LIBRARIES && at < bytes; k++) {
        const char *lacks = library_lacks(&libraries[k]), *between = k ? "; " : "";
        int version[3] = {0};
        for (int part = 0; part < 3 && !lacks; part++)
            libraries[k].version(part, &version[part]);
        int wrote = lacks ? snprintf(text + at, bytes - at, "%sno %s: %s", between, libraries[k].name, lacks)
                          : snprintf(text + at, bytes - at, "%s%s %d.%d.%d, %s", between, libraries[k].name, version[0],
                                     version[1], version[2], libraries[k].file);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* ---- Failures and scratch memory --------------------------------------------------------------------------------- */

/* What a library says of a lost device is vague: the driver knows. */
int cuda_library_error(cuda_stream *stream, const char *function, const char *status, bool memory) {
    CUresult result = cuda.cuStreamQuery(stream->stream);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        return cuda_check(stream->device, result, function);
    if (memory) { /* which the library asks the driver for, past the pool */
        cuda.cuMemPoolTrimTo(stream->device->pool, 0);
        return neap->error(NEAP_E_MEMORY, "out of memory on cuda:%d: %s: %s", stream->device->ordinal, function,
                           status);
    }
    return neap->error(NEAP_E_LIBRARY, "%s: %s", function, status);
}

int cuda_scratch_alloc(cuda_stream *stream, size_t bytes, CUdeviceptr *out) {
    return cuda_pool_alloc(stream->device, stream->stream, bytes, out);
}

void cuda_scratch_free(cuda_stream *stream, CUdeviceptr memory) {
    if (memory)
        cuda_check(stream->device, cuda.cuMemFreeAsync(memory, stream->stream), "cuMemFreeAsync");
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

/* NULL, or why a library that has handles does not start on the device. */
static const char *does_not_start(cuda_device *device, int library, enum cuda_lock lock,
                                  const char *(*start)(cuda_device *device)) {
    char text[CUDA_TEXT_BYTES];
    if (cuda_enter(device) != NEAP_OK)
        return "the device is lost";
    pthread_mutex_lock(&device->libraries.locks[lock]);
    const char *status = start(device);
    pthread_mutex_unlock(&device->libraries.locks[lock]);
    cuda_leave();
    if (!status)
        return NULL;
    snprintf(text, sizeof text, "%s does not start: %s", libraries[library].file, status);
    return cuda_keep_text(text);
}

/* Of systems and factors. */
static bool is_too_large(const neap_routine *routine) {
    if (routine->what == NEAP_ROUTINE_SYSTEM)
        return routine->system.n > CUDA_ROWS_MOST || routine->system.k > INT32_MAX;
    return routine->factor.m > CUDA_ROWS_MOST || routine->factor.n > CUDA_ROWS_MOST;
}

enum { F16_FROM = 70, BF16_FROM = 80 }; /* compute capabilities: tensor cores for these */

/* NULL, or why halves are multiplied as f32. */
static const char *halves_lack(const cuda_device *device, const neap_routine *routine) {
    const char *wish = getenv("NEAP_TENSOR_CORES");
    if (wish && strcmp(wish, "0") == 0)
        return "NEAP_TENSOR_CORES=0 is in the environment";
    return device->capability >= (routine->half == NEAP_HALF_F16 ? F16_FROM : BF16_FROM)
               ? NULL
               : "the GPU has no tensor cores for halves";
}

static const char *convolution_lacks(cuda_device *device, const neap_routine *routine) {
    if (cuda_convolution_is_too_large(routine))
        return "cuDNN counts elements in 32 bits";
    const char *lacks = library_lacks(&libraries[DNN]);
    if (!lacks && !device->libraries.dnn)
        lacks = does_not_start(device, DNN, CUDA_LOCK_DNN, cuda_dnn_start);
    return lacks || !routine->half ? lacks : cuda_convolution_lacks(device, routine);
}

const char *cuda_routine_lacks(neap_device *handle, const neap_routine *routine) {
    cuda_device *device = (cuda_device *)handle;
    if (routine->what == NEAP_ROUTINE_FOURIER && routine->fourier.n == 1)
        return "transforms of one element are not for libraries";
    if (routine->what == NEAP_ROUTINE_FOURIER)
        return library_lacks(&libraries[FFT]);
    const char *lacks = routine->half ? halves_lack(device, routine) : NULL;
    if (lacks)
        return lacks;
    if (routine->what == NEAP_ROUTINE_CONVOLUTION)
        return convolution_lacks(device, routine);
    lacks = library_lacks(&libraries[BLAS]);
    if (!lacks && !device->libraries.blas.handle)
        lacks = does_not_start(device, BLAS, CUDA_LOCK_BLAS, cuda_blas_start);
    if (lacks || (routine->what != NEAP_ROUTINE_SYSTEM && routine->what != NEAP_ROUTINE_FACTOR))
        return lacks;
    if (is_too_large(routine))
        return "the matrix is too large for libraries";
    lacks = library_lacks(&libraries[SOLVER]);
    return lacks || device->libraries.solver ? lacks
                                             : does_not_start(device, SOLVER, CUDA_LOCK_SOLVER, cuda_solver_start);
}

int cuda_routine_run(neap_device *handle, neap_stream *handle_of_stream, const neap_routine *routine) {
    static const struct {
        int (*run)(cuda_stream *stream, const neap_routine *routine);
        enum cuda_lock lock;
    } routines[] = {[NEAP_ROUTINE_PRODUCT] = {cuda_product_run, CUDA_LOCK_BLAS},
                    [NEAP_ROUTINE_TRIANGULAR] = {cuda_triangular_run, CUDA_LOCK_BLAS},
                    [NEAP_ROUTINE_SYSTEM] = {cuda_system_run, CUDA_LOCK_SOLVER},
                    [NEAP_ROUTINE_FACTOR] = {cuda_factor_run, CUDA_LOCK_SOLVER},
                    [NEAP_ROUTINE_FOURIER] = {cuda_fourier_run, CUDA_LOCK_FFT},
                    [NEAP_ROUTINE_CONVOLUTION] = {cuda_convolution_run, CUDA_LOCK_DNN}};
    cuda_device *device = (cuda_device *)handle;
    pthread_mutex_t *lock = &device->libraries.locks[routines[routine->what].lock];
    int status = cuda_enter(device);
    if (status)
        return status;
    pthread_mutex_lock(lock);
    status = routines[routine->what].run((cuda_stream *)handle_of_stream, routine);
    pthread_mutex_unlock(lock);
    cuda_leave();
    return status;
}

void cuda_libraries_make(cuda_device *device) {
    for (int k = 0; k < CUDA_LOCKS; k++)
        pthread_mutex_init(&device->libraries.locks[k], NULL);
}

void cuda_libraries_free(cuda_device *device) {
    if (device->libraries.blas.handle)
        cublas.cublasDestroy_v2(device->libraries.blas.handle);
    if (device->libraries.solver_blas.handle)
        cublas.cublasDestroy_v2(device->libraries.solver_blas.handle);
    if (device->libraries.jacobi)
        cusolver.cusolverDnDestroySyevjInfo(device->libraries.jacobi);
    if (device->libraries.solver)
        cusolver.cusolverDnDestroy(device->libraries.solver);
    cuda_plans_free(device);
    cuda_convolutions_free(device);
    for (int k = 0; k < CUDA_LOCKS; k++)
        pthread_mutex_destroy(&device->libraries.locks[k]);
}
