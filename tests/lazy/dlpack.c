/* dlpack.c: tensors of other libraries as arrays, and arrays as tensors: what is shared and what is copied, who frees
 * memory and when, and what is refused. The structure is declared here as DLPack's own header does. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/lazy.h"
#include "ops_gen.h"
#include "tests/check.h"

typedef struct DLManagedTensor {
    struct {
        void *data;
        struct {
            int32_t device_type, device_id;
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits;
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

static _Atomic int deleted;

static void count_deletion(DLManagedTensor *self) {
    (void)self;
    deleted++;
}

/* A tensor of 3 rows of 2 floats: 0 … 5. */
static float numbers[6];
static int64_t extents[2], steps[2];

static DLManagedTensor tensor_of(void) {
    for (int k = 0; k < 6; k++)
        numbers[k] = (float)k;
    extents[0] = 3, extents[1] = 2;
    DLManagedTensor tensor = {.deleter = count_deletion};
    tensor.dl_tensor.data = numbers;
    tensor.dl_tensor.device.device_type = 1;
    tensor.dl_tensor.ndim = 2;
    tensor.dl_tensor.dtype.code = 2;
    tensor.dl_tensor.dtype.bits = 32;
    tensor.dl_tensor.dtype.lanes = 1;
    tensor.dl_tensor.shape = extents;
    return tensor;
}

/* Waits until an array is there. */
static const float *values_of(neap_ctx *ctx, int32_t id) {
    const void *data = NULL;
    int status;
    while ((status = neap_array_data(ctx, id, &data)) == NEAP_PENDING)
        neap_wait_all();
    CHECK_EQ(status, 0);
    return data;
}

static void finish(neap_ctx *ctx, int32_t id) {
    CHECK_EQ(neap_release(ctx, 1, &id), 0);
    neap_flush(ctx);
    neap_wait_all();
}

static void shared(neap_ctx *ctx) {
    DLManagedTensor tensor = tensor_of();
    int32_t x = 0, y = 0;
    deleted = 0;
    CHECK(neap_array_from_dlpack(ctx, &tensor, 0, &x) >= 0);
    CHECK(values_of(ctx, x) == numbers);
    CHECK_EQ(neap_op(ctx, LAZY_OP_add, 2, (int32_t[]){x, x}, 0, NULL, &y) < 0, 0);
    CHECK_EQ(neap_release(ctx, 1, &x), 0);
    const float *sums = values_of(ctx, y); /* the pending sum has kept the memory */
    CHECK(sums[5] == 10 && sums != numbers && numbers[5] == 5);
    finish(ctx, y);
    CHECK_EQ(deleted, 1);
}

static void copied(neap_ctx *ctx, int64_t first, int64_t second, uint64_t offset, const float *want) {
    DLManagedTensor tensor = tensor_of();
    int32_t x = 0;
    deleted = 0;
    steps[0] = first, steps[1] = second;
    extents[0] = 2, extents[1] = 2;
    tensor.dl_tensor.strides = steps;
    tensor.dl_tensor.byte_offset = offset;
    CHECK(neap_array_from_dlpack(ctx, &tensor, first == 2, &x) >= 0);
    CHECK_EQ(deleted, 1);
    const float *data = values_of(ctx, x);
    CHECK(data < numbers || data >= numbers + 6);
    CHECK(memcmp(data, want, 4 * sizeof *want) == 0);
    finish(ctx, x);
}

static void given(neap_ctx *ctx) {
    int32_t x = 0;
    void *memory = NULL;
    DLManagedTensor *tensor = NULL;
    CHECK(neap_array_empty(ctx, NEAP_DTYPE_I64, 2, (int64_t[]){2, 3}, &memory, &x) >= 0);
    memset(memory, 1, 48);
    CHECK_EQ(neap_array_to_dlpack(ctx, x, &tensor), 0);
    CHECK(tensor->dl_tensor.data == memory && tensor->dl_tensor.ndim == 2);
    CHECK(tensor->dl_tensor.dtype.code == 0 && tensor->dl_tensor.dtype.bits == 64);
    CHECK(tensor->dl_tensor.shape[1] == 3 && tensor->dl_tensor.strides[0] == 3 && tensor->dl_tensor.strides[1] == 1);
    finish(ctx, x);
    CHECK_EQ(((int64_t *)tensor->dl_tensor.data)[5], INT64_C(0x0101010101010101)); /* the array is gone */
    int32_t again = 0;
    CHECK(neap_array_from_dlpack(ctx, tensor, 0, &again) >= 0);
    CHECK((const void *)values_of(ctx, again) == memory);
    finish(ctx, again);
}

