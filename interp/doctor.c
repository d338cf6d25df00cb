/* doctor.c: hands what only the executable knows to neap.interp.doctor, which makes the report. */
#include "interp/doctor.h"

#include "engine/libs/conv.h"
#include "engine/libs/fft.h"
#include "formats/formats.h"
#include "interp/session.h"
#include "lazy/vm/kernel.h"

static void set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

int doctor_run(lua_State *L) {
    lua_newtable(L);
    set_text(L, "version", NEAP_VERSION);
    set_text(L, "abi", neap_abi_hash());
    set_text(L, "luajit", NEAP_LUAJIT_VARIANT);
    set_text(L, "compiler", __VERSION__);
    set_text(L, "isa", vm_isa_name());
    char generator[256];
    set_text(L, "native", neap_tier_generator(generator, sizeof generator));
    set_text(L, "convolutions", engine_conv_library());
    set_text(L, "transforms", engine_fft_library());
    set_text(L, "png", neap_image_library(NEAP_IMAGE_PNG));
    set_text(L, "jpeg", neap_image_library(NEAP_IMAGE_JPEG));
    if (neap_plugin_load("mpi") == NEAP_OK)
        set_text(L, "mpi", "plugin neap_mpi.so");
#ifdef NEAP_HAVE_READLINE
    set_text(L, "editing", "GNU readline");
#else
    set_text(L, "editing", "plain lines (built without readline)");
#endif
    return session_call(L, "neap.interp.doctor", "report", 1);
}
