/* table.h: numbers that are found by hash. What they stand for is elsewhere, and the caller compares that:
 *
 *      for (int64_t at = -1; (k = graph_table_next(&table, hash, &at)) != 0;)
 *          if (values[k] is the one)
 *              return k;
 */
#ifndef LAZY_TABLE_H
#define LAZY_TABLE_H

#include <stdint.h>

typedef struct graph_place {
    uint32_t hash;
    int32_t number; /* from 1 up; 0: the place is free */
} graph_place;

typedef struct graph_table { /* all zero: empty */
    graph_place *at;
    int64_t places, n; /* places: a power of two, or 0; at most half of them are taken */
} graph_table;

/* Makes room for one more number. */
int graph_table_grow(graph_table *table);
/* Adds a number, for which there is room. */
void graph_table_add(graph_table *table, uint32_t hash, int32_t number);
void graph_table_free(graph_table *table);

/* The next number with this hash behind place *at, -1 at first; 0: there is none. */
static inline int32_t graph_table_next(const graph_table *table, uint32_t hash, int64_t *at) {
    if (table->places == 0)
        return 0;
    int64_t mask = table->places - 1, place = (*at < 0 ? hash : *at + 1) & mask;
    while (table->at[place].number && table->at[place].hash != hash)
        place = (place + 1) & mask;
    *at = place;
    return table->at[place].number;
}

/* A hash that goes on from another one, 0 at first; its upper bits are good. */
static inline uint64_t graph_hash_on(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}
static inline uint32_t graph_hash_address(const void *address) {
    return (uint32_t)graph_hash_on(0, (uintptr_t)address);
}

#endif
