/* loop/key.c: loops as bytes (key.h). Ops stand by name, as their numbers change from build to build. */
#include "lazy/loop/key.h"

void loop_key_code(loop_key *key, const lazy_kernel *loop) {
    const int32_t head[] = {loop->ndim, loop->nkept, loop->nloads, loop->nins, loop->nsinks};
    loop_key_put(key, head, sizeof head);
    for (int k = 0; k < loop->nloads; k++) {
        const int32_t what[] = {loop->loads[k].kind, loop->loads[k].dtype, loop->loads[k].slot};
        loop_key_put(key, what, sizeof what);
    }
    for (int k = 0; k < loop->nins; k++) {
        const lazy_ins *ins = &loop->ins[k];
        const int32_t what[] = {ins->dtype, ins->result, ins->narg};
        loop_key_text(key, lazy_ops[ins->op]->name);
        loop_key_put(key, what, sizeof what);
        loop_key_put(key, ins->arg, (size_t)ins->narg * sizeof *ins->arg);
    }
    for (int k = 0; k < loop->nsinks; k++) {
        const lazy_sink *sink = &loop->sinks[k];
        const int32_t what[] = {sink->kind, sink->dtype, sink->slot, sink->value};
        loop_key_text(key, sink->kind == LAZY_SINK_REDUCE ? lazy_ops[sink->op]->name : "");
        loop_key_put(key, what, sizeof what);
    }
}

void loop_key_maps(loop_key *key, const lazy_kernel *loop) {
    const size_t bytes = (size_t)loop->ndim * sizeof *loop->shape;
    loop_key_put(key, loop->shape, bytes);
    for (int k = 0; k < loop->nloads; k++) {
        const lazy_load *load = &loop->loads[k];
        const int64_t more[] = {load->read.offset, load->extent, load->step};
        if (!loop_has_map(load))
            continue;
        loop_key_put(key, more, sizeof more);
        loop_key_put(key, load->read.stride, bytes);
    }
    for (int k = 0; k < loop->nsinks; k++) {
        const lazy_sink *sink = &loop->sinks[k];
        const int64_t more[] = {sink->write.offset, sink->index, sink->extent, sink->step};
        loop_key_put(key, more, sizeof more);
        loop_key_put(key, sink->write.stride, bytes);
    }
}
