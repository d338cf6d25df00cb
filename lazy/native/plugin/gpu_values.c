/* gpu_values.c: elements in grid kernels (gpu_writer.h): where they are in memory, and the rows that compute them. */
#include <stdio.h>
#include <string.h>

#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/gpu_writer.h"
#include "lazy/native/plugin/index.h"
#include "ops_gen.h"

#include "gpu_gen.h"

enum { VECTOR_BYTES = 16 }; /* of one load or store */

static const struct {
    char kind;
    uint8_t bits;
} dtypes[] = {
#define DTYPE(NAME, name, kind, ctype, bits, ...) [NEAP_DTYPE_##NAME] = {kind, bits},
    NEAP_DTYPE_ROWS(DTYPE)
#undef DTYPE
};

int gpu_bytes(int dtype) {
    return dtypes[dtype].bits / 8;
}

LLVMTypeRef gpu_element(const gpu_writer *w, int dtype) {
    int bits = dtypes[dtype].bits;
    LLVMTypeRef f32 = LLVMFloatTypeInContext(w->context), f64 = LLVMDoubleTypeInContext(w->context);
    if (dtypes[dtype].kind == 'c')
        return LLVMVectorType(bits == 64 ? f32 : f64, 2);
    if (dtypes[dtype].kind == 'f' && bits >= 32)
        return bits == 32 ? f32 : f64;
    return LLVMIntTypeInContext(w->context, (unsigned)bits);
}

LLVMValueRef gpu_place(gpu_writer *w, LLVMTypeRef type) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(w->context);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(w->entry));
    LLVMValueRef place = LLVMBuildAlloca(b, type, "");
    LLVMSetAlignment(place, 16);
    LLVMDisposeBuilder(b);
    return place;
}

LLVMValueRef gpu_at(gpu_writer *w, LLVMValueRef base, int dtype, LLVMValueRef i) {
    return LLVMBuildGEP2(w->builder, gpu_element(w, dtype), base, &i, 1, "");
}

LLVMValueRef gpu_get(gpu_writer *w, LLVMValueRef at, int dtype) {
    LLVMValueRef v = LLVMBuildLoad2(w->builder, gpu_element(w, dtype), at, "");
    LLVMSetAlignment(v, (unsigned)gpu_bytes(dtype));
    return v;
}

void gpu_set(gpu_writer *w, LLVMValueRef at, int dtype, LLVMValueRef value) {
    LLVMSetAlignment(LLVMBuildStore(w->builder, value, at), (unsigned)gpu_bytes(dtype));
}

void gpu_call(gpu_writer *w, const char *kind, const char *row, LLVMValueRef *args, unsigned count) {
    char name[96];
    LLVMTypeRef types[8];
    snprintf(name, sizeof name, "%s_%s", kind, row);
    for (unsigned k = 0; k < count; k++)
        types[k] = w->pointer;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(w->context), types, count, 0);
    LLVMBuildCall2(w->builder, type, LLVMGetNamedFunction(w->module, name), args, count, "");
}

/* ---- Places in memory -------------------------------------------------------------------------------------------- */
/* The index along an axis; those of the kept axes are digits of the row, the others of the place in it. */
static LLVMValueRef index_of(gpu_writer *w, gpu_spot *spot, int axis) {
    const lazy_kernel *k = w->loop;
    int first = axis < k->nkept ? 0 : k->nkept, end = axis < k->nkept ? k->nkept : k->ndim;
    if (spot->index[axis])
        return spot->index[axis];
    LLVMValueRef left = axis < k->nkept ? spot->row : spot->at;
    for (int j = end - 1; j > first; j--)
        left = gpu_divide(w, left, w->words[GPU_EXTENTS + j], &spot->index[j]);
    spot->index[first] = left;
    return spot->index[axis];
}

static const gpu_map *load_map(const gpu_writer *w, const lazy_load *load) {
    return &w->kernel->maps[load - w->loop->loads];
}
static const gpu_map *sink_map(const gpu_writer *w, const lazy_sink *sink) {
    return &w->kernel->maps[w->loop->nloads + (sink - w->loop->sinks)];
}

