/* status.c: status codes, each thread's error text, and the errors of an engine that cannot serve. */
#include "engine/engine_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int neap_error(int code, const char *format, ...) {
    char text[sizeof((engine_thread *)0)->text]; /* the arguments may point into the old text */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    engine_thread *self = engine_self();
    memcpy(self->text, text, strlen(text) + 1);
    self->code = code;
    self->errors++;
    return code;
}

const char *neap_error_text(void) {
    return engine_self()->text;
}

int neap_error_code(void) {
    return engine_self()->code;
}

const char *neap_status_text(int code) {
    switch (code) {
#define STATUS_CASE(name, value, text)                                                                                 \
    case value:                                                                                                        \
        return text;
        NEAP_STATUS_ROWS(STATUS_CASE)
#undef STATUS_CASE
    case NEAP_OK:
        return "ok";
    case NEAP_PENDING:
        return "pending";
    case NEAP_SAFEPOINT:
        return "the caller has something to do first";
    default:
        return "unknown status";
    }
}

/* ---- Whether the engine can serve -------------------------------------------------------------------------------- */

int engine_check_alive(void) {
    if (engine_phase() != ENGINE_DEAD)
        return NEAP_OK;
    return neap_error(NEAP_E_STATE, "the engine does not survive a fork: this process is a child of the one that "
                                    "loaded it; start a new process instead");
}

int engine_check_running(void) {
    switch (atomic_load(&engine.phase)) {
    case ENGINE_RUNNING:
        return NEAP_OK;
    case ENGINE_DEAD:
        return engine_check_alive();
    case ENGINE_CLOSED:
        return neap_error(NEAP_E_STATE, "the engine is stopping");
    default:
        return neap_error(NEAP_E_STATE, "the engine was not started");
    }
}
