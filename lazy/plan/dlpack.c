/* dlpack.c: arrays to and from other libraries, in the form of DLPack (version 0 of its structure, which all of them
 * read and write). The declarations here are those of its header: https://dmlc.github.io/dlpack.
 *
 * Memory is shared where it can be. An array that was given away keeps its buffer alive by a reference, so nobody
 * writes over it; memory that came from outside is a borrowed buffer (engine/buffer.c).
 *
 * A tensor is taken once: its deleter is called once. Those whose memory is borrowed now stand in a table, by address,
 * so that a second taking is refused; a context and its threads share it with all others.
 */
#include <pthread.h>
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* in elements; NULL: row after row */
    uint64_t byte_offset;
} dl_tensor;

typedef struct DLManagedTensor {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct DLManagedTensor *self);
} managed;

static int code_of(int dtype) {
    int kind = neap_dtype_kind(dtype);
    if (kind == 'f')
        return strcmp(neap_dtype_name(dtype), "bf16") == 0 ? DL_BFLOAT : DL_FLOAT;
    return kind == 'b' ? DL_BOOL : kind == 'u' ? DL_UINT : kind == 'c' ? DL_COMPLEX : DL_INT;
}

/* ---- Out --------------------------------------------------------------------------------------------------------- */

typedef struct export {
    managed managed;
    neap_buffer *buffer;
    int64_t shape[NEAP_MAX_DIMS], strides[NEAP_MAX_DIMS];
}
export;

static void end_export(managed *self) {
    export *given = (export *)self;
    neap_buffer_release(given->buffer);
    free(given);
}

int neap_array_to_dlpack(neap_ctx *ctx, int32_t id, struct DLManagedTensor **out) {
    neap_buffer *buffer = NULL;
    int status = plan_host_read(ctx, id, &buffer);
    if (status)
        return status;
    const neap_node *node = graph_lookup(ctx, id);
    export *given = calloc(1, sizeof *given);
    if (!given)
        return neap_error(NEAP_E_MEMORY, "no memory for a tensor");
    given->buffer = neap_buffer_retain(buffer);
    given->managed = (managed){.manager = given, .deleter = end_export};
    dl_tensor *tensor = &given->managed.tensor;
    tensor->data = neap_buffer_data(buffer);
    tensor->device.type = DL_CPU;
    tensor->ndim = node->ndim;
    tensor->dtype.code = (uint8_t)code_of(node->dtype);
    tensor->dtype.bits = (uint8_t)(8 * neap_dtype_bytes(node->dtype));
    tensor->dtype.lanes = 1;
    tensor->shape = given->shape;
    tensor->strides = given->strides;
    int64_t stride = 1;
    for (int k = node->ndim - 1; k >= 0; k--) {
        given->shape[k] = node->shape[k];
        given->strides[k] = stride;
        stride *= node->shape[k];
    }
    *out = &given->managed;
    return 0;
}

/* ---- In ---------------------------------------------------------------------------------------------------------- */

static int dtype_of(const dl_tensor *tensor) {
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT && tensor->dtype.lanes == 1; dtype++) {
        if (code_of(dtype) == tensor->dtype.code && 8 * neap_dtype_bytes(dtype) == tensor->dtype.bits)
            return dtype;
    }
    return neap_error(NEAP_E_DTYPE,
                      "from_dlpack: elements of DLPack's type %d with %d bits and %d lanes are none of neap's",
                      tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
}

/* Whether its elements lie row after row; extents of 1 have any stride. */
static bool is_packed(const dl_tensor *tensor) {
    int64_t stride = 1;
    for (int k = tensor->ndim - 1; k >= 0 && tensor->strides; k--) {
        if (tensor->shape[k] == 0)
            return true;
        if (tensor->shape[k] != 1 && tensor->strides[k] != stride)
            return false;
        stride *= tensor->shape[k];
    }
    return true;
}