/* The number of the element to which a map leads. `whole` is that of the spot, for maps that are flat. */
static LLVMValueRef element_of(gpu_writer *w, const gpu_map *map, gpu_spot *spot, LLVMValueRef whole) {
    LLVMValueRef sum = w->words[map->word];
    int word = map->word + 1;
    if (map->flat)
        return gpu_add(w, sum, whole);
    for (int axis = 0; axis < w->loop->ndim; axis++)
        if (map->axes >> axis & 1)
            sum = gpu_add(w, sum, gpu_multiply(w, index_of(w, spot, axis), w->words[word++]));
    return sum;
}

/* ---- Loads ------------------------------------------------------------------------------------------------------- */
static void load_number(gpu_writer *w, int k) {
    const lazy_load *load = &w->loop->loads[k];
    LLVMTypeRef pair = LLVMArrayType2(w->word, 2);
    LLVMValueRef place = gpu_place(w, pair);
    for (int j = 0; j < 2; j++) {
        LLVMValueRef index = gpu_number(w, j), at = LLVMBuildGEP2(w->builder, w->word, place, &index, 1, "");
        LLVMBuildStore(w->builder, w->words[w->kernel->numbers + 2 * load->slot + j], at);
    }
    gpu_set(w, w->value[k], load->dtype, gpu_get(w, place, load->dtype));
}

static void load_iota(gpu_writer *w, int k, gpu_spot *spot) {
    const lazy_load *load = &w->loop->loads[k];
    LLVMValueRef number = gpu_place(w, w->word);
    LLVMBuildStore(w->builder, element_of(w, load_map(w, load), spot, spot->element), number);
    gpu_call(w, "row", gpu_iota_of(load->dtype), (LLVMValueRef[]){w->value[k], number}, 2);
}

void gpu_load_one(gpu_writer *w, int k, gpu_spot *spot) {
    const lazy_load *load = &w->loop->loads[k];
    LLVMValueRef at;
    switch (load->kind) {
    case LAZY_LOAD_SCALAR:
        load_number(w, k);
        break;
    case LAZY_LOAD_IOTA:
        load_iota(w, k, spot);
        break;
    case LAZY_LOAD_RESULT:
        at = gpu_at(w, w->results[load->slot], load->dtype, spot->slot);
        gpu_set(w, w->value[k], load->dtype, gpu_get(w, at, load->dtype));
        break;
    case LAZY_LOAD_BUFFER:
        at = gpu_at(w, w->buffer[load->slot], load->dtype, element_of(w, load_map(w, load), spot, spot->element));
        gpu_set(w, w->value[k], load->dtype, gpu_get(w, at, load->dtype));
        break;
    default: /* a table: `take` reads it */
        break;
    }
}

void gpu_loads(gpu_writer *w, const bool *needed, gpu_spot *spot) {
    for (int k = 0; k < w->loop->nloads; k++)
        if (needed[k])
            gpu_load_one(w, k, spot);
}

/* ---- Neighbours -------------------------------------------------------------------------------------------------- */
/* Elements of 16 bytes are loaded and stored by themselves. */
static bool is_vector(const gpu_map *map, int dtype) {
    return map->along && gpu_bytes(dtype) < VECTOR_BYTES;
}

static int vector_align(const gpu_writer *w, int dtype) {
    const int bytes = w->kernel->each * gpu_bytes(dtype);
    return bytes < VECTOR_BYTES ? bytes : VECTOR_BYTES;
}

/* As an element of a vector is held: a complex one as its bits. */
static LLVMTypeRef part_of_vector(const gpu_writer *w, int dtype) {
    return dtypes[dtype].kind == 'c' ? w->word : gpu_element(w, dtype);
}

void gpu_neighbour(gpu_writer *w, gpu_spot *first, int k, gpu_spot *out) {
    LLVMValueRef by = gpu_number(w, k);
    const int last = w->loop->ndim - 1;
    if (last >= 0)
        index_of(w, first, last);
    *out = *first;
    out->row = out->element = gpu_add(w, first->element, by);
    if (last >= 0)
        out->index[last] = gpu_add(w, first->index[last], by);
}

