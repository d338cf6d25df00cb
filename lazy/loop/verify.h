/* verify.h: can a loop, or a sequence of loops, be run (verify.c)? In debug builds each pass checks its own output. */
#ifndef LAZY_LOOP_VERIFY_H
#define LAZY_LOOP_VERIFY_H

#include "lazy/loop/sequence.h"

typedef struct loop_fault {
    int rule; /* of verify.c */
    char text[160];
} loop_fault;

/* Does instruction i have the dtypes of its row (rule 4)? false: with the fault. */
typedef bool (*loop_dtype_rule)(const lazy_kernel *loop, int i, loop_fault *fault);

/* Writes the fault; false. */
__attribute__((format(printf, 3, 4))) bool loop_breaks(loop_fault *fault, int rule, const char *format, ...);
/* Rule 1; rules 2 and 7 of load k. */
bool loop_check_domain(const lazy_kernel *loop, loop_fault *fault);
bool loop_check_load(const lazy_kernel *loop, int k, loop_fault *fault);
/* Rules 1 to 8, without the nodes behind loads and sinks. `dtypes` may be NULL. 0, NEAP_E_MEMORY, or NEAP_E_INTERNAL
 * with the fault; no error is set. */
int loop_check(const lazy_kernel *loop, loop_dtype_rule dtypes, loop_fault *fault);
/* The elements of a box; -1: beyond 64 bits. */
int64_t loop_count_elements(int n, const int64_t *shape);

/* The same; the error names the pass. */
int loop_verify(const lazy_kernel *loop, const char *pass);
/* All loops of a sequence, and rules 9 to 12. */
int loop_verify_sequence(const loop_sequence *sequence, int nloops, const lazy_kernel *loops, const char *pass);
#ifdef NDEBUG
#define LOOP_VERIFY(loop, pass) 0
#define LOOP_VERIFY_SEQUENCE(sequence, nloops, loops, pass) 0
#else
#define LOOP_VERIFY(loop, pass) loop_verify(loop, pass)
#define LOOP_VERIFY_SEQUENCE(sequence, nloops, loops, pass) loop_verify_sequence(sequence, nloops, loops, pass)
#endif

#endif
