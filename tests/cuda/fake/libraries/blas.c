/* blas.c: stands in for cuBLAS in tests, as libcublas.so.13: products and systems by plain loops, in the order of the
 * stream. What the backend never asks for is refused loudly. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake/libraries/numbers.h"

#pragma GCC visibility push(default)

struct cublasContext {
    CUcontext context;
    CUstream stream;
    cublasMath_t math;
};

static cublasStatus_t status_of(CUresult result) {
    return result == CUDA_SUCCESS               ? CUBLAS_STATUS_SUCCESS
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION ? 13 : type == MINOR_VERSION ? 1 : 2;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    CUresult result = fake_library_call(__func__);
    const char *refuses = getenv("NEAP_FAKE_BLAS_STARTS");
    if (result)
        return status_of(result);
    if (refuses && strcmp(refuses, "0") == 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    (*handle)->context = fake_library_context();
    fake_library_holds(1);
    return CUBLAS_STATUS_SUCCESS;
}

static void check_handle(const char *name, cublasHandle_t handle) {
    if (!handle || handle->context != fake_library_context())
        fake_complain("%s: no handle of the current device", name);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    check_handle(__func__, handle);
    fake_library_holds(-1);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    CUresult result = fake_library_call(__func__);
    check_handle(__func__, handle);
    if (!result)
        handle->stream = stream;
    return status_of(result);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    CUresult result = fake_library_call(__func__);
    check_handle(__func__, handle);
    if (mode != CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)
        fake_complain("%s: what the backend never asks for", __func__);
    if (!result)
        handle->math = mode;
    return status_of(result);
}

/* What each call begins with that enqueues work. */
static cublasStatus_t begin(const char *name, cublasHandle_t handle) {
    CUresult result = fake_library_call(name);
    check_handle(name, handle);
    if (!handle->stream)
        fake_complain("%s: no stream was set", name);
    return status_of(result);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* With the ten bits that TF32 has. */
static double round_tf32(double x) {
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    bits = (bits + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

typedef struct product {
    uint64_t types[3], tf32, transposed[2];
    int64_t m, n, k, ld[3], stride[3], batch;
} product;

static double _Complex element(const product *p, const void *const *at, int of, int64_t matrix, int64_t row,
                               int64_t column) {
    const int64_t k = p->transposed[of] ? column + row * p->ld[of] : row + column * p->ld[of];
    const double _Complex x = get(at[of], p->types[of], matrix * p->stride[of] + k);
    return p->tf32 ? round_tf32(creal(x)) + I * round_tf32(cimag(x)) : x;
}

static void multiply(void *const *buffers, const uint64_t *words, uint64_t group) {
    product p;
    (void)group;
    memcpy(&p, words, sizeof p);
    const void *const in[2] = {buffers[0], buffers[1]};
    for (int64_t matrix = 0; matrix < p.batch; matrix++)
        for (int64_t j = 0; j < p.n; j++)
            for (int64_t i = 0; i < p.m; i++) {
                double _Complex sum = 0;
                for (int64_t l = 0; l < p.k; l++)
                    sum += element(&p, in, 0, matrix, i, l) * element(&p, in, 1, matrix, l, j);
                put(buffers[2], p.types[2], matrix * p.stride[2] + i + j * p.ld[2], sum);
            }
}

static size_t matrices_bytes(const product *p, int of, int64_t rows, int64_t columns) {
    if (p->ld[of] < (rows > 1 ? rows : 1))
        fake_complain("cublasGemmStridedBatchedEx: leading dimension %d of %d rows", (int)p->ld[of], (int)rows);
    return (size_t)(((p->batch - 1) * p->stride[of] + (columns - 1) * p->ld[of] + rows) * item_bytes[p->types[of]]);
}

static bool is_half(cudaDataType type) {
    return type == CUDA_R_16F || type == CUDA_R_16BF;
}

/* The rows of cuBLAS's table for cublasGemmEx that the backend uses: the operands have one dtype; f32 and halves are
 * computed in f32, halves with a result of theirs or of f32. TF32 is for f32 and c64. */
static bool may_multiply(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
    if (is_half(a))
        return a == b && (c == a || c == CUDA_R_32F) && compute == CUBLAS_COMPUTE_32F;
    if (a == CUDA_R_64F || a == CUDA_C_64F)
        return a == b && a == c && compute == CUBLAS_COMPUTE_64F;
    return a == b && a == c && (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32);
}

/* A result of halves is of sums in f32, and elements lie at multiples of their bytes. */
static void check_halves(const char *name, cublasHandle_t handle, const product *p, const void *const *at) {
    const char *wish = getenv("NEAP_TENSOR_CORES");
    if (wish && strcmp(wish, "0") == 0)
        fake_complain("%s: halves that were to be multiplied as f32", name);
    if (handle->math != CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)
        fake_complain("%s: sums may be added up in halves", name);
    for (int k = 0; k < 3; k++)
        if ((uintptr_t)at[k] % (uintptr_t)item_bytes[p->types[k]])
            fake_complain("%s: matrix %d lies askew", name, k);
}

static bool is_number(const void *factor, uint64_t type, double value) {
    return get(factor, type, 0) == value;
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                                             cublasOperation_t transpose_b, int64_t m, int64_t n, int64_t k,
                                             const void *alpha, const void *a, cudaDataType a_type, int64_t lda,
                                             long long stride_a, const void *b, cudaDataType b_type, int64_t ldb,
                                             long long stride_b, const void *beta, void *c, cudaDataType c_type,
                                             int64_t ldc, long long stride_c, int64_t batch,
                                             cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    static struct CUfunc_st function = {.name = "product", .nbuffers = 3, .entry = multiply};
    cublasStatus_t status = begin(__func__, handle);
    if (status)
        return status;
    const uint64_t scale = is_half(a_type) ? CUDA_R_32F : (uint64_t)a_type;
    if (!may_multiply(a_type, b_type, c_type, compute) || algorithm != CUBLAS_GEMM_DEFAULT || m < 1 || n < 1 || k < 1 ||
        batch < 1 || !is_number(alpha, scale, 1) || !is_number(beta, scale, 0))
        fake_complain("%s: what the backend never asks for", __func__);
    if (batch > 1 && stride_c < ldc * n)
        fake_complain("%s: results overlap", __func__);
    product p = {.types = {(uint64_t)a_type, (uint64_t)b_type, (uint64_t)c_type},
                 .tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32,
                 .transposed = {transpose_a == CUBLAS_OP_T, transpose_b == CUBLAS_OP_T},
                 .m = m,
                 .n = n,
                 .k = k,
                 .ld = {lda, ldb, ldc},
                 .stride = {stride_a, stride_b, stride_c},
                 .batch = batch};
    const fake_use uses[3] = {{a, matrices_bytes(&p, 0, p.transposed[0] ? k : m, p.transposed[0] ? m : k)},
                              {b, matrices_bytes(&p, 1, p.transposed[1] ? n : k, p.transposed[1] ? k : n)},
                              {c, matrices_bytes(&p, 2, m, n)}};
    if (is_half(a_type)) {
        const void *const at[] = {a, b, c};
        check_halves(__func__, handle, &p, at);
        fake_library_half();
    }
    if (a_type == CUDA_R_16BF && fake_library_capability() < 80)
        return CUBLAS_STATUS_ARCH_MISMATCH;
    uint64_t words[sizeof p / sizeof(uint64_t)];
    memcpy(words, &p, sizeof p);
    fake_library_launch(__func__, handle->stream, &function, uses, (int)(sizeof p / sizeof *words), words);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Triangular systems ------------------------------------------------------------------------------------------ */

typedef struct triangular {
    uint64_t type, upper, transposed, unit;
    int64_t m, n, lda, ldb, batch; /* batch 0: the buffers are matrices, else arrays of their addresses */
} triangular;

static double _Complex coefficient(const triangular *t, const void *a, int64_t row, int64_t column) {
    return t->unit && row == column ? 1
                                    : get(a, t->type, t->transposed ? column + row * t->lda : row + column * t->lda);
}

/* Rows x of b with x op(a) = b, of which the triangle alone is read. */
static void solve_rows(const triangular *t, const void *a, void *b) {
    const bool upper = t->upper != t->transposed;
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t step = 0; step < t->n; step++) {
            const int64_t j = upper ? step : t->n - 1 - step;
            double _Complex x = get(b, t->type, i + j * t->ldb);
            for (int64_t l = upper ? 0 : j + 1; l < (upper ? j : t->n); l++)
                x -= get(b, t->type, i + l * t->ldb) * coefficient(t, a, l, j);
            put(b, t->type, i + j * t->ldb, x / coefficient(t, a, j, j));
        }
}

static void solve(void *const *buffers, const uint64_t *words, uint64_t group) {
    triangular t;
    (void)group;
    memcpy(&t, words, sizeof t);
    if (t.batch == 0)
        solve_rows(&t, buffers[0], buffers[1]);
    for (int64_t k = 0; k < t.batch; k++)
        solve_rows(&t, fake_library_address(((void *const *)buffers[0])[k]),
                   fake_library_address(((void *const *)buffers[1])[k]));
}

static cublasStatus_t ask_to_solve(const char *name, cublasHandle_t handle, cublasSideMode_t side, triangular t,
                                   const void *alpha, const void *a, const void *b) {
    static struct CUfunc_st function = {.name = "solve", .nbuffers = 2, .entry = solve};
    cublasStatus_t status = begin(name, handle);
    if (status)
        return status;
    if (side != CUBLAS_SIDE_RIGHT || t.m < 1 || t.n < 1 || t.lda < t.n || t.ldb < t.m || !is_number(alpha, t.type, 1))
        fake_complain("%s: what the backend never asks for", name);
    const int64_t item = item_bytes[t.type];
    const size_t told = (size_t)t.batch * sizeof(void *);
    const fake_use uses[2] = {{a, t.batch ? told : (size_t)(((t.n - 1) * t.lda + t.n) * item)},
                              {b, t.batch ? told : (size_t)(((t.n - 1) * t.ldb + t.m) * item)}};
    uint64_t words[sizeof t / sizeof(uint64_t)];
    memcpy(words, &t, sizeof t);
    fake_library_launch(name, handle->stream, &function, uses, (int)(sizeof t / sizeof *words), words);
    return CUBLAS_STATUS_SUCCESS;
}

#define DEFINE_TRSM(S, number_type)                                                                                    \
    cublasStatus_t cublas##S##trsm_v2_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,      \
                                         cublasOperation_t transpose, cublasDiagType_t diagonal, int64_t m, int64_t n, \
                                         const void *alpha, const void *a, int64_t lda, void *b, int64_t ldb) {        \
        const triangular t = {number_type,                                                                             \
                              triangle == CUBLAS_FILL_MODE_UPPER,                                                      \
                              transpose == CUBLAS_OP_T,                                                                \
                              diagonal == CUBLAS_DIAG_UNIT,                                                            \
                              m,                                                                                       \
                              n,                                                                                       \
                              lda,                                                                                     \
                              ldb,                                                                                     \
                              0};                                                                                      \
        return ask_to_solve(__func__, handle, side, t, alpha, a, b);                                                   \
    }                                                                                                                  \
    cublasStatus_t cublas##S##trsmBatched_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,  \
                                             cublasOperation_t transpose, cublasDiagType_t diagonal, int64_t m,        \
                                             int64_t n, const void *alpha, const void *const a[], int64_t lda,         \
                                             void *const b[], int64_t ldb, int64_t batch) {                            \
        const triangular t = {number_type,                                                                             \
                              triangle == CUBLAS_FILL_MODE_UPPER,                                                      \
                              transpose == CUBLAS_OP_T,                                                                \
                              diagonal == CUBLAS_DIAG_UNIT,                                                            \
                              m,                                                                                       \
                              n,                                                                                       \
                              lda,                                                                                     \
                              ldb,                                                                                     \
                              batch};                                                                                  \
        return ask_to_solve(__func__, handle, side, t, alpha, a, b);                                                   \
    }
DEFINE_TRSM(S, CUDA_R_32F)
DEFINE_TRSM(D, CUDA_R_64F)
DEFINE_TRSM(C, CUDA_C_32F)
DEFINE_TRSM(Z, CUDA_C_64F)

/* ---- Transposed matrices ----------------------------------------------------------------------------------------- */

static void transpose(void *const *buffers, const uint64_t *words, uint64_t group) {
    const uint64_t type = words[0];
    const int64_t m = (int64_t)words[1], n = (int64_t)words[2], lda = (int64_t)words[3], ldc = (int64_t)words[4];
    (void)group;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double _Complex x = get(buffers[0], type, j + i * lda);
            put(buffers[1], type, i + j * ldc, words[5] ? conj(x) : x);
        }
}

