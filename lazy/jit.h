/* jit.h: public interface of the lazy room, third part: how a call of a jitted function finds its program.
 *
 * Lua checks how the arguments are put together: which of them are arrays, numbers, tables with which keys, and what is
 * static. What is left are *leaves*, arrays and numbers in a fixed order, and after them the variables around the
 * function that held arrays when it was recorded. A *form* stands for one such order; its *entries* are the programs
 * recorded for it, which differ by shapes, dtypes, weakness and devices of the leaves:
 *
 *      neap_jit ──▶ form ──▶ entry (used last) ──▶ entry ──▶ …
 *                    │         └─ program, what each leaf is for it, ids of its results
 *                    └─ leaves of the call at hand
 *
 * A call compares the leaves with the entry used last, then with those that a hash of what the leaves are leads to, and
 * runs the program of the one that fits; or, if a leaf belongs to an
 * open level, records the program's ops again. It does not matter how the memory of an argument is laid out. The
 * entries of a context take a bounded number of bytes: the one that was used longest ago goes first.
 */
#ifndef NEAP_JIT_H
#define NEAP_JIT_H

#include "lazy/programs.h"

typedef struct neap_jit neap_jit;
typedef struct neap_form neap_form;

enum { NEAP_JIT_DIRECT = 24 }; /* leaves that can be passed to neap_jit_call itself */

/* keeps: what programs compute of captured arrays, such as weights, is kept too (NEAP_LEAF_KEPT). OWNED */
NEAP_API int neap_jit_new(neap_ctx *ctx, int keeps, neap_jit **out);
NEAP_API void neap_jit_free(neap_jit *jit); /* with its forms */
/* A form of n leaves; numbers[k] is 1 if leaf k is a number. BORROWED from the jit. */
NEAP_API int neap_jit_form(neap_jit *jit, int n, const uint8_t *numbers, neap_form **out);
/* Where the leaves of the next call are written: ids of arrays (0: no array), and values of numbers. BORROWED. */
NEAP_API int32_t *neap_form_ids(neap_form *form);
NEAP_API double *neap_form_numbers(neap_form *form);

/* What a leaf is for an entry. */
enum {
    NEAP_LEAF_INPUT,   /* the next input of its program */
    NEAP_LEAF_DONATED, /* the same, and the call may use up the array */
    NEAP_LEAF_KEPT,    /* the same; what is computed of such inputs alone is kept for calls with the same arrays */
    NEAP_LEAF_SAME,    /* it must be this very array: one made of constructors, which the program makes itself */
    NEAP_LEAF_NONE     /* there must be no array */
};
/* Adds an entry for the leaves in the form. TAKES the program if it succeeds. The inputs of the program that follow
 * those of the leaves are these nfixed arrays. plain: its only result is an array, which a call returns. *number is
 * never used again; *results is BORROWED from the entry. */
NEAP_API int neap_form_add(neap_form *form, neap_program *program, const uint8_t *uses, int nfixed,
                           const int32_t *fixed, int plain, int32_t *number, const int32_t **results);
/* Calls with as many leaves as the form has: neap_handle * (NULL: no array) and double. Returns the id of the result of
 * a plain entry; else minus the number of the entry, where the ids of its results are; 0: ask neap_form_outcome. */
NEAP_API int32_t neap_jit_call(neap_form *form, ...);
/* The same with the leaves in neap_form_ids and neap_form_numbers. Also repeats a call that returned NEAP_PENDING, or
 * NEAP_E_MEMORY. */
NEAP_API int32_t neap_jit_repeat(neap_form *form);
/* The status of the last call, and the entry that fitted; 0: none did, and the status is NEAP_OK. */
NEAP_API int neap_form_outcome(neap_form *form, int32_t *number);

/* ---- Donation ------------------------------------------------------------------------------------------------------
 * An array that is donated is deleted by the call; its memory becomes that of a result, or is freed after its last
 * reader. Work that was recorded and reads it is started first. If something else may still read it, the call leaves
 * its memory alone, and takes as much as without donation. Under an open level nothing is donated. */
enum { /* why an array that was donated kept its memory */
       NEAP_KEPT_NOT,
       NEAP_KEPT_LEVEL,   /* a gradient or a trace is open; it was not deleted */
       NEAP_KEPT_NUMBER,  /* it has no memory of its own: a constant, or made of constructors */
       NEAP_KEPT_VIEW,    /* views, work that was not computed, or programs refer to it */
       NEAP_KEPT_SHARED,  /* its memory is shared with another array */
       NEAP_KEPT_ARGUMENT /* it is among the arguments twice */
};
/* The script line of the next call that donates, for those who use the arrays later. Copied. */
NEAP_API int neap_form_site(neap_form *form, const char *site);

/* ---- Looking at it ----------------------------------------------------------------------------------------------- */
typedef struct neap_entry_info {
    int64_t hits, bytes;        /* bytes: of its program, its plan, and the arrays that it captured */
    int64_t donated, overwrote; /* donated arrays; those of them whose memory was taken over or freed */
    int32_t kept;               /* why the last array that kept its memory did so, NEAP_KEPT_… */
    int32_t leaf;               /* which leaf that array was, from 0 */
    int32_t captures;           /* arrays that its program captured */
    int32_t kept_steps;         /* steps that kept inputs alone lead to; known once the program was planned */
    int64_t kept_bytes;         /* what these make for others, and calls make of that */
} neap_entry_info;
/* NEAP_E_ARGUMENT: the entry is there no more. */
NEAP_API int neap_form_entry(neap_form *form, int32_t number, neap_entry_info *out);
/* The numbers of entries of the form, the one used last first. Returns how many were written. */
NEAP_API int neap_form_recent(const neap_form *form, int capacity, int32_t *numbers);
/* The number of an entry of any form of the jit that has been dropped, each once; 0: no more. */
NEAP_API int32_t neap_jit_dropped(neap_jit *jit);
/* What an entry wants leaf k to be. */
NEAP_API int neap_form_wants(neap_form *form, int32_t number, int k, neap_info *out);
/* BORROWED from the entry, which may go with the next call that adds one. NULL: the entry is there no more. */
NEAP_API neap_program *neap_form_program(neap_form *form, int32_t number);
/* Bytes that all entries of the context may take (0: as at the start), and those that they take. */
NEAP_API void neap_jit_limit(neap_ctx *ctx, int64_t bytes);
NEAP_API int64_t neap_jit_bytes(neap_ctx *ctx);
/* Frees what programs keep for arguments that stay the same (NEAP_LEAF_KEPT). The next calls compute it again. */
NEAP_API void neap_kept_forget(neap_ctx *ctx);
/* Forgets the entries of all jitted functions of a context, and all its plans. */
NEAP_API void neap_caches_clear(neap_ctx *ctx);

#endif
