/* integers.h: products of matrices of integers and bools; for product.c alone. Sums wrap around, so their order does
 * not matter, and one width has one product, whatever the sign; of bools it is the `or` of the `and`s. */

/* c's rows start as zeros and take a row of b for each element of a: b's rows are contiguous, or copied where they lie
 * apart. */
#define INTEGER_PRODUCT(name, ctype, combine)                                                                          \
    static void name(const engine_product *p) {                                                                        \
        enum { PART = 1024 / sizeof(ctype) };                                                                          \
        ctype row[PART], sums[INTEGER_ROWS][PART];                                                                     \
        for (int64_t i0 = 0; i0 < p->m; i0 += INTEGER_ROWS) {                                                          \
            const int64_t rows = p->m - i0 < INTEGER_ROWS ? p->m - i0 : INTEGER_ROWS;                                  \
            for (int64_t j0 = 0; j0 < p->n; j0 += PART) {                                                              \
                const int64_t n = p->n - j0 < PART ? p->n - j0 : PART;                                                 \
                for (int64_t i = 0; i < rows; i++)                                                                     \
                    memset(sums[i], 0, (size_t)n * sizeof(ctype));                                                     \
                for (int64_t k = 0; k < p->k; k++) {                                                                   \
                    const ctype *b = (const ctype *)p->b + k * p->b_row + j0 * p->b_column;                            \
                    for (int64_t j = 0; p->b_column != 1 && j < n; j++)                                                \
                        row[j] = b[j * p->b_column];                                                                   \
                    const ctype *from = p->b_column == 1 ? b : row;                                                    \
                    for (int64_t i = 0; i < rows; i++) {                                                               \
                        const ctype x = ((const ctype *)p->a)[(i0 + i) * p->a_row + k * p->a_column];                  \
                        ctype *to = sums[i];                                                                           \
                        for (int64_t j = 0; j < n; j++)                                                                \
                            to[j] = (ctype)(combine);                                                                  \
                    }                                                                                                  \
                }                                                                                                      \
                for (int64_t i = 0; i < rows; i++)                                                                     \
                    memcpy((ctype *)p->c + (i0 + i) * p->c_row + j0, sums[i], (size_t)n * sizeof(ctype));              \
            }                                                                                                          \
        }                                                                                                              \
    }
INTEGER_PRODUCT(multiply_bool, uint8_t, to[j] | (x & from[j]))
INTEGER_PRODUCT(multiply_8, uint8_t, to[j] + (uint32_t)x * from[j])
INTEGER_PRODUCT(multiply_16, uint16_t, to[j] + (uint32_t)x * from[j])
INTEGER_PRODUCT(multiply_32, uint32_t, to[j] + x * from[j])
INTEGER_PRODUCT(multiply_64, uint64_t, to[j] + x * from[j])
#undef INTEGER_PRODUCT
