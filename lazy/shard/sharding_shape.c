/* shard/sharding_shape.c: shardings of what is made of arrays: stacks and parts of them, what holds two values, and
 * their text (shape.h).
 */
#include <stdio.h>
#include <string.h>

#include "lazy/shard/shape.h"

/* Moves what divides axis k to axis k + by; what leaves is lost. */
static const lazy_sharding *shifted(const lazy_sharding *of, int by) {
    lazy_sharding like = *of;
    memset(like.split, 0, sizeof like.split);
    for (int k = by < 0 ? -by : 0; k < NEAP_MAX_DIMS && k + by < NEAP_MAX_DIMS; k++)
        memcpy(like.split[k + by], of->split[k], sizeof *like.split);
    return shard_sharding_intern(&like);
}

const lazy_sharding *shard_sharding_stacked(const lazy_sharding *sharding) {
    return shifted(sharding, 1);
}

const lazy_sharding *shard_sharding_part(const lazy_sharding *sharding) {
    return shifted(sharding, -1);
}

const lazy_sharding *shard_sharding_joined(const lazy_sharding *sharding) {
    lazy_sharding like = *sharding;
    memset(like.split[0], 0, sizeof like.split[0]);
    return shard_sharding_intern(&like);
}

const lazy_sharding *shard_sharding_whole(const lazy_sharding *of) {
    lazy_sharding like = *of;
    memset(like.split, 0, sizeof like.split);
    like.varies = of->unchecked;
    like.differs = like.unreduced = like.reduced = 0;
    return shard_sharding_intern(&like);
}

const lazy_sharding *shard_sharding_apart(const lazy_sharding *of, uint32_t distinct) {
    lazy_sharding like = *of;
    memset(like.split, 0, sizeof like.split);
    like.varies = like.differs = distinct;
    like.unreduced = like.reduced = 0;
    return shard_sharding_intern(&like);
}

int shard_sharding_cover(const char *op, const lazy_sharding *a, const lazy_sharding *b, const lazy_sharding **out) {
    *out = a ? a : b;
    if (!a || !b || a == b)
        return 0;
    if (a->mesh != b->mesh)
        return neap_error(NEAP_E_ARGUMENT, "%s: the arrays lie on different meshes", op);
    lazy_sharding like = *a;
    like.manual |= b->manual;
    like.varies |= b->varies;
    like.differs |= b->differs;
    like.unchecked |= b->unchecked;
    like.unreduced |= b->unreduced & ~like.varies;
    like.reduced |= b->reduced & ~like.varies;
    if (like.unreduced & (like.reduced | a->splits | like.varies))
        return neap_error(NEAP_E_ARGUMENT,
                          "%s: of two arrays that are to lie alike one is unreduced over an axis of the mesh which the "
                          "other varies over, is reduced over, or is divided by; np.reshard or np.pcast changes that",
                          op);
    like.reduced &= ~a->splits;
    return (*out = shard_sharding_intern(&like)) ? 0 : NEAP_E_MEMORY;
}

bool shard_sharding_serves(const lazy_sharding *is, const lazy_sharding *want) {
    if (is == want || !is || !want)
        return is == want;
    return is->mesh == want->mesh && is->manual == want->manual && is->varies == want->varies &&
           is->unchecked == want->unchecked && is->unreduced == want->unreduced && is->reduced == want->reduced &&
           !(is->differs & ~want->differs) && memcmp(is->split, want->split, sizeof is->split) == 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */
typedef struct spec_words {
    char *text;
    size_t capacity, at;
} spec_words;

static void put_word(spec_words *w, const char *word) {
    for (; *word && w->at + 1 < w->capacity; word++)
        w->text[w->at++] = *word;
}

/* "i", "(j,i)", "-" */
static void put_split(spec_words *w, const lazy_mesh *mesh, const uint8_t *split) {
    put_word(w, !split[0] ? "-" : split[1] ? "(" : "");
    for (int k = 0; k < NEAP_MESH_AXES && split[k]; k++) {
        put_word(w, k ? "," : "");
        put_word(w, mesh->names[split[k] - 1]);
    }
    put_word(w, split[0] && split[1] ? ")" : "");
}

/* "V:i,j" of the axes in the mask, behind `between`; "": there are none. Returns whether there were. */
static bool put_axes(spec_words *w, const lazy_mesh *mesh, const char *between, const char *what, uint32_t mask) {
    for (int k = 0; k < mesh->naxes; k++)
        if (mask >> k & 1) {
            put_word(w, between);
            put_word(w, what);
            put_word(w, mesh->names[k]);
            between = ",";
            what = "";
        }
    return mask != 0;
}

const char *shard_sharding_text(const lazy_sharding *s, int ndim, char *text, size_t capacity) {
    spec_words w = {.text = text, .capacity = capacity};
    put_word(&w, "{");
    for (int a = 0; a < ndim && s->splits; a++) {
        put_word(&w, a ? "," : "");
        put_split(&w, s->mesh, s->split[a]);
    }
    bool any = s->splits != 0;
    any |= put_axes(&w, s->mesh, any ? ";" : "", "V:", s->varies);
    any |= put_axes(&w, s->mesh, any ? ";" : "", "U:", s->unreduced);
    put_axes(&w, s->mesh, any ? ";" : "", "R:", s->reduced);
    put_word(&w, "}");
    text[w.at] = 0;
    return text;
}
