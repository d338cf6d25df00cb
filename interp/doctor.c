/* doctor.c: hands what only the executable knows to neap.interp.doctor, which makes the report. */
#include "interp/doctor.h"

#include <stdio.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/conv.h"
#include "engine/libs/fft.h"
#include "engine/libs/klu.h"
#include "engine/quota.h"
#include "formats/formats.h"
#include "interp/session.h"
#include "lazy/native/gpu.h"
#include "lazy/vm/kernel.h"

static void set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

/* How many worker threads there are, and why so many; or why there are none. */
static void set_workers(lua_State *L) {
    char text[5000], why[4900];
    if (neap_engine_start(NULL) < 0)
        snprintf(text, sizeof text, "none: %s", neap_error_text());
    else
        snprintf(text, sizeof text, "%d: %s", neap_engine_workers(), engine_cores_explain(why, sizeof why));
    set_text(L, "workers", text);
}

/* The GPUs, each with its memory, or why there is none. */
static void set_gpus(lua_State *L) {
    char text[512] = "";
    int number = 0, n = 0;
    neap_device_facts facts;
    while (neap_device_open("cuda", n, &number) == NEAP_OK && neap_device_get(number, &facts) == NEAP_OK) {
        char why[256];
        size_t at = strlen(text);
        const char *lacks = neap_tier_lacks(number, why, sizeof why);
        snprintf(text + at, sizeof text - at, "%scuda:%d %s, %.1f GiB, %.1f free%s%s%s", n ? "; " : "", n, facts.name,
                 (double)facts.memory_bytes / (1 << 30), (double)facts.memory_free / (1 << 30),
                 lacks ? " (the CPU computes: " : "", lacks ? lacks : "", lacks ? ")" : "");
        n++;
    }
    if (n == 0)
        snprintf(text, sizeof text, "none: %s", neap_error_text());
    set_text(L, "gpus", text);
    if (n > 0) {
        neap_device_libraries(number, text, sizeof text);
        set_text(L, "gpu_libraries", text);
    }
}

int doctor_run(lua_State *L) {
    lua_newtable(L);
    set_text(L, "version", neap_version());
    set_text(L, "abi", neap_abi_hash());
    set_text(L, "luajit", NEAP_LUAJIT_VARIANT);
    set_text(L, "compiler", __VERSION__);
    set_text(L, "isa", vm_isa_name());
    char generator[256];
    set_text(L, "native", neap_tier_generator(generator, sizeof generator));
    gpu_available(generator, sizeof generator);
    set_text(L, "gpu_code", generator);
    set_text(L, "convolutions", engine_conv_library());
    set_text(L, "transforms", engine_fft_library());
    set_text(L, "sparse_systems", engine_klu_library());
    set_text(L, "png", neap_image_library(NEAP_IMAGE_PNG));
    set_text(L, "jpeg", neap_image_library(NEAP_IMAGE_JPEG));
    set_workers(L);
    set_gpus(L);
    if (neap_plugin_load("mpi") == NEAP_OK)
        set_text(L, "mpi", "plugin neap_mpi.so");
#ifdef NEAP_HAVE_READLINE
    set_text(L, "editing", "GNU readline");
#else
    set_text(L, "editing", "plain lines (built without readline)");
#endif
    return session_call(L, "neap.interp.doctor", "report", 1);
}
