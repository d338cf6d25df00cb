/* steps.c: moving arrays by the steps that processes take together (mesh/reshard.c), here in one process, against the
 * direct way: from many layouts to many others, on meshes of up to three axes. */
#include "lazy/plan/start.h"
#include "mesh/auto.h"
#include "mesh/internal.h"
#include "ops_gen.h"
#include "tests/check.h"

enum { NDIM = 3, SIZE = 8 * 4 * 8 };

static neap_ctx *ctx;
static const int64_t shape[NDIM] = {8, 4, 8};

static uint32_t seed = 5;
static int draw(int n) {
    seed = seed * 1664525 + 1013904223;
    return (int)(seed >> 16) % n;
}

/* Each axis of the mesh divides some axis of the array, or none; in any order. */
static const lazy_sharding *draw_sharding(const lazy_mesh *mesh) {
    lazy_sharding like = {.mesh = mesh};
    int64_t left[NDIM];
    memcpy(left, shape, sizeof left);
    for (int n = 0, first = draw(mesh->naxes); n < mesh->naxes; n++) {
        int over = (first + n) % mesh->naxes, axis = draw(NDIM + 1), at = 0;
        if (axis == NDIM || left[axis] % mesh->sizes[over] != 0)
            continue;
        left[axis] /= mesh->sizes[over];
        while (like.split[axis][at])
            at++;
        like.split[axis][at] = (uint8_t)(over + 1);
    }
    return shard_sharding_intern(&like);
}

static const float *data_of(neap_node *node) {
    const void *data = NULL;
    int32_t id;
    int status;
    CHECK_EQ(graph_publish(ctx, graph_retain(node), &id), 0);
    while ((status = neap_array_poll(ctx, id)) == NEAP_PENDING ||
           (status == 0 && (status = neap_array_data(ctx, id, &data)) == NEAP_PENDING))
        neap_waker_sleep(neap_ctx_waker(ctx), -1);
    CHECK_EQ(status, 0);
    return data;
}

static void test_way(neap_node *x, const lazy_sharding *from, const lazy_sharding *to) {
    neap_node *direct[8] = {0}, *steps[8] = {0};
    plan_hold(ctx);
    neap_node *node = graph_build(ctx, LAZY_OP_reshard, 1, &x, 1, (int64_t[]){from->number});
    bool built = CHECK(node != NULL) && CHECK_EQ(mesh_reshard_blocks(ctx, x, to, direct), 0) &&
                 CHECK_EQ(mesh_reshard_by_steps(ctx, node, to, steps), 0);
    CHECK_EQ(plan_unhold(ctx), 0);
    for (int b = 0; b < to->nblocks && built; b++) {
        char text[2][128];
        CHECK_EQ(steps[b]->size, direct[b]->size);
        CHECK_EQ(steps[b]->device, to->home[b]);
        if (!CHECK(memcmp(data_of(steps[b]), data_of(direct[b]), graph_node_bytes(direct[b])) == 0))
            fprintf(stderr, "block %d of %s from %s\n", b, shard_spec_text(to, NDIM, text[0], sizeof text[0]),
                    shard_spec_text(from, NDIM, text[1], sizeof text[1]));
    }
    for (int b = 0; b < to->nblocks; b++) {
        graph_release(ctx, direct[b]);
        graph_release(ctx, steps[b]);
    }
}

static void test_mesh(neap_node *x, int naxes, const int64_t *sizes, int times) {
    static const char *const names[] = {"i", "j", "k"};
    int32_t devices[8] = {7, 6, 5, 4, 3, 2, 1, 0}, number;
    CHECK_EQ(neap_mesh_new(naxes, names, sizes, 8, devices, &number), 0);
    const lazy_mesh *mesh = shard_mesh_get(number);
    for (int k = 0; k < times; k++)
        test_way(x, draw_sharding(mesh), draw_sharding(mesh));
}

int main(void) {
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 8}), 0);
    CHECK_EQ(neap_ctx_new(&ctx), 0);
    float values[SIZE];
    int32_t id;
    for (int k = 0; k < SIZE; k++)
        values[k] = (float)k;
    CHECK_EQ(neap_array_new(ctx, NEAP_DTYPE_F32, NDIM, shape, values, &id) & ~NEAP_SAFEPOINT, 0);
    neap_node *x = graph_lookup(ctx, id);
    int times = check_times(60, 10);
    test_mesh(x, 1, (int64_t[]){8}, times);
    test_mesh(x, 2, (int64_t[]){4, 2}, times);
    test_mesh(x, 3, (int64_t[]){2, 2, 2}, times);
    neap_ctx_free(ctx);
    return check_end();
}
