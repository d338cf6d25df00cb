/* float_mode.c: small ops run on the pushing thread, in the engine's rounding mode: the start sets it, and debug builds
 * notice that a foreign library has changed it, and put it back. */
#include <fenv.h>
#include <stdio.h>

#include "engine/engine_internal.h"

static int look(void *good, const neap_run *run) {
    (void)run;
    *(bool *)good = engine_float_mode_good();
    return NEAP_OK;
}

static bool good_in_op(void) {
    bool good = false;
    neap_push_sync(look, &good, &(neap_push){.name = "look", .flags = NEAP_PUSH_SMALL});
    return good;
}

int main(void) {
    int failed = 0;
    fesetround(FE_UPWARD);
    if (neap_engine_start(NULL) || !good_in_op()) {
        failed++;
    }
#if NEAP_DEBUG
    fesetround(FE_UPWARD);
    failed += !good_in_op() || fegetround() != FE_TONEAREST;
#endif
    neap_engine_stop();
    printf("%d passed, %d failed\n", 1 - !!failed, failed);
    return failed != 0;
}
