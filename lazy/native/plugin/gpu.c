/* plugin/gpu.c: from a grid kernel (native/gpu.h) to PTX text, or to an object file of the same code for the host. The
 * rows' bitcode is that for GPUs in both: for the host no more than the target's name is another one.
 *
 *      without reductions    gpu_maps.c, gpu_tiles.c
 *      with reductions       gpu_fold.c
 *      whole-array ops       gpu_calls.c
 */
#include "lazy/native/plugin/gpu.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "lazy/native/plugin/gpu_writer.h"
#include "lazy/native/plugin/target.h"

/* ---- Entries ----------------------------------------------------------------------------------------------------- */
static LLVMValueRef special_register(gpu_writer *w, const char *name) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef type = LLVMIntrinsicGetType(w->context, id, NULL, 0);
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(w->module, id, NULL, 0);
    return LLVMBuildZExt(w->builder, LLVMBuildCall2(w->builder, type, f, NULL, 0, ""), w->word, "");
}

/* Says that a function is a kernel, of groups of GPU_THREADS. */
static void mark_kernel(gpu_writer *w) {
    static const char *const what[] = {"kernel", "maxntidx"};
    const unsigned value[] = {1, GPU_THREADS};
    for (int k = 0; k < 2; k++) {
        LLVMMetadataRef parts[3] = {LLVMValueAsMetadata(w->function),
                                    LLVMMDStringInContext2(w->context, what[k], strlen(what[k])),
                                    LLVMValueAsMetadata(LLVMConstInt(w->i32, value[k], 0))};
        LLVMValueRef node = LLVMMetadataAsValue(w->context, LLVMMDNodeInContext2(w->context, parts, 3));
        LLVMAddNamedMetadataOperand(w->module, "nvvm.annotations", node);
    }
}

/* Parameters of a GPU's entry are buffers, then words; the host's gets arrays of them, and the group. */
static void parameters(gpu_writer *w, int buffers) {
    for (int k = 0; k < buffers + w->kernel->nwords; k++) {
        const bool is_word = k >= buffers;
        LLVMValueRef index = gpu_number(w, is_word ? k - buffers : k), value;
        if (w->host) {
            LLVMTypeRef type = is_word ? w->word : w->pointer;
            LLVMValueRef at = LLVMBuildGEP2(w->builder, type, LLVMGetParam(w->function, is_word), &index, 1, "");
            value = LLVMBuildLoad2(w->builder, type, at, "");
        } else {
            value = LLVMGetParam(w->function, (unsigned)k);
        }
        *(is_word ? &w->words[k - buffers] : &w->buffer[k]) = value;
    }
    if (w->host) {
        LLVMValueRef given = LLVMGetParam(w->function, 2), high = gpu_number(w, (int64_t)~GPU_BACKWARDS);
        w->group = LLVMBuildAnd(w->builder, given, high, "");
        w->turned = LLVMBuildSelect(w->builder, gpu_less(w, w->group, given), gpu_number(w, GPU_THREADS - 1),
                                    gpu_number(w, 0), "");
    } else {
        w->group = special_register(w, "llvm.nvvm.read.ptx.sreg.ctaid.x");
        w->thread = special_register(w, "llvm.nvvm.read.ptx.sreg.tid.x");
    }
}

int gpu_begin_entry(gpu_writer *w, const char *name) {
    const unsigned buffers = (unsigned)(w->kernel->nbuffers + w->kernel->reduces);
    const unsigned count = w->host ? 3 : buffers + (unsigned)w->kernel->nwords;
    LLVMTypeRef *types = calloc(count + 3, sizeof *types);
    if (!types)
        return ir_host->error(NEAP_E_MEMORY, "no memory for a kernel's code");
    for (unsigned k = 0; k < count; k++)
        types[k] = k < (w->host ? 2 : buffers) ? w->pointer : w->word;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(w->context), types, count, 0);
    free(types);
    w->function = LLVMAddFunction(w->module, name, type);
    w->entry = LLVMAppendBasicBlockInContext(w->context, w->function, "entry");
    LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(w->context, w->function, "start");
    LLVMPositionBuilderAtEnd(w->builder, w->entry);
    parameters(w, (int)buffers);
    LLVMBuildBr(w->builder, start);
    LLVMPositionBuilderAtEnd(w->builder, start);
    if (!w->host)
        mark_kernel(w);
    return NEAP_OK;
}

