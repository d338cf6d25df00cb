/* table.c: numbers that are found by hash (table.h). */
#include "lazy/graph/table.h"

#include <stdlib.h>

#include "lazy/graph/graph.h"

void graph_table_add(graph_table *table, uint32_t hash, int32_t number) {
    int64_t mask = table->places - 1, place = hash & mask;
    while (table->at[place].number)
        place = (place + 1) & mask;
    table->at[place] = (graph_place){hash, number};
    table->n++;
}

int graph_table_grow(graph_table *table) {
    if (2 * (table->n + 1) <= table->places)
        return 0;
    graph_table wider = {.places = table->places ? 2 * table->places : 16};
    wider.at = calloc((size_t)wider.places, sizeof *wider.at);
    if (!wider.at)
        return neap_error(NEAP_E_MEMORY, "out of memory for a table of %lld places", (long long)wider.places);
    for (int64_t k = 0; k < table->places; k++)
        if (table->at[k].number)
            graph_table_add(&wider, table->at[k].hash, table->at[k].number);
    free(table->at);
    *table = wider;
    return 0;
}

void graph_table_free(graph_table *table) {
    free(table->at);
    *table = (graph_table){0};
}
