/* gpu_call.h: whole-array ops as launches on GPUs, the contract between the code of their phases (plugin/gpu_*.h,
 * compiled to bitcode) and those who plan launches (lazy/vm/gpu_calls.h).
 *
 * An *entry* is what a launch runs: phases, with a barrier between any two, in three sections. A phase is a function of
 * plugin/gpu_call_rows.c, phase_ENTRY_SECTIONk:
 *
 *      begin0, begin1, …     once
 *      turn0, turn1, …       together, as often as the word GPU_CALL_TURNS says
 *      end0, end1, …         once
 *
 * Its parameters are the operands of the op, the result last, then scratch, then GPU_CALL_WORDS words: those of every
 * launch, then those of the family of ops. Operands are row-major
 * but where strides are among the words.
 */
#ifndef LAZY_NATIVE_GPU_CALL_H
#define LAZY_NATIVE_GPU_CALL_H

enum { GPU_CALL_THREADS = 256 }; /* of a group */

enum gpu_call_word {
    GPU_CALL_TURNS,
    GPU_CALL_STEP, /* which launch of its kind it is */
    GPU_CALL_OWN,
    GPU_CALL_WORDS = GPU_CALL_OWN + 32
};

/* Draws: a thread makes element i of those under key i / EACH. */
enum {
    GPU_DRAW_SIZE = GPU_CALL_OWN, /* of all draws */
    GPU_DRAW_EACH,                /* of one */
    GPU_DRAW_LOW,                 /* integers: the bounds of an element are those of (gpu_bound) */
    GPU_DRAW_HIGH,
    GPU_DRAW_FLAG /* integers: `inclusive`; gamma: `logarithm` */
};
enum gpu_bound { GPU_BOUND_ONE, GPU_BOUND_KEY, GPU_BOUND_ELEMENT };

/* Scans: a group takes TOGETHER lines, or a block of each of so many, in turns of GROUPS times 16 elements, a thread
 * for each 16. Where lines have several BLOCKS there is scratch of an element for each. */
enum {
    GPU_SCAN_LENGTH = GPU_CALL_OWN, /* elements of a line */
    GPU_SCAN_LINES,
    GPU_SCAN_INNER, /* from one element of a line to the next */
    GPU_SCAN_REVERSE,
    GPU_SCAN_TOGETHER,
    GPU_SCAN_GROUPS,
    GPU_SCAN_BLOCKS
};
enum {
    GPU_SCAN_AT_ONCE = 256,              /* blocks of a line that are put in order in one turn */
    GPU_SCAN_SHARED = 256 * 17 + 3 * 256 /* elements of a group in shared memory */
};

/* Sorts: pairs of a key and a place; each is another one, so there is one order. A group sorts a tile of 1 << TILE
 * pairs: 1 << RUN elements of each of some lines, or a part of one. Parts of a line are merged in MERGES launches,
 * GPU_SORT_WAYS runs into one; a group makes half of the pairs that its memory has room for. Scratch holds all pairs
 * twice. */
enum {
    GPU_SORT_LENGTH = GPU_CALL_OWN,
    GPU_SORT_LINES,
    GPU_SORT_INNER,
    GPU_SORT_TILE,
    GPU_SORT_RUN,
    GPU_SORT_MERGES,
    GPU_SORT_DESCENDING,
    GPU_SORT_KEPT,  /* elements of each line that the result has */
    GPU_SORT_PLACES /* the result is places, not elements */
};
enum {
    GPU_SORT_SHORT_LOG = 11,   /* of a tile of lines of so many pairs at most */
    GPU_SORT_BYTES = 32 << 10, /* of a tile of longer lines, and of what a group merges */
    GPU_SORT_WAYS_LOG = 2,
    GPU_SORT_WAYS = 1 << GPU_SORT_WAYS_LOG,
    GPU_SORT_SAMPLES = 32, /* of a run, with which a group looks for one end of its part */
    GPU_SORT_SHARED = 256, /* bytes behind the pairs: where it looks */
};

/* Rows written at places that are data. Those that are added are found by sorting the places: words of sorts are set,
 * for one line of them. Those that are set have scratch of a word for each row. */
enum {
    GPU_PUT_OUTER = GPU_SORT_PLACES + 1,
    GPU_PUT_SIZE, /* rows of the result */
    GPU_PUT_INNER,
    GPU_PUT_COUNT, /* of indices */
    GPU_PUT_INDEX  /* their dtype */
};

/* What is moved, and searches. Axes of boxes are counted from the first one, those that are missing have size 0. */
enum {
    GPU_MOVE_SIZE = GPU_CALL_OWN, /* elements that are moved; values that are searched for */
    GPU_SEARCH_LENGTH,            /* elements of a line */
    GPU_SEARCH_EACH,              /* values for each line */
    GPU_SEARCH_RIGHT,
    GPU_BOX_STARTS = GPU_MOVE_SIZE + 1, /* from one start to the next, in elements */
    GPU_BOX_FIRST                       /* GPU_BOX_WORDS of each axis */
};
/* Of an axis: elements of the box, of the array; from one element to the next in the array, and in the box. */
enum { GPU_BOX_SIZE, GPU_BOX_EXTENT, GPU_BOX_STRIDE, GPU_BOX_OWN_STRIDE, GPU_BOX_WORDS, GPU_BOX_AXES = 6 };

#endif