static void load_vector(gpu_writer *w, int k, gpu_spot *spots, LLVMValueRef *sets) {
    const lazy_load *load = &w->loop->loads[k];
    const int values = w->loop->nloads + w->loop->nins;
    LLVMTypeRef type = LLVMVectorType(part_of_vector(w, load->dtype), (unsigned)w->kernel->each);
    LLVMValueRef i = element_of(w, load_map(w, load), &spots[0], spots[0].element);
    LLVMValueRef vector = LLVMBuildLoad2(w->builder, type, gpu_at(w, w->buffer[load->slot], load->dtype, i), "");
    LLVMSetAlignment(vector, (unsigned)vector_align(w, load->dtype));
    for (int j = 0; j < w->kernel->each; j++) {
        LLVMValueRef part = LLVMBuildExtractElement(w->builder, vector, LLVMConstInt(w->i32, (unsigned)j, 0), "");
        part = LLVMBuildBitCast(w->builder, part, gpu_element(w, load->dtype), "");
        gpu_set(w, sets[j * values + k], load->dtype, part);
    }
}

void gpu_load_neighbours(gpu_writer *w, const bool *needed, gpu_spot *spots, LLVMValueRef *sets) {
    const int values = w->loop->nloads + w->loop->nins;
    for (int k = 0; k < w->loop->nloads; k++) {
        const lazy_load *load = &w->loop->loads[k];
        if (!needed[k])
            continue;
        if (load->kind == LAZY_LOAD_BUFFER && is_vector(load_map(w, load), load->dtype))
            load_vector(w, k, spots, sets);
        else
            for (int j = 0; j < w->kernel->each; j++)
                w->value = sets + j * values, gpu_load_one(w, k, &spots[j]);
    }
}

static LLVMValueRef vector_of(gpu_writer *w, int dtype, LLVMValueRef *elements) {
    LLVMTypeRef part = part_of_vector(w, dtype);
    LLVMValueRef vector = LLVMGetUndef(LLVMVectorType(part, (unsigned)w->kernel->each));
    for (int j = 0; j < w->kernel->each; j++)
        vector = LLVMBuildInsertElement(w->builder, vector, LLVMBuildBitCast(w->builder, elements[j], part, ""),
                                        LLVMConstInt(w->i32, (unsigned)j, 0), "");
    return vector;
}

/* Four bytes a word, since a GPU stores no vectors of more bytes than that. */
static LLVMValueRef vector_of_bytes(gpu_writer *w, LLVMValueRef *elements) {
    LLVMValueRef words[GPU_NEAR / 4], vector;
    for (int j = 0; j < w->kernel->each; j++) {
        LLVMValueRef byte = LLVMBuildZExt(w->builder, elements[j], w->i32, "");
        byte = LLVMBuildShl(w->builder, byte, LLVMConstInt(w->i32, 8 * (unsigned)(j % 4), 0), "");
        words[j / 4] = j % 4 ? LLVMBuildOr(w->builder, words[j / 4], byte, "") : byte;
    }
    vector = LLVMGetUndef(LLVMVectorType(w->i32, (unsigned)w->kernel->each / 4));
    for (int j = 0; j < w->kernel->each / 4; j++)
        vector = LLVMBuildInsertElement(w->builder, vector, words[j], LLVMConstInt(w->i32, (unsigned)j, 0), "");
    return vector;
}

void gpu_store_neighbours(gpu_writer *w, const lazy_sink *sink, LLVMValueRef *results, gpu_spot *spots) {
    if (!is_vector(sink_map(w, sink), sink->dtype)) {
        for (int j = 0; j < w->kernel->each; j++)
            gpu_store(w, sink, results[j], &spots[j]);
        return;
    }
    LLVMValueRef i = element_of(w, sink_map(w, sink), &spots[0], spots[0].element);
    LLVMValueRef vector =
        gpu_bytes(sink->dtype) == 1 ? vector_of_bytes(w, results) : vector_of(w, sink->dtype, results);
    LLVMSetAlignment(LLVMBuildStore(w->builder, vector, gpu_at(w, w->buffer[sink->slot], sink->dtype, i)),
                     (unsigned)vector_align(w, sink->dtype));
}

/* The bits of an address that its vectors must not have; offsets are multiples of a vector. */
static LLVMValueRef misplaced_by(gpu_writer *w, int slot, int dtype) {
    LLVMValueRef address = LLVMBuildPtrToInt(w->builder, w->buffer[slot], w->word, "");
    return LLVMBuildAnd(w->builder, address, gpu_number(w, vector_align(w, dtype) - 1), "");
}

