/* turns_stages.h: what makes stages of lazy/native of the bodies of a loop. Private to turns_stages.c and turns.c.
 *
 * Items become stages in their order, on the memory that interpreted turns use. A kernel whose operands are rows of
 * elements that lie in one piece, or single ones, is a stage of maps; what is no such kernel, and what else there is,
 * is called. The branches of a node become stages behind a test, and the body of a function that is called stands where
 * it is called; loops inside are called, and may have code of their own.
 */
#ifndef LAZY_TURNS_STAGES_H
#define LAZY_TURNS_STAGES_H

#include "lazy/control/turns.h"

typedef struct turns_stager {
    const lazy_runner *runner;
    const char *why;      /* the loop has no such code */
    int weight;           /* what making its code takes */
    int maps;             /* stages of maps */
    int64_t inner;        /* ns that loops inside take */
    native_stages stages; /* without its arrays */
    LAZY_VECTOR(native_stage) list;
    LAZY_VECTOR(native_input) inputs;
    LAZY_VECTOR(native_operand) reads, writes; /* by input, by output */
    LAZY_VECTOR(native_ins) ins;               /* their operands: instructions, or ~input */
    LAZY_VECTOR(int32_t) outputs;              /* the same, or STAGER_RESULT + fold */
    LAZY_VECTOR(native_fold) folds;
    LAZY_VECTOR(int32_t) pointers;
    LAZY_VECTOR(turns_place) places;
    LAZY_VECTOR(turns_call) calls;
    LAZY_VECTOR(lazy_scalar) constants;
} turns_stager;

enum { STAGER_RESULT = 1 << 30 };

/* Goes through the bodies. false: the loop has no such code, or there is no memory, as s->why says. */
bool stager_run(turns_stager *s);
void stager_free(turns_stager *s);

#endif