static cublasStatus_t ask_to_transpose(const char *name, cublasHandle_t handle, uint64_t type, bool fits,
                                       bool conjugate, int64_t m, int64_t n, const void *a, int64_t lda, const void *c,
                                       int64_t ldc) {
    static struct CUfunc_st function = {.name = "transpose", .nbuffers = 2, .entry = transpose};
    cublasStatus_t status = begin(name, handle);
    if (status)
        return status;
    if (!fits || m < 1 || n < 1 || lda < n || ldc < m)
        fake_complain("%s: what the backend never asks for", name);
    const int64_t item = item_bytes[type];
    const fake_use uses[2] = {{a, (size_t)(((m - 1) * lda + n) * item)}, {c, (size_t)(((n - 1) * ldc + m) * item)}};
    const uint64_t words[] = {type, (uint64_t)m, (uint64_t)n, (uint64_t)lda, (uint64_t)ldc, conjugate};
    fake_library_launch(name, handle->stream, &function, uses, 6, words);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Columns times numbers, and triangles ------------------------------------------------------------------------ */

static void multiply_columns(void *const *buffers, const uint64_t *words, uint64_t group) {
    const uint64_t type = words[0];
    (void)group;
    for (uint64_t j = 0; j < words[2]; j++)
        for (uint64_t i = 0; i < words[1]; i++) {
            const int64_t k = (int64_t)(i + j * words[1]);
            put(buffers[0], type, k, get(buffers[0], type, k) * get(buffers[1], type, (int64_t)j));
        }
}

static cublasStatus_t ask_to_multiply(const char *name, cublasHandle_t handle, uint64_t type, bool fits, int64_t m,
                                      int64_t n, const void *a, const void *x) {
    static struct CUfunc_st function = {.name = "multiply", .nbuffers = 2, .entry = multiply_columns};
    cublasStatus_t status = begin(name, handle);
    if (status)
        return status;
    if (!fits || m < 1 || n < 1)
        fake_complain("%s: what the backend never asks for", name);
    const fake_use uses[2] = {{a, (size_t)(m * n * item_bytes[type])}, {x, (size_t)(n * item_bytes[type])}};
    const uint64_t words[] = {type, (uint64_t)m, (uint64_t)n};
    fake_library_launch(name, handle->stream, &function, uses, 3, words);
    return CUBLAS_STATUS_SUCCESS;
}

/* Between the upper triangle of a and a row of its columns. */
static void pack(void *const *buffers, const uint64_t *words, uint64_t group) {
    int64_t at = 0;
    (void)group;
    for (uint64_t j = 0; j < words[1]; j++)
        for (uint64_t i = 0; i <= j; i++, at++) {
            const int64_t k = (int64_t)(i + j * words[2]);
            if (words[3])
                put(buffers[1], words[0], at, get(buffers[0], words[0], k));
            else
                put(buffers[0], words[0], k, get(buffers[1], words[0], at));
        }
}

static cublasStatus_t ask_to_pack(const char *name, cublasHandle_t handle, uint64_t type, cublasFillMode_t triangle,
                                  bool packs, int n, const void *a, int lda, const void *packed) {
    static struct CUfunc_st function = {.name = "pack", .nbuffers = 2, .entry = pack};
    cublasStatus_t status = begin(name, handle);
    if (status)
        return status;
    if (triangle != CUBLAS_FILL_MODE_UPPER || n < 1 || lda < n)
        fake_complain("%s: what the backend never asks for", name);
    const int64_t item = item_bytes[type], rows = n;
    const fake_use uses[2] = {{a, (size_t)(((rows - 1) * lda + rows) * item)},
                              {packed, (size_t)(rows * (rows + 1) / 2 * item)}};
    const uint64_t words[] = {type, (uint64_t)n, (uint64_t)lda, packs};
    fake_library_launch(name, handle->stream, &function, uses, 4, words);
    return CUBLAS_STATUS_SUCCESS;
}

#define DEFINE_COLUMNS(S, type)                                                                                        \
    cublasStatus_t cublas##S##dgmm_64(cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n,              \
                                      const void *a, int64_t lda, const void *x, int64_t step, void *c, int64_t ldc) { \
        const bool fits = side == CUBLAS_SIDE_RIGHT && a == c && lda == m && ldc == m && step == 1;                    \
        return ask_to_multiply(__func__, handle, type, fits, m, n, a, x);                                              \
    }                                                                                                                  \
    cublasStatus_t cublas##S##trttp(cublasHandle_t handle, cublasFillMode_t triangle, int n, const void *a, int lda,   \
                                    void *packed) {                                                                    \
        return ask_to_pack(__func__, handle, type, triangle, true, n, a, lda, packed);                                 \
    }                                                                                                                  \
    cublasStatus_t cublas##S##tpttr(cublasHandle_t handle, cublasFillMode_t triangle, int n, const void *packed,       \
                                    void *a, int lda) {                                                                \
        return ask_to_pack(__func__, handle, type, triangle, false, n, a, lda, packed);                                \
    }
