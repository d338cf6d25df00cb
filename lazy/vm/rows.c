/* rows.c: the rows (engine/device.h) of a loop's turns, or of a group of steps.
 *
 * A program that drops its arrays finds them where they were, in turns. Where few of them have moved, the driver is
 * told of these. Where it had to be told of most steps of a row, there is one more, for other addresses, up to a
 * number. If that does not help, rows cost as much as they save, and are given up.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lazy/vm/backend.h"

enum { ROWS_MOST = 4 };
/* What a new row, and one that has changed, cost, as parts of WASTE_MOST, at which rows are given up; one that pays
 * makes up for one that has changed. */
enum { WASTE_NEW = 2, WASTE_CHANGED = 1, WASTE_MOST = 16 };

typedef struct kept_row {
    neap_row *row;
    uint64_t key, used;
    bool taken;
} kept_row;

struct lazy_rows {
    pthread_mutex_t mutex;
    int device, n, waste;
    bool changes; /* most of the last one had changed */
    uint64_t from, runs;
    kept_row rows[ROWS_MOST];
};

lazy_rows *vm_rows_new(int device, int from) {
    lazy_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return NULL;
    pthread_mutex_init(&rows->mutex, NULL);
    rows->device = device;
    rows->from = (uint64_t)from;
    return rows;
}

void vm_rows_free(lazy_rows *rows) {
    if (!rows)
        return;
    for (int k = 0; k < rows->n; k++)
        neap_row_free(rows->rows[k].row);
    pthread_mutex_destroy(&rows->mutex);
    free(rows);
}

/* NULL: all are in use, or there is no memory. */
static kept_row *choose(lazy_rows *rows, uint64_t key) {
    kept_row *oldest = NULL;
    for (int k = 0; k < rows->n; k++) {
        kept_row *kept = &rows->rows[k];
        if (!kept->taken && kept->key == key)
            return kept;
        if (!kept->taken && (!oldest || kept->used < oldest->used))
            oldest = kept;
    }
    const bool wanted = !oldest || rows->changes;
    if (wanted && rows->n < ROWS_MOST && neap_row_new(rows->device, &rows->rows[rows->n].row) == NEAP_OK) {
        rows->waste += WASTE_NEW;
        return &rows->rows[rows->n++];
    }
    return oldest;
}

neap_row *vm_rows_take(lazy_rows *rows, uint64_t key) {
    pthread_mutex_lock(&rows->mutex);
    const bool pays = ++rows->runs >= rows->from && rows->waste < WASTE_MOST;
    kept_row *kept = pays ? choose(rows, key) : NULL;
    if (kept) {
        kept->taken = true;
        kept->key = key;
        kept->used = rows->runs;
    }
    pthread_mutex_unlock(&rows->mutex);
    return kept ? kept->row : NULL;
}

void vm_rows_return(lazy_rows *rows, neap_row *row) {
    pthread_mutex_lock(&rows->mutex);
    rows->changes = neap_row_is_idle(row);
    if (rows->changes)
        rows->waste += WASTE_CHANGED;
    else if (rows->waste > 0)
        rows->waste -= WASTE_CHANGED;
    for (int k = 0; k < rows->n; k++)
        if (rows->rows[k].row == row)
            rows->rows[k].taken = false;
    pthread_mutex_unlock(&rows->mutex);
}