static int check_tensor(const managed *from) {
    if (!from)
        return neap_error(NEAP_E_ARGUMENT, "from_dlpack: there is no tensor");
    const dl_tensor *tensor = &from->tensor;
    if (tensor->device.type != DL_CPU && tensor->device.type != DL_CUDA_HOST)
        return neap_error(NEAP_E_ARGUMENT,
                          "from_dlpack: the tensor lies on a device of DLPack's type %d; copy it to the CPU",
                          tensor->device.type);
    if (tensor->ndim < 0 || tensor->ndim > NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "from_dlpack: the tensor has %d axes, at most %d are possible", tensor->ndim,
                          NEAP_MAX_DIMS);
    int64_t size = 1;
    for (int k = 0; k < tensor->ndim; k++) {
        int64_t extent = tensor->shape[k];
        if (extent < 0 || __builtin_mul_overflow(size, extent ? extent : 1, &size) || size > INT64_MAX / 16)
            return neap_error(NEAP_E_SHAPE, "from_dlpack: the tensor's axis %d has the extent %lld", k,
                              (long long)extent);
    }
    return 0;
}

typedef struct taken {
    managed *tensor;
    struct taken *next;
} taken;

enum { TAKEN_BUCKETS = 1024 };
static taken *taken_tensors[TAKEN_BUCKETS];
static pthread_mutex_t taken_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the tensor stands, or the end of its list. */
static taken **find_taken(const managed *tensor) {
    taken **at = &taken_tensors[((uintptr_t)tensor >> 4) % TAKEN_BUCKETS];
    while (*at && (*at)->tensor != tensor)
        at = &(*at)->next;
    return at;
}

static void delete_tensor(managed *tensor) {
    if (tensor->deleter)
        tensor->deleter(tensor);
}

/* Enters a tensor, which is deleted where there is no memory for that. */
static int take_tensor(managed *tensor, taken **out) {
    taken *entry = calloc(1, sizeof *entry);
    if (!entry) {
        delete_tensor(tensor);
        return neap_error(NEAP_E_MEMORY, "no memory for a tensor");
    }
    pthread_mutex_lock(&taken_lock);
    taken **at = find_taken(tensor);
    bool known = *at;
    if (!known)
        *at = entry;
    pthread_mutex_unlock(&taken_lock);
    entry->tensor = tensor;
    *out = entry;
    if (!known)
        return 0;
    free(entry);
    return neap_error(NEAP_E_ARGUMENT, "from_dlpack: the tensor was taken before; a tensor is taken once");
}

static void end_import(void *arg) {
    taken *entry = arg;
    managed *tensor = entry->tensor;
    pthread_mutex_lock(&taken_lock);
    taken **at = find_taken(tensor);
    *at = entry->next;
    pthread_mutex_unlock(&taken_lock);
    free(entry);
    delete_tensor(tensor);
}

/* The elements of a strided tensor, packed. */
static void pack(const dl_tensor *tensor, const char *data, int bytes, char *out) {
    int64_t at[NEAP_MAX_DIMS] = {0}, size = 1, offset = 0;
    for (int k = 0; k < tensor->ndim; k++)
        size *= tensor->shape[k];
    int64_t packed[NEAP_MAX_DIMS], stride = 1;
    for (int k = tensor->ndim - 1; k >= 0; k--) {
        packed[k] = stride;
        stride *= tensor->shape[k];
    }
    const int64_t *strides = tensor->strides ? tensor->strides : packed;
    for (int64_t i = 0; i < size; i++, out += bytes) {
        memcpy(out, data + offset * bytes, (size_t)bytes);
        for (int k = tensor->ndim - 1; k >= 0; k--) {
            offset += strides[k];
            if (++at[k] < tensor->shape[k])
                break;
            offset -= strides[k] * tensor->shape[k];
            at[k] = 0;
        }
    }
}

int neap_array_from_dlpack(neap_ctx *ctx, struct DLManagedTensor *from, int copy, int32_t *out) {
    int status = check_tensor(from);
    int dtype = status ? status : dtype_of(&from->tensor);
    if (dtype < 0)
        return dtype;
    const dl_tensor *tensor = &from->tensor;
    const char *data = (const char *)tensor->data + tensor->byte_offset;
    int bytes = neap_dtype_bytes(dtype);
    taken *entry = NULL;
    if ((status = take_tensor(from, &entry)) != 0)
        return status;
    if (!copy && is_packed(tensor) && (uintptr_t)data % (uintptr_t)bytes == 0)
        return neap_array_borrow(ctx, dtype, tensor->ndim, tensor->shape, data, end_import, entry, out);
    void *memory = NULL;
    status = neap_array_empty(ctx, dtype, tensor->ndim, tensor->shape, &memory, out);
    if (status >= 0)
        pack(tensor, data, bytes, memory);
    end_import(entry);
    return status;
}
