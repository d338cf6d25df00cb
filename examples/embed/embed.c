/* embed.c: a C program that computes with neap: it runs Lua code, gives it arrays, and gets arrays back.
 *
 *      cd examples/embed && make && ./embed            (needs neap where Lua finds it, and libluajit-5.1-dev)
 *
 * The program makes a Lua state, which loads the library by require "neap" and model.lua. Then
 *
 *      1. samples of the program become an array that shares their memory (DLPack; its deleter says when the last use
 *         was),
 *      2. model.fit trains on it and returns an array, whose elements the program reads by a pointer,
 *      3. an error of Lua or of neap is a text with file and line.
 *
 * A state belongs to one thread at a time. neap's own threads compute; they never call Lua.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- DLPack's structure (https://dmlc.github.io/dlpack; with its header installed, include that) ----------------- */
typedef struct DLManagedTensor {
    struct {
        void *data;
        struct {
            int32_t device_type, device_id; /* 1: the CPU */
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits; /* 2, 32: f32 */
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides; /* strides NULL: row after row */
        uint64_t byte_offset;
    } dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

enum { SAMPLES = 200 };

typedef struct samples { /* what the program computes with: x and y of each sample */
    DLManagedTensor tensor;
    int64_t shape[2];
    float values[SAMPLES][2];
} samples;

/* Called by neap, on any thread, when no array uses the memory any more. */
static void release_samples(DLManagedTensor *tensor) {
    free(tensor->manager_ctx);
}

static samples *make_samples(void) {
    samples *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    for (int k = 0; k < SAMPLES; k++) {
        float x = (float)k / SAMPLES * 4 - 2;
        made->values[k][0] = x;
        made->values[k][1] = 3 * x * x - x + 0.5f + 0.1f * sinf((float)(37 * k));
    }
    made->shape[0] = SAMPLES;
    made->shape[1] = 2;
    made->tensor.manager_ctx = made;
    made->tensor.deleter = release_samples;
    made->tensor.dl_tensor.data = made->values;
    made->tensor.dl_tensor.device.device_type = 1;
    made->tensor.dl_tensor.ndim = 2;
    made->tensor.dl_tensor.dtype.code = 2;
    made->tensor.dl_tensor.dtype.bits = 32;
    made->tensor.dl_tensor.dtype.lanes = 1;
    made->tensor.dl_tensor.shape = made->shape;
    return made;
}

/* Calls the function `name` of the table at index 1 with the arguments on the stack. Ends the program on an error. */
static void call(lua_State *L, const char *name, int arguments, int results) {
    lua_getfield(L, 1, name);
    lua_insert(L, -arguments - 1);
    if (lua_pcall(L, arguments, results, 0) != 0) {
        fprintf(stderr, "embed: %s\n", lua_tostring(L, -1));
        exit(1);
    }
}

int main(int argc, char **argv) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    if (luaL_dofile(L, argc > 1 ? argv[1] : "model.lua")) {
        fprintf(stderr, "embed: %s\n", lua_tostring(L, -1));
        return 1;
    }

    lua_pushlightuserdata(L, &make_samples()->tensor); /* from here on it is neap's */
    call(L, "fit", 1, 2);

    /* The two results: a pointer to floats, a cdata, which keeps the array while it is on the stack; and a count. */
    const float *weights = *(const float *const *)lua_topointer(L, -2);
    int count = (int)lua_tointeger(L, -1);
    for (int k = 0; k < count; k++)
        printf("weight %d: %.2f\n", k, weights[k]);
    lua_pop(L, 2);

    lua_pushinteger(L, -1);
    lua_getfield(L, 1, "refuses");
    lua_insert(L, -2);
    if (lua_pcall(L, 1, 0, 0) != 0) {
        printf("an error: %s\n", lua_tostring(L, -1));
        lua_pop(L, 1);
    }

    call(L, "close", 0, 0);
    lua_close(L);
    return 0;
}