static void refused(neap_ctx *ctx) {
    int32_t x = 0;
    deleted = 0;
    DLManagedTensor tensor = tensor_of();
    tensor.dl_tensor.dtype.lanes = 4;
    CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &x), NEAP_E_DTYPE);
    tensor = tensor_of();
    tensor.dl_tensor.dtype.bits = 24;
    CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &x), NEAP_E_DTYPE);
    tensor = tensor_of();
    tensor.dl_tensor.device.device_type = 2;
    CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &x), NEAP_E_ARGUMENT);
    tensor = tensor_of();
    tensor.dl_tensor.ndim = 1000;
    CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &x), NEAP_E_SHAPE);
    tensor = tensor_of();
    extents[0] = -1;
    CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &x), NEAP_E_SHAPE);
    tensor = tensor_of();
    extents[0] = extents[1] = INT64_MAX / 2;
    CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &x), NEAP_E_SHAPE);
    CHECK_EQ(neap_array_from_dlpack(ctx, NULL, 0, &x), NEAP_E_ARGUMENT);
    CHECK_EQ(deleted, 0);
}

/* A tensor is taken once, while an array has its memory; what lies there later is another one. */
static void taken_once(neap_ctx *ctx) {
    DLManagedTensor tensor = tensor_of();
    int32_t x = 0, other = 0;
    deleted = 0;
    for (int turn = 1; turn <= 2; turn++) {
        CHECK(neap_array_from_dlpack(ctx, &tensor, 0, &x) >= 0);
        CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 0, &other), NEAP_E_ARGUMENT);
        CHECK_EQ(neap_array_from_dlpack(ctx, &tensor, 1, &other), NEAP_E_ARGUMENT);
        CHECK(strstr(neap_error_text(), "taken before") != NULL);
        CHECK(values_of(ctx, x)[5] == 5);
        finish(ctx, x);
        CHECK_EQ(deleted, turn);
    }
}

/* Many at a time, whose addresses share buckets of the table; given back in another order. */
static void taken_many(neap_ctx *ctx) {
    enum { MANY = 3000 };
    DLManagedTensor *tensors = calloc(MANY, sizeof *tensors);
    int32_t *ids = calloc(MANY, sizeof *ids), other = 0;
    deleted = 0;
    for (int k = 0; k < MANY; k++) {
        tensors[k] = tensor_of();
        CHECK(neap_array_from_dlpack(ctx, &tensors[k], 0, &ids[k]) >= 0);
    }
    for (int k = 0; k < MANY; k++) {
        int which = (int)((int64_t)k * 1009 % MANY);
        CHECK_EQ(neap_array_from_dlpack(ctx, &tensors[which], 0, &other), NEAP_E_ARGUMENT);
        finish(ctx, ids[which]);
    }
    CHECK_EQ(deleted, MANY);
    free(tensors);
    free(ids);
}

int main(void) {
    neap_ctx *ctx = NULL;
    CHECK_EQ(neap_ctx_new(&ctx), 0);
    shared(ctx);
    copied(ctx, 2, 1, 8, (float[]){2, 3, 4, 5});  /* packed, but it is asked for */
    copied(ctx, 1, 2, 0, (float[]){0, 2, 1, 3});  /* columns first */
    copied(ctx, -2, 1, 8, (float[]){2, 3, 0, 1}); /* from the end */
    copied(ctx, 0, 1, 4, (float[]){1, 2, 1, 2});  /* repeated */
    given(ctx);
    refused(ctx);
    taken_once(ctx);
    taken_many(ctx);
    neap_ctx_free(ctx);
    neap_engine_stop();
    return check_end();
}
