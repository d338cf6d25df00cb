/* vm_ptx.h: what tests ask of the PTX of kernels: that it says how each operation rounds, and that ptxas assembles it.
 *
 * All texts for every target take a minute; so each is written and assembled for one, by turns, quickly, and with
 * NEAP_PTX=all for all, as drivers do it. */
#ifndef NEAP_TESTS_LAZY_VM_PTX_H
#define NEAP_TESTS_LAZY_VM_PTX_H

#include <unistd.h>

#include "lazy/native/gpu.h"
#include "tests/check.h"

static const char *ptxas; /* NULL: there is none */
static int ptx_assembled;

/* Finds ptxas: NEAP_PTXAS, or where it is installed. */
static inline void ptx_begin(void) {
    static const char *const places[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas", "/opt/cuda/bin/ptxas"};
    ptxas = getenv("NEAP_PTXAS");
    for (int k = 0; k < 3 && !ptxas; k++)
        if (access(places[k], X_OK) == 0)
            ptxas = places[k];
    if (!ptxas)
        fprintf(stderr, "0 passed, 0 failed, 1 skipped\nskipped assembling PTX: no ptxas was found\n");
}

static inline void ptx_assemble(const char *file, const char *target, const char *level) {
    char command[600];
    snprintf(command, sizeof command, "'%s' -arch=%s -O%s '%s' -o '%s.cubin'", ptxas, target, level, file, file);
    if (!CHECK_EQ(system(command), 0))
        fprintf(stderr, "for %s\n", target);
    snprintf(command, sizeof command, "%s.cubin", file);
    ptx_assembled += remove(command) == 0;
}

/* Each operation rounds by itself, to nearest, and keeps subnormal numbers: nothing is left to ptxas. */
static inline void ptx_check(const char *text) {
    static const char *const forbidden[] = {".ftz",       ".approx",    "div.full",   "\tadd.f32 ", "\tadd.f64 ",
                                            "\tsub.f32 ", "\tsub.f64 ", "\tmul.f32 ", "\tmul.f64 ", ".extern"};
    for (size_t k = 0; k < sizeof forbidden / sizeof *forbidden; k++)
        if (!CHECK(!strstr(text, forbidden[k])))
            fprintf(stderr, "PTX with %s\n", forbidden[k]);
}

static inline void ptx_try_for(const gpu_kernel *kernel, const char *target, const char *level) {
    char *text = NULL, path[] = "/tmp/neap-ptx-XXXXXX";
    size_t bytes = 0;
    if (!CHECK_EQ(gpu_text(kernel, target, &text, &bytes), NEAP_OK)) {
        fprintf(stderr, "%s\n", neap_error_text());
        return;
    }
    ptx_check(text);
    int file = mkstemp(path);
    if (ptxas && CHECK(file >= 0) && CHECK_EQ(write(file, text, bytes), bytes))
        ptx_assemble(path, target, level);
    close(file), remove(path);
    free(text);
}

/* `turn` says for which target. */
static inline void ptx_try(const gpu_kernel *kernel, int turn) {
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90", "sm_100"};
    enum { TARGETS = sizeof targets / sizeof *targets };
    const char *how = getenv("NEAP_PTX");
    const bool all = how && strcmp(how, "all") == 0;
    for (int k = 0; k < TARGETS; k++)
        if (all || k == turn % TARGETS)
            ptx_try_for(kernel, targets[k], all ? "3" : "0");
}

#endif
