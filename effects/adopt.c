/* adopt.c: text that C code has left in stdout's buffer (puts and printf, called by way of the FFI) becomes an effect.
 *
 * C's library keeps text for a pipe or a file until its buffer is full, so it would come after all that is printed
 * later. Whoever pushes an effect, waits for them, or opens or closes a callback takes such text out of the buffer
 * first: so it stands behind what was printed before it, whenever that happens, and before what comes next. What C's
 * library has written by itself, because the buffer was full or stdout is a terminal, is out already.
 */
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "effects/effects_internal.h"

typedef struct adopted {
    size_t bytes;
    char text[];
} adopted;

static int write_adopted(void *arg, const neap_run *run) {
    adopted *taken = arg;
    (void)run;
    return neap_out_write(NEAP_STDOUT, taken->text, taken->bytes);
}

/* Takes what the buffer holds. OWNED. NULL: it has been written instead, as C's library does. */
static adopted *take_buffer(void) {
    adopted *taken = NULL;
    flockfile(stdout);
#ifdef __GLIBC__
    size_t bytes = __fpending(stdout);
    if (fwide(stdout, 0) <= 0 && (taken = engine_alloc(sizeof *taken + bytes)) != NULL) {
        taken->bytes = bytes;
        memcpy(taken->text, stdout->_IO_write_ptr - bytes, bytes);
        __fpurge(stdout);
    }
#endif
    if (!taken)
        fflush(stdout);
    funlockfile(stdout);
    return taken;
}

void neap_effects_adopt(neap_effects *effects) {
    if (__fpending(stdout) == 0 || fileno(stdout) != STDOUT_FILENO || engine_check_running() != NEAP_OK)
        return;
    adopted *taken = take_buffer();
    neap_push push = {.name = "stdout", .release = free, .flags = NEAP_PUSH_SMALL};
    if (taken && neap_effects_push(effects, NEAP_EFFECT_WRITE, 1, write_adopted, taken, &push) != NEAP_OK) {
        write_adopted(taken, NULL);
        free(taken);
    }
}