/* Places for the values of one element, and of those that a thread has together behind them. */
static void make_places(gpu_writer *w, LLVMValueRef *places) {
    const int values = w->loop->nloads + w->loop->nins;
    const int sets = w->kernel->each > 1 ? 1 + w->kernel->each : 1;
    for (int v = 0; v < sets * values; v++)
        places[v] = gpu_place(w, gpu_element(w, w->dtype[v % values]));
    w->value = places;
}

static int write_entries(gpu_writer *w, LLVMValueRef *places, bool *needed) {
    const int values = w->loop->nloads + w->loop->nins;
    int status = gpu_begin_entry(w, "kernel");
    if (status)
        return status;
    make_places(w, places);
    if (!w->kernel->reduces) {
        gpu_write_maps(w, needed, places + values);
        return NEAP_OK;
    }
    gpu_write_reduction(w, false);
    status = w->failed ? NEAP_E_MEMORY : w->kernel->staged ? NEAP_OK : gpu_begin_entry(w, "finish");
    if (status || w->kernel->staged)
        return status;
    make_places(w, places);
    gpu_write_reduction(w, true);
    return w->failed ? NEAP_E_MEMORY : NEAP_OK;
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
/* The rows ("gpu"), or the phases of whole-array ops ("gpu_calls"). */
static const native_bitcode *rows_of_gpus(const char *name) {
    const native_bitcode *set = native_bitcodes;
    while (set->isa && strcmp(set->isa, name) != 0)
        set++;
    return set->isa ? set : NULL;
}

static bool starts_with(const char *name, const char *start) {
    return strncmp(name, start, strlen(start)) == 0;
}

/* Is it a phase of these ops? */
static bool is_phase(const gpu_entries *call, const char *function) {
    const char *name = strchr(function, '_');
    for (int j = 0; j < call->n; j++)
        if (name && starts_with(name + 1, call->names[j]))
            return true;
    return false;
}

/* Is it a function of one of the rows, or a phase? */
static bool is_needed(const void *writer, const char *function) {
    const gpu_writer *w = writer;
    const lazy_kernel *k = w->loop;
    if (!k)
        return is_phase(w->kernel->call, function);
    for (int j = 0; j < k->nloads; j++)
        if (k->loads[j].kind == LAZY_LOAD_IOTA && ir_is_of(function, gpu_iota_of(k->loads[j].dtype)))
            return true;
    for (int j = 0; j < k->nins; j++)
        if (!loop_is_take(k, &k->ins[j]) && ir_is_of(function, gpu_row_of(&k->ins[j])))
            return true;
    for (int j = 0; j < k->nsinks; j++)
        if (k->sinks[j].kind == LAZY_SINK_REDUCE &&
            ir_is_of(function, gpu_reduction_of(k->sinks[j].op, w->dtype[k->sinks[j].value])))
            return true;
    return false;
}

static int need_row(bool *dtypes, const char *row) {
    const int dtype = row ? ir_dtype_of(row) : NEAP_DTYPE_COUNT;
    if (dtype == NEAP_DTYPE_COUNT)
        return ir_host->error(NEAP_E_ARGUMENT, "no row for GPUs of this name: %s", row ? row : "none");
    dtypes[dtype] = true;
    return NEAP_OK;
}

/* Of which dtypes rows are called. */
static int find_rows(const gpu_writer *w, bool *dtypes) {
    const lazy_kernel *k = w->loop;
    int status = NEAP_OK;
    for (int j = 0; j < k->nloads && !status; j++)
        if (k->loads[j].kind == LAZY_LOAD_IOTA)
            status = need_row(dtypes, gpu_iota_of(k->loads[j].dtype));
    for (int j = 0; j < k->nins && !status; j++)
        if (!loop_is_take(k, &k->ins[j]))
            status = need_row(dtypes, gpu_row_of(&k->ins[j]));
    for (int j = 0; j < k->nsinks && !status; j++)
        if (k->sinks[j].kind == LAZY_SINK_REDUCE)
            status = need_row(dtypes, gpu_reduction_of(k->sinks[j].op, w->dtype[k->sinks[j].value]));
    return status;
}

/* Links what the kernel needs of all modules that have a row of it. */
static int link_rows(gpu_writer *w, const native_bitcode *set) {
    bool dtypes[NEAP_DTYPE_COUNT] = {false};
    int status = w->loop ? find_rows(w, dtypes) : NEAP_OK;
    if (!w->loop)
        dtypes[w->kernel->call->dtype] = true;
    return status ? status : ir_link_rows(w->module, set, dtypes, is_needed, w);
}

static void drop_text(LLVMValueRef function, const char *name) {
    LLVMRemoveStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, name,
                                     (unsigned)strlen(name));
}

