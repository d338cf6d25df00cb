/* exchange.h: collectives between processes as nodes of the graph: the row `exchange` (ops/exchange.c).
 *
 * What is exchanged between whom is a *pattern*, interned as shardings are: equal ones are one pointer and have one
 * number, which is the row's attribute. A pattern is the same in all processes that take part in it but for its number.
 *
 * The node's inputs are the blocks of the members that this process owns, ascending, each of them of the pattern's
 * dtype and `elements` in size; what follows them is not read (a process that owns none gives some array of that
 * dtype). Its value is flat: the elements that engine/comm/comm.h tells for each kind, in that order.
 *
 * An exchange outside of a trace is started when it is recorded, once its inputs are flushed, whoever holds its result.
 * In a trace it is an effect of the program (effect.h): it is never left out, and runs behind those recorded before it
 * at each run, in all processes, although each has programs of its own blocks.
 */
#ifndef LAZY_EXCHANGE_H
#define LAZY_EXCHANGE_H

#include "engine/comm/comm.h"
#include "lazy/graph/graph.h"

typedef struct lazy_exchange_pattern {
    int32_t number;
    engine_comm_kind kind;
    int op;    /* REDUCE, SCATTER: the map that combines (LAZY_OP_add, maximum, minimum, multiply); else -1 */
    int dtype; /* of the blocks */
    int64_t elements;
    engine_comm_group group;
    const int32_t *source; /* PERMUTE */
    const char *name;      /* for people: "psum" */
    const char *what;      /* "psum of f32": what the engine compares; set by effect_exchange_pattern_intern */
} lazy_exchange_pattern;

/* The pattern like *like, whose arrays and name are copied; its number does not count. NULL: memory, or a group that
 * makes no sense (the error says so). */
const lazy_exchange_pattern *effect_exchange_pattern_intern(const lazy_exchange_pattern *like);
const lazy_exchange_pattern *effect_exchange_pattern_get(int64_t number); /* NULL: no such */
/* As the engine wants it, for a step of this script line; `located`: it is the line of this very exchange. */
engine_collective effect_exchange_pattern_collective(const lazy_exchange_pattern *pattern, const char *site,
                                                     bool located);
/* "psum": a node with exchanges, for people. */
const char *effect_exchange_name(const neap_node *node);
/* The script line of a node, if it was asked for (site.c); else NULL. */
const char *effect_exchange_line(const neap_ctx *ctx, const neap_node *node);
/* The line of what this thread runs next in a body, if that is an exchange whose line is known; else NULL. BORROWED. */
void effect_exchange_at(const char *line);
const char *effect_exchange_body_line(void);
/* Records the exchange on `in`; OWNED, NULL on error. This process takes part in it. */
neap_node *effect_exchange_record(neap_ctx *ctx, const lazy_exchange_pattern *pattern, int nin, neap_node *const *in);
extern const lazy_payload effect_exchange_payload; /* of the row `exchange` */

#endif
