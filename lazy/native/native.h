/* native.h: loops as machine code of CPUs.
 *
 * Code is made of loops (lazy/loop/loop.h) whose elements lie one after the other, or are one for all. Arithmetic comes
 * from the kernel texts of the op rows, as in the VM's loops, and gives the same bits. A *body* is
 *
 *   - one loop, of one axis: a segment of a program of the VM (vm/segments.c), whose n elements go from the loads
 *     through registers to the sinks. Of y = 2 x + 1 with the sum of y, x = 0, 1, … 999 in f32:
 *
 *         shape {0}, nkept 0   of how many elements, the code is told: n = 1000
 *         load 0   BUFFER, slot 0, stride 1        at[0]: x
 *         load 1   BUFFER, slot 1, stride 0        at[1]: 2
 *         load 2   BUFFER, slot 2, stride 0        at[2]: 1
 *         value 3  multiply 0, 1;  value 4  add 3, 2
 *         sink 0   STORE 4, slot 3, stride 1       at[3]: 1, 3, 5, … 1999
 *         sink 1   REDUCE sum of 4, slot 4         at[4]: 65536, 196608, 327680, 410176: the leaves (lazy/loop/tree.h)
 *
 *   - or a sequence of loops, which is a loop of a program (lazy/loop/sequence.h).
 *
 * The generator is a plugin, neap_native.so, around LLVM. A thread of its own makes code, in the order in which it was
 * asked for, and nobody waits for it: who asks looks again at the next run. Code is kept by body and instruction set:
 * equal bodies share it. Later processes find it in a folder of files (native/cache.c).
 */
#ifndef LAZY_NATIVE_NATIVE_H
#define LAZY_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lazy/loop/sequence.h"

enum { NATIVE_FOLDS_MAX = 8, NATIVE_FEW = 64 };

typedef struct native_body {
    int nloops;
    const lazy_kernel *loops;
    /* NULL: there is one loop. In registers the axis of the loop has the n elements that the code is told, or, with an
     * extent, NATIVE_FEW at most. */
    const loop_sequence *sequence;
    /* Without a sequence: the n elements are a row, and the leaves of reductions are combined, into the first one; else
     * there is one result for each leaf, the last of which may be short. */
    bool whole_rows;
    /* Without a sequence, by load, then by sink: a load is asked for early, as it comes from memory; a sink goes past
     * the caches, if it lies where a vector may begin. NULL: none does. */
    const bool *far;
} native_body;

/* Without a sequence. at[k]: slot k. A sink may lie exactly over a load of the same width; what depends on single
 * elements alone is one element, too. */
typedef void (*native_code)(char *const *at, int64_t n);

/* Of a sequence: runs at most so many iterations, and returns their number, which is smaller if the condition ended
 * them. moves[k]: the bytes by which place k moves. In registers at[] holds the places of the first iteration; in the
 * end carried values are written over their loads' places. Through memory at[] holds both sets of places, of the first
 * iteration and of the second, both as in the first; then the function for calls, and its first argument; n has no use.
 * Such a function returns 0 or a failure, after which the code returns ~iterations, of those that are over. */
typedef int64_t (*native_loop)(char *const *at, const int64_t *moves, int64_t n, int64_t iterations);
typedef int32_t (*native_call)(void *context, int64_t which, void **data);

/* Is there a function for the instruction, whatever it reads? */
bool native_has(int op, int dtype, int result);
/* The same of a reduction. */
bool native_has_fold(int op, int dtype);

/* ---- Code -------------------------------------------------------------------------------------------------------- */
typedef enum native_state { NATIVE_WAITS, NATIVE_READY, NATIVE_FAILED } native_state;
typedef struct native_unit native_unit;

/* The code of a body for an instruction set (vm_isa_name), which will be made if nobody has asked for it yet. OWNED
 * (native_drop); NULL: there is no memory. Any thread. */
native_unit *native_want(const native_body *body, const char *isa);
/* The same, but for now it is only looked for in the files of earlier processes, which takes a fraction of a
 * millisecond; without one it stays NATIVE_WAITS until somebody insists, or wants it. */
native_unit *native_seek(const native_body *body, const char *isa);
void native_insist(native_unit *unit);
native_state native_state_of(const native_unit *unit);
/* Of a unit that is ready. It stays until the unit is dropped. */
native_code native_code_of(const native_unit *unit);
native_loop native_loop_of(const native_unit *unit); /* of a sequence */
void native_drop(native_unit *unit);
/* Why a unit has failed. It stays until the unit is dropped. */
const char *native_failure(const native_unit *unit);
/* Whether what is made from now on is waited for. The thread keeps its priority as long as it is; lowered, that stays
 * low. */
void native_hurry(bool hurry);
/* Waits until it is no longer NATIVE_WAITS; in a child of a fork it stays that for ever, and nobody waits. */
void native_await(const native_unit *unit);

/* Whether there is a generator, and what it says of itself ("LLVM 19.1.7"), or why there is none. It is loaded for
 * that: not for users of a running session. */
bool native_available(char *text, size_t bytes);

#endif