DEFINE_COLUMNS(S, CUDA_R_32F)
DEFINE_COLUMNS(D, CUDA_R_64F)
DEFINE_COLUMNS(C, CUDA_C_32F)
DEFINE_COLUMNS(Z, CUDA_C_64F)

/* ---- Many small systems ------------------------------------------------------------------------------------------ */

static void factor_each(void *const *buffers, const uint64_t *words, uint64_t group) {
    const int64_t n = (int64_t)words[1];
    (void)group;
    for (uint64_t k = 0; k < words[2]; k++)
        ((int *)buffers[2])[k] = factor_matrix(fake_library_address(((void *const *)buffers[0])[k]), words[0], n,
                                               (int *)buffers[1] + (int64_t)k * n, true);
}

static void substitute_each(void *const *buffers, const uint64_t *words, uint64_t group) {
    const int64_t n = (int64_t)words[1];
    (void)group;
    for (uint64_t k = 0; k < words[2]; k++)
        substitute_matrix(fake_library_address(((void *const *)buffers[0])[k]), words[0], n, (int64_t)words[3],
                          (int *)buffers[1] + (int64_t)k * n, fake_library_address(((void *const *)buffers[2])[k]),
                          words[4]);
}

static cublasStatus_t ask_to_factor(const char *name, cublasHandle_t handle, uint64_t type, int n, const void *a,
                                    int lda, const int *pivots, const int *info, int batch) {
    static struct CUfunc_st function = {.name = "factor", .nbuffers = 3, .entry = factor_each};
    cublasStatus_t status = begin(name, handle);
    if (status)
        return status;
    if (n < 1 || lda != n || batch < 1)
        fake_complain("%s: what the backend never asks for", name);
    const size_t each = sizeof(int) * (size_t)batch;
    const fake_use uses[3] = {{a, sizeof(void *) * (size_t)batch}, {pivots, each * (size_t)n}, {info, each}};
    const uint64_t words[] = {type, (uint64_t)n, (uint64_t)batch};
    fake_library_launch(name, handle->stream, &function, uses, 3, words);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t ask_to_substitute(const char *name, cublasHandle_t handle, uint64_t type, bool transposed, int n,
                                        int k, const void *a, int lda, const int *pivots, const void *b, int ldb,
                                        int *info, int batch) {
    static struct CUfunc_st function = {.name = "substitute", .nbuffers = 3, .entry = substitute_each};
    cublasStatus_t status = begin(name, handle);
    if (status)
        return status;
    if (n < 1 || k < 1 || lda != n || ldb != n || batch < 1)
        fake_complain("%s: what the backend never asks for", name);
    *info = 0; /* of the host */
    const size_t told = sizeof(void *) * (size_t)batch;
    const fake_use uses[3] = {{a, told}, {pivots, sizeof(int) * (size_t)n * (size_t)batch}, {b, told}};
    const uint64_t words[] = {type, (uint64_t)n, (uint64_t)batch, (uint64_t)k, transposed};
    fake_library_launch(name, handle->stream, &function, uses, 5, words);
    return CUBLAS_STATUS_SUCCESS;
}

#define DEFINE_SYSTEMS(S, type)                                                                                        \
    cublasStatus_t cublas##S##geam_64(cublasHandle_t handle, cublasOperation_t transpose_a,                            \
                                      cublasOperation_t transpose_b, int64_t m, int64_t n, const void *alpha,          \
                                      const void *a, int64_t lda, const void *beta, const void *b, int64_t ldb,        \
                                      void *c, int64_t ldc) {                                                          \
        const bool fits = transpose_a != CUBLAS_OP_N && transpose_b == CUBLAS_OP_N && is_number(alpha, type, 1) &&     \
                          is_number(beta, type, 0) && b == c && ldb == ldc;                                            \
        return ask_to_transpose(__func__, handle, type, fits, transpose_a == CUBLAS_OP_C, m, n, a, lda, c, ldc);       \
    }                                                                                                                  \
    cublasStatus_t cublas##S##getrfBatched(cublasHandle_t handle, int n, void *const a[], int lda, int *pivots,        \
                                           int *info, int batch) {                                                     \
        return ask_to_factor(__func__, handle, type, n, a, lda, pivots, info, batch);                                  \
    }                                                                                                                  \
    cublasStatus_t cublas##S##getrsBatched(cublasHandle_t handle, cublasOperation_t transpose_a, int n, int k,         \
                                           const void *const a[], int lda, const int *pivots, void *const b[],         \
                                           int ldb, int *info, int batch) {                                            \
        return ask_to_substitute(__func__, handle, type, transpose_a == CUBLAS_OP_T, n, k, a, lda, pivots, b, ldb,     \
                                 info, batch);                                                                         \
    }
DEFINE_SYSTEMS(S, CUDA_R_32F)
DEFINE_SYSTEMS(D, CUDA_R_64F)
DEFINE_SYSTEMS(C, CUDA_C_32F)
DEFINE_SYSTEMS(Z, CUDA_C_64F)
