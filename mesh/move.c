/* move.c: moves of data between two shardings: over which axes of the mesh, how many bytes; and refusing moves over
 * explicit axes.
 *
 * Bytes are those of devices with a memory each: devices of the CPU share one, and read much where it lies. Of x,
 * f32[8,6], on {i=4, j=2}, from P("i", "j") to P("i", nil): each device has a block of (2, 3), wants one of (2, 6), and
 * gets 6 elements of its neighbour along j: 8 devices, 192 bytes.
 */
#include <stdio.h>

#include "lazy/dtype/dtype.h"
#include "lazy/explain/explain.h"
#include "mesh/internal.h"

uint32_t mesh_moved_axes(const lazy_sharding *from, const lazy_sharding *to) {
    uint32_t moved = 0;
    for (int axis = 0; axis < NEAP_MAX_DIMS; axis++)
        for (int k = 0, same = 1; k < NEAP_MESH_AXES && from->split[axis][k]; k++) {
            same &= from->split[axis][k] == to->split[axis][k];
            moved |= same ? 0 : 1u << (from->split[axis][k] - 1);
        }
    return moved;
}

/* The elements along an axis of the device at a position: [*first, *end). */
static void find_range(const lazy_sharding *s, int axis, int64_t extent, int position, int64_t *first, int64_t *end) {
    int64_t parts = 1, at = 0;
    for (int k = 0; k < NEAP_MESH_AXES && s->split[axis][k]; k++) {
        int of = s->split[axis][k] - 1;
        parts *= s->mesh->sizes[of];
        at = at * s->mesh->sizes[of] + shard_mesh_coordinate(s->mesh, position, of);
    }
    *first = extent / parts * at;
    *end = extent / parts * (at + 1);
}

int64_t mesh_moved_bytes(const lazy_sharding *from, const lazy_sharding *to, int dtype, int ndim,
                         const int64_t *shape) {
    int64_t sum = 0;
    for (int position = 0; position < to->mesh->size; position++) {
        int64_t wanted = 1, there = 1;
        for (int axis = 0; axis < ndim; axis++) {
            int64_t have, have_end, want, want_end;
            find_range(from, axis, shape[axis], position, &have, &have_end);
            find_range(to, axis, shape[axis], position, &want, &want_end);
            int64_t first = have > want ? have : want, end = have_end < want_end ? have_end : want_end;
            wanted *= want_end - want;
            there *= end > first ? end - first : 0;
        }
        sum += wanted - there;
    }
    return sum * neap_dtype_bytes(dtype);
}

int64_t mesh_combined_bytes(const lazy_sharding *s, uint32_t over, int dtype, int ndim, const int64_t *shape) {
    int64_t elements = 1, members = 1;
    for (int axis = 0; axis < ndim; axis++) {
        int64_t first, end;
        find_range(s, axis, shape[axis], 0, &first, &end);
        elements *= end - first;
    }
    for (int k = 0; k < s->mesh->naxes; k++)
        members *= over >> k & 1 ? s->mesh->sizes[k] : 1;
    return s->mesh->size / members * 2 * (members - 1) * elements * neap_dtype_bytes(dtype);
}

const char *mesh_bytes_text(int64_t bytes, char *text, size_t capacity) {
    lazy_print print = {.status = 0};
    explain_say_bytes(&print, bytes);
    snprintf(text, capacity, "%s", print.text.data ? print.text.data : "some bytes");
    graph_text_free(&print.text);
    return text;
}

int mesh_check_move(const char *op, int k, const neap_node *in, const lazy_sharding *to) {
    const lazy_sharding *from = graph_sharding_of(in);
    uint32_t moved = from && from->mesh == to->mesh ? mesh_moved_axes(from, to) & from->mesh->explicit : 0;
    char is[256], wanted[256], axes[128], bytes[32];
    if (!moved)
        return 0;
    shard_spec_text(to, in->ndim, wanted, sizeof wanted);
    return neap_error(
        NEAP_E_ARGUMENT,
        "%s: input %d lies as %s and is wanted as %s: %s would move over %s, explicit in this mesh; write "
        "np.reshard(x, np.%s) where it is to move",
        op, k + 1, shard_spec_text(from, in->ndim, is, sizeof is), wanted,
        mesh_bytes_text(mesh_moved_bytes(from, to, in->dtype, in->ndim, in->shape), bytes, sizeof bytes),
        mesh_axes_text(from->mesh, moved, axes, sizeof axes), wanted);
}
