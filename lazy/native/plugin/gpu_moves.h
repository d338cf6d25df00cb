/* gpu_moves.h: elements that are only moved, and places of values in lines, as phases: boxes at a place that is data,
 * copies, searches. A thread has an element of the result, or of what is written.
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_MOVES_H
#define LAZY_NATIVE_PLUGIN_GPU_MOVES_H

#include "lazy/native/plugin/gpu_phase.h"

PHASE(copy, begin, 0) {
    if (THREAD_OF_ALL < words[GPU_MOVE_SIZE])
        ((OWN_T *)at[1])[THREAD_OF_ALL] = ((const OWN_T *)at[0])[THREAD_OF_ALL];
}

/* ---- Boxes ------------------------------------------------------------------------------------------------------- */
typedef struct box_spot {
    uint64_t array, box; /* where an element is in the array, and in the box */
} box_spot;

/* Starts count from 0, negative ones from the end; then the box is moved into the array. */
static inline box_spot box_spot_of(const uint64_t *words, const int64_t *starts, uint64_t i) {
    box_spot spot = {0};
    STRAIGHT for (int k = GPU_BOX_AXES - 1; k >= 0; k--) {
        const uint64_t *axis = words + GPU_BOX_FIRST + k * GPU_BOX_WORDS;
        if (axis[GPU_BOX_SIZE] == 0) /* there is no such axis */
            continue;
        const int64_t most = (int64_t)(axis[GPU_BOX_EXTENT] - axis[GPU_BOX_SIZE]);
        const int64_t given = most > 0 ? starts[k * (int64_t)words[GPU_BOX_STARTS]] : 0;
        const int64_t up = given < 0 ? given + (int64_t)axis[GPU_BOX_EXTENT] : given;
        const uint64_t start = (uint64_t)(up < 0 ? 0 : up > most ? most : up), digit = i % axis[GPU_BOX_SIZE];
        i /= axis[GPU_BOX_SIZE];
        spot.array += (start + digit) * axis[GPU_BOX_STRIDE];
        spot.box += digit * axis[GPU_BOX_OWN_STRIDE];
    }
    return spot;
}

PHASE(box_read, begin, 0) {
    if (THREAD_OF_ALL < words[GPU_MOVE_SIZE]) {
        const box_spot spot = box_spot_of(words, (const int64_t *)at[1], THREAD_OF_ALL);
        ((OWN_T *)at[2])[spot.box] = ((const OWN_T *)at[0])[spot.array];
    }
}
PHASE(box_write, begin, 0) {
    if (THREAD_OF_ALL < words[GPU_MOVE_SIZE]) {
        const box_spot spot = box_spot_of(words, (const int64_t *)at[2], THREAD_OF_ALL);
        ((OWN_T *)at[3])[spot.array] = ((const OWN_T *)at[1])[spot.box];
    }
}

/* ---- Searches ---------------------------------------------------------------------------------------------------- */
#if defined(OWN_ORDERED)
/* NaN stands last. */
static inline bool is_before(OWN_T a, OWN_T value, bool right) {
    if (value != value)
        return right || a == a;
    return right ? a <= value : a < value;
}

PHASE(search, begin, 0) {
    const uint64_t i = THREAD_OF_ALL, n = words[GPU_SEARCH_LENGTH];
    if (i >= words[GPU_MOVE_SIZE])
        return;
    const OWN_T *line = (const OWN_T *)at[0] + i / words[GPU_SEARCH_EACH] * n, value = ((const OWN_T *)at[1])[i];
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (is_before(line[middle], value, words[GPU_SEARCH_RIGHT] != 0))
            low = middle + 1;
        else
            high = middle;
    }
    ((int32_t *)at[2])[i] = (int32_t)low;
}
#endif

#endif
