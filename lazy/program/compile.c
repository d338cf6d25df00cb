/* compile.c: the native code of a program before it runs, which else comes once its kernels and loops have run for a
 * while (vm/tier.c, control/lower.c).
 */
#include "lazy/program/program.h"

/* Is some code of the step still being made? */
static bool compile_step(const neap_program *program, const lazy_step *step) {
    if (step->kind == LAZY_STEP_KERNEL)
        return step->backend->compile && step->backend->compile(&step->kernel);
    return step->payload && step->payload->compile &&
           step->payload->compile(program->region.at[step->node], step->device);
}

int neap_program_compile(neap_program *program) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    const neap_program *runs = program_lowered(program);
    if (!runs)
        return neap_error_code();
    bool waits = false;
    for (int32_t s = 0; s < runs->plan->nsteps; s++) /* all are asked for before the first is waited for */
        waits |= compile_step(runs, runs->plan->steps[s]);
    return waits ? NEAP_PENDING : NEAP_OK;
}