static bool is_entry(const gpu_writer *w, const char *name) {
    const gpu_entries *call = w->kernel->call;
    bool is = !call && (strcmp(name, "kernel") == 0 || strcmp(name, "finish") == 0);
    for (int k = 0; call && k < call->n && !is; k++)
        is = strcmp(name, call->names[k]) == 0;
    return is;
}

/* Rows are inlined, and nothing but the entries is left to be seen. Rows were compiled for no GPU in particular. */
static void prepare_functions(gpu_writer *w) {
    for (LLVMValueRef f = LLVMGetFirstFunction(w->module); f; f = LLVMGetNextFunction(f)) {
        const char *name = LLVMGetValueName(f);
        if (LLVMIsDeclaration(f))
            continue;
        drop_text(f, "target-cpu");
        drop_text(f, "target-features");
        if (is_entry(w, name))
            continue;
        LLVMSetLinkage(f, LLVMInternalLinkage);
        if (starts_with(name, "row_") || starts_with(name, "none_") || starts_with(name, "phase_"))
            ir_set_attribute(f, "alwaysinline");
    }
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */
static void set_target(gpu_writer *w, LLVMTargetMachineRef machine) {
    char *triple = LLVMGetTargetMachineTriple(machine);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetTarget(w->module, triple);
    LLVMSetModuleDataLayout(w->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

static int write_module(gpu_writer *w, const native_bitcode *set, LLVMTargetMachineRef machine, void **out,
                        size_t *bytes) {
    const gpu_kernel *k = w->kernel;
    const size_t values = w->loop ? (size_t)(w->loop->nloads + w->loop->nins) : 0;
    LLVMValueRef *places = calloc((3 + GPU_NEAR) * values + (size_t)(k->nbuffers + 1 + k->nwords), sizeof *places);
    int *dtypes = calloc(values + 1, sizeof *dtypes);
    bool *needed = calloc(values + 1, sizeof *needed);
    int status = places && dtypes && needed ? NEAP_OK : ir_host->error(NEAP_E_MEMORY, "no memory for code");
    if (!status) {
        w->tiles = places + (2 + GPU_NEAR) * values;
        w->buffer = w->tiles + values, w->words = w->buffer + k->nbuffers + 1;
        w->dtype = dtypes;
        for (size_t v = 0; v < values; v++)
            w->dtype[v] = loop_dtype_of(w->loop, (int)v);
        status = link_rows(w, set);
    }
    if (!status)
        status = k->call ? gpu_write_call(w) : write_entries(w, places, needed);
    if (!status) {
        prepare_functions(w);
        set_target(w, machine);
        status = ir_emit(w->host ? IR_GRID : IR_GPU, w->module, machine, out, bytes);
    }
    free(places), free(dtypes), free(needed);
    return status;
}

int gpu_generate(const void *kernel, const char *target, void **out, size_t *bytes) {
    gpu_writer w = {.kernel = kernel, .host = strcmp(target, "host") == 0};
    w.loop = w.kernel->loop;
    const native_bitcode *set = rows_of_gpus(w.kernel->call ? "gpu_calls" : "gpu");
    LLVMTargetMachineRef machine = NULL;
    int status = set ? ir_machine_new(w.host ? IR_GRID : IR_GPU, target, &machine)
                     : ir_host->error(NEAP_E_LIBRARY, "this LLVM makes no code for GPUs");
    if (status)
        return status;
    w.context = LLVMContextCreate();
    w.module = LLVMModuleCreateWithNameInContext("kernel", w.context);
    w.builder = LLVMCreateBuilderInContext(w.context);
    w.pointer = LLVMPointerTypeInContext(w.context, 0);
    w.word = LLVMInt64TypeInContext(w.context);
    w.i32 = LLVMInt32TypeInContext(w.context);
    w.i8 = LLVMInt8TypeInContext(w.context);
    status = write_module(&w, set, machine, out, bytes);
    LLVMDisposeBuilder(w.builder);
    LLVMDisposeModule(w.module);
    LLVMContextDispose(w.context);
    LLVMDisposeTargetMachine(machine);
    return status;
}
