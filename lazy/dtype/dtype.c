/* dtype.c: names, sizes and promotion of dtypes, from the rows in lazy.h.
 *
 * Promotion follows JAX's lattice (its type promotion page, restricted to the dtypes here):
 *      bool → u8 → i32 → i64 → f32 → f64,   u8 → u32 → i64,   u32 with i32 gives i64
 * and any integer with a float gives that float. A new dtype is a row in lazy.h and its edges in promotes_to.
 */
#include <string.h>

#include "lazy/lazy.h"

static const struct {
    const char *name;
    char kind;
    int bytes;
} dtypes[] = {
#define DTYPE(NAME, name, kind, ctype, bytes) {#name, kind, bytes},
    NEAP_DTYPE_ROWS(DTYPE)
#undef DTYPE
};

static int known(int dtype) {
    return dtype >= 0 && dtype < NEAP_DTYPE_COUNT;
}

const char *neap_dtype_name(int dtype) {
    return known(dtype) ? dtypes[dtype].name : NULL;
}

int neap_dtype_parse(const char *name) {
    for (int d = 0; d < NEAP_DTYPE_COUNT; d++)
        if (strcmp(name, dtypes[d].name) == 0)
            return d;
    return neap_error(NEAP_E_DTYPE, "expected a dtype (bool u8 i32 u32 i64 f32 f64), got '%s'", name);
}

int neap_dtype_bytes(int dtype) {
    return known(dtype) ? dtypes[dtype].bytes : 0;
}

int neap_dtype_kind(int dtype) {
    return known(dtype) ? dtypes[dtype].kind : 0;
}

/* The lattice: bit d of promotes_to[a] is set when a can become d without leaving the order above. */
#define BIT(d) (1u << NEAP_DTYPE_##d)
static const uint32_t promotes_to[NEAP_DTYPE_COUNT] = {
    [NEAP_DTYPE_BOOL] = BIT(BOOL) | BIT(U8) | BIT(I32) | BIT(U32) | BIT(I64) | BIT(F32) | BIT(F64),
    [NEAP_DTYPE_U8] = BIT(U8) | BIT(I32) | BIT(U32) | BIT(I64) | BIT(F32) | BIT(F64),
    [NEAP_DTYPE_I32] = BIT(I32) | BIT(I64) | BIT(F32) | BIT(F64),
    [NEAP_DTYPE_U32] = BIT(U32) | BIT(I64) | BIT(F32) | BIT(F64),
    [NEAP_DTYPE_I64] = BIT(I64) | BIT(F32) | BIT(F64),
    [NEAP_DTYPE_F32] = BIT(F32) | BIT(F64),
    [NEAP_DTYPE_F64] = BIT(F64),
};

int neap_dtype_promote(int left, int right) {
    if (!known(left) || !known(right))
        return neap_error(NEAP_E_DTYPE, "promote: no such dtype");
    if (left == right)
        return left;
    uint32_t common = promotes_to[left] & promotes_to[right];
    /* The least common one: it promotes to all others of the set. Rows stand in an order in which it comes first. */
    for (int d = 0; d < NEAP_DTYPE_COUNT; d++)
        if (common >> d & 1 && (common & ~promotes_to[d]) == 0)
            return d;
    return NEAP_E_INTERNAL;
}
