/* turns_parts.c: gathering inputs, instructions, places and constants (turns_parts.h). */
#include "lazy/control/turns_parts.h"

bool turns_refuse(turns_parts *parts, const char *why) {
    parts->why = parts->why ? parts->why : why;
    return false;
}

bool turns_pushed(turns_parts *parts, int status) {
    return status == 0 || turns_refuse(parts, "out of memory");
}

int turns_dtype_of(const turns_parts *parts, int32_t value) {
    return value < 0 ? parts->inputs.at[~value].dtype : parts->ins.at[value].result;
}

bool turns_add_constant(turns_parts *parts, int64_t bytes, turns_place *place) {
    const int64_t offset = parts->constants.n * (int64_t)sizeof(lazy_scalar);
    if (bytes > TURNS_CONSTANT_BYTES)
        return turns_refuse(parts, "its turns count too far");
    *place = (turns_place){.from = TURNS_CONSTANT, .address.offset = offset};
    for (int64_t k = 0; k * (int64_t)sizeof(lazy_scalar) < bytes; k++)
        if (!turns_pushed(parts, lazy_push(&parts->constants, (lazy_scalar){0})))
            return false;
    return true;
}

void turns_parts_free(turns_parts *parts) {
    lazy_vector_free(&parts->inputs);
    lazy_vector_free(&parts->ins);
    lazy_vector_free(&parts->places);
    lazy_vector_free(&parts->constants);
}
