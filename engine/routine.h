/* routine.h: work on whole arrays that a device gives to a library: products of matrices, systems of equations,
 * factorizations, Fourier transforms, convolutions. For those who write a kind of device, and for the ops that ask for
 * one.
 *
 * A routine says what is computed, of which memory; the device chooses the library. Bits are the library's.
 */
#ifndef NEAP_ROUTINE_H
#define NEAP_ROUTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum neap_routine_what {
    NEAP_ROUTINE_PRODUCT,
    NEAP_ROUTINE_TRIANGULAR,
    NEAP_ROUTINE_SYSTEM,
    NEAP_ROUTINE_FACTOR,
    NEAP_ROUTINE_FOURIER,
    NEAP_ROUTINE_CONVOLUTION
} neap_routine_what;

/* Numbers of 16 bits: f16 has 11 bits of precision, bf16 has 8 and the exponents of f32. */
typedef enum neap_half { NEAP_NO_HALF, NEAP_HALF_F16, NEAP_HALF_BF16 } neap_half;

/* c[i] = op(a[i]) · op(b[i]) for each i of a batch. Matrices lie by rows; op(a) is m × k, op(b) k × n, c m × n, all
 * extents at least 1 but k, which may be 0: then c is zeros. Leading dimensions and distances count elements. */
typedef struct neap_product {
    bool transpose_a, transpose_b; /* a is stored k × m; b is stored n × k */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int batch_axes;
    const int64_t *batch, *strides_a, *strides_b; /* extents and distances of the batch's axes; BORROWED */
    int64_t stride_c;                             /* the batch lies row-major there */
} neap_product;

/* out[i] with op(a[i]) · out[i] = b[i], for `batch` triangular matrices a of n × n and right sides of n × k, by rows
 * and behind each other. The other triangle is not read. */
typedef struct neap_triangular {
    bool lower, transposed, unit; /* unit: the diagonal counts as ones */
    int64_t n, k, batch;
    const void *a, *b;
    void *out;
} neap_triangular;

typedef enum neap_system_kind {
    NEAP_SYSTEM_FACTOR, /* out: the factors of a */
    NEAP_SYSTEM_SOLVE,  /* out[i] with a[i] · out[i] = b[i], or aᵀ, for the factors of a */
    NEAP_SYSTEM_INVERT  /* out: the inverse of a */
} neap_system_kind;

/* Of `batch` matrices of n × n, and right sides of n × k, by rows and behind each other. Factors are n + 1 rows each:
 * those that LAPACK's getrf makes of aᵀ, by columns, and one row that begins with its n pivots, 32-bit integers counted
 * from 1, and is zero behind them. */
typedef struct neap_system {
    neap_system_kind kind;
    bool transposed;
    int64_t n, k, batch;
    const void *a, *b; /* to solve: factors, and right sides */
    void *out;
} neap_system;

typedef enum neap_factor_kind {
    NEAP_FACTOR_CHOLESKY, /* n × n: lower triangular, zeros above the diagonal; the lower triangle of a is read */
    NEAP_FACTOR_QR,       /* q, m × k, with orthonormal columns, and r, k × n: upper triangular, zeros below */
    NEAP_FACTOR_EIGH, /* a row of n eigenvalues, ascending; n × n: vectors as columns. The lower triangle is read */
    NEAP_FACTOR_SVD   /* u, m × k, a row of k singular values, descending, and vh, k × n */
} neap_factor_kind;

/* Factors of each of `batch` matrices of m × n, at least 1 × 1, by rows and behind each other, as a is; those of one
 * matrix lie behind each other, too. k is the lesser of m and n. Of complex ones what is real has imaginary parts that
 * are 0. They are NaN (of Cholesky: the lower triangle) where there are none; of EIGH and SVD also where a number of
 * the matrix is not finite. */
typedef struct neap_factor {
    neap_factor_kind kind;
    bool full;    /* QR: k is m. SVD: u is m × m, vh n × n */
    bool vectors; /* EIGH, SVD: not the values alone */
    int64_t m, n, batch;
    const void *a;
    void *out;
} neap_factor;

typedef enum neap_fourier_kind {
    NEAP_FOURIER_COMPLEX, /* n complex numbers to n */
    NEAP_FOURIER_OF_REAL, /* n real numbers to the first n / 2 + 1 of their transform */
    NEAP_FOURIER_TO_REAL  /* n / 2 + 1 complex numbers to n real ones; what is its own conjugate counts as real */
} neap_fourier_kind;

/* Transforms of lines, without a factor; the inverse has exp(2πi j k / n). In and out are (outer, count, inner) by
 * rows, whose middle axis is transformed. */
typedef struct neap_fourier {
    neap_fourier_kind kind;
    bool inverse; /* of complex ones; to real ones it always is */
    int64_t n, outer, inner;
    const void *in;
    void *out;
} neap_fourier;

enum { NEAP_CONVOLUTION_AXES = 3 }; /* spatial ones, at most */

/* y[n, o…, c'] = Σ x[n, o·stride - low + k·dilation, c] · w[k…, c, c'], x counting as 0 outside. All three lie
 * row-major with the channels last: x (batch, in…, channels), w (kernel…, channels / groups, features), y (batch, out…,
 * features). Channels and features come in `groups` parts, of which equal ones meet. */
typedef struct neap_convolution {
    bool f64; /* else f32 */
    int ndim; /* spatial axes, 1 to 3 */
    int64_t batch, channels, features, groups;
    int64_t in[NEAP_CONVOLUTION_AXES], kernel[NEAP_CONVOLUTION_AXES], out[NEAP_CONVOLUTION_AXES];
    int64_t stride[NEAP_CONVOLUTION_AXES], dilation[NEAP_CONVOLUTION_AXES];
    int64_t low[NEAP_CONVOLUTION_AXES], high[NEAP_CONVOLUTION_AXES];
    void *x, *w, *y;
} neap_convolution;

typedef enum neap_convolution_kind {
    NEAP_CONVOLUTION_FORWARD, /* y of x and w */
    NEAP_CONVOLUTION_INPUT,   /* x of y and w: the sum of what each element of x has to do with y */
    NEAP_CONVOLUTION_KERNEL   /* w of x and y */
} neap_convolution_kind;

typedef struct neap_routine {
    neap_routine_what what;
    bool f64, complex; /* the numbers; complex: not of transforms, whose kind says it */
    /* Of products and convolutions of f32: what the operands are instead; products are added up in f32 all the same.
     * rounds: the result is rounded to that, too. */
    neap_half half;
    bool rounds;
    union {
        neap_product product;
        neap_triangular triangular;
        neap_system system;
        neap_factor factor;
        neap_fourier fourier;
        struct {
            neap_convolution_kind kind;
            neap_convolution of;
        } convolution;
    };
} neap_routine;

#endif