LLVMValueRef gpu_misplaced(gpu_writer *w, const bool *needed) {
    const lazy_kernel *k = w->loop;
    LLVMValueRef bits = gpu_number(w, 0);
    for (int j = 0; j < k->nloads; j++)
        if (needed[j] && k->loads[j].kind == LAZY_LOAD_BUFFER &&
            is_vector(load_map(w, &k->loads[j]), k->loads[j].dtype))
            bits = LLVMBuildOr(w->builder, bits, misplaced_by(w, k->loads[j].slot, k->loads[j].dtype), "");
    for (int j = 0; j < k->nsinks; j++)
        if (is_vector(sink_map(w, &k->sinks[j]), k->sinks[j].dtype))
            bits = LLVMBuildOr(w->builder, bits, misplaced_by(w, k->sinks[j].slot, k->sinks[j].dtype), "");
    return bits;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
const char *gpu_row_of(const lazy_ins *ins) {
    const char *row = gpu_maps[ins->op][ins->dtype];
    return row ? row : gpu_casts[ins->dtype][ins->result];
}
const char *gpu_reduction_of(int op, int dtype) {
    return gpu_reductions[op][dtype];
}
const char *gpu_iota_of(int dtype) {
    return gpu_casts[NEAP_DTYPE_I64][dtype];
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
static void take(gpu_writer *w, const lazy_ins *ins, LLVMValueRef to, gpu_spot *spot) {
    const lazy_load *table = &w->loop->loads[ins->arg[0]];
    const gpu_map *map = load_map(w, table);
    int word = map->word + 1 + (map->flat ? 0 : __builtin_popcount(map->axes));
    int dtype = w->dtype[ins->arg[1]];
    LLVMValueRef index = gpu_get(w, w->value[ins->arg[1]], dtype);
    LLVMValueRef row = ir_clamped(w->builder, index, dtypes[dtype].kind == 'i', w->words[word]);
    LLVMValueRef i = gpu_add(w, element_of(w, map, spot, spot->element), gpu_multiply(w, row, w->words[word + 1]));
    gpu_set(w, to, table->dtype, gpu_get(w, gpu_at(w, w->buffer[table->slot], table->dtype, i), table->dtype));
}

void gpu_instructions(gpu_writer *w, const bool *needed, gpu_spot *spot) {
    const lazy_kernel *k = w->loop;
    for (int j = 0; j < k->nins; j++) {
        const lazy_ins *ins = &k->ins[j];
        LLVMValueRef args[4] = {w->value[k->nloads + j]};
        if (!needed[k->nloads + j])
            continue;
        if (loop_is_take(k, ins)) {
            take(w, ins, args[0], spot);
            continue;
        }
        for (int a = 0; a < ins->narg; a++)
            args[1 + a] = w->value[ins->arg[a]];
        gpu_call(w, "row", gpu_row_of(ins), args, 1u + ins->narg);
    }
}

void gpu_need(const gpu_writer *w, bool *needed, int value) {
    const lazy_kernel *k = w->loop;
    needed[value] = true;
    for (int j = k->nins - 1; j >= 0; j--)
        for (int a = 0; a < k->ins[j].narg && needed[k->nloads + j]; a++)
            needed[k->ins[j].arg[a]] = true;
}

/* ---- Sinks ------------------------------------------------------------------------------------------------------- */
void gpu_together(gpu_writer *w, const bool *needed, gpu_spot *spots, int n, LLVMValueRef *sets) {
    LLVMValueRef *own = w->value;
    for (int j = 0; j < n; j++)
        gpu_use_set(w, sets, j), gpu_loads(w, needed, &spots[j]);
    for (int j = 0; j < n; j++)
        gpu_use_set(w, sets, j), gpu_instructions(w, needed, &spots[j]);
    w->value = own;
}

void gpu_store(gpu_writer *w, const lazy_sink *sink, LLVMValueRef value, gpu_spot *spot) {
    LLVMValueRef whole = sink->kind == LAZY_SINK_STORE ? spot->element : spot->row;
    LLVMValueRef i = element_of(w, sink_map(w, sink), spot, whole);
    gpu_set(w, gpu_at(w, w->buffer[sink->slot], sink->dtype, i), sink->dtype, value);
}
