/* control/rows.c: which loops on devices enqueue turns as launch graphs (engine/device.h, lazy/vm/launch_graphs.c).
 *
 * A loop whose turns are known beforehand and that does nothing but launches and copies is enqueued some turns at a
 * time: an even number, as turns of two parities, whose carries lie in different places, follow each other. Nothing
 * moves from turn to turn but slices of xs and ys, so the driver is told of little.
 */
#include "lazy/control/body.h"

/* The launches and copies of a body; 0: it does other things, too. */
static int64_t count_steps(const lazy_body *body, const lazy_backend *backend) {
    int64_t steps = 0;
    for (int64_t k = 0; k < body->items.n; k++) {
        const body_item *item = &body->items.at[k];
        const lazy_runner *inner = item->what == BODY_INNER ? item->inner : NULL;
        bool plain = item->what == BODY_COPY || (item->step && plan_is_recordable(item->step, backend));
        bool calls = inner && !inner->kind->loop && !inner->kind->branches;
        int64_t more = plain ? 1 : calls ? count_steps(inner->bodies[0], backend) : 0;
        if (more == 0)
            return 0;
        steps += more;
    }
    return steps;
}

/* The items whose operands are other slices in each turn. */
static int64_t count_moved(const lazy_body *body) {
    int64_t moved = 0;
    for (int64_t k = 0; k < body->items.n; k++) {
        int64_t first = body->items.at[k].first;
        int64_t end = k + 1 < body->items.n ? body->items.at[k + 1].first : body->pointers.n, m = 0;
        while (m < body->moves.n && (body->moves.at[m].pointer < first || body->moves.at[m].pointer >= end))
            m++;
        moved += m < body->moves.n;
    }
    return moved;
}

int64_t control_graph_turns(const lazy_runner *runner) {
    if (!runner->kind->loop || !runner->kind->stacks || !runner->backend->records_call)
        return 0;
    int64_t steps = count_steps(runner->bodies[0], runner->backend);
    if (steps == 0 || steps > LAZY_LAUNCH_GRAPH_MOST || 2 * count_moved(runner->bodies[0]) > steps)
        return 0;
    int64_t turns = 2 * steps > LAZY_LAUNCH_GRAPH_MOST ? 2 : LAZY_LAUNCH_GRAPH_MOST / steps;
    turns = (turns < runner->length ? turns : runner->length) & ~INT64_C(1);
    return turns;
}
