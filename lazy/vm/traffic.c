/* traffic.c: how many bytes a kernel or a call reads and writes: what it touches of its buffers.
 *
 * An operand touches the elements that its strides lead to: all of them once, however often a broadcast repeats one.
 * Reads of one buffer are taken together: the same region counts once, and no more than lies between the first and the
 * last element that any of them reaches.
 */
#include "lazy/vm/kernel.h"

typedef struct region { /* of a buffer, in elements; `high` is the last */
    int64_t low, high, count;
} region;

static region region_of(int ndim, const int64_t *shape, int64_t offset, const int64_t *stride) {
    region r = {.low = offset, .high = offset, .count = 1};
    for (int k = 0; k < ndim; k++) {
        if (shape[k] == 0)
            return (region){.high = -1};
        int64_t reach = (shape[k] - 1) * stride[k];
        r.high += reach > 0 ? reach : 0;
        r.low += reach < 0 ? reach : 0;
        r.count *= stride[k] ? shape[k] : 1;
    }
    int64_t span = r.high - r.low + 1;
    r.count = r.count < span ? r.count : span;
    return r;
}

/* What the reads of one buffer touch together. Equal bounds and counts are the same region. */
typedef struct touched {
    region all, last;
} touched;

static void touch(touched *t, region r) {
    bool known = t->all.count && r.low == t->last.low && r.high == t->last.high && r.count == t->last.count;
    if (known || r.count == 0)
        return;
    t->last = r;
    if (t->all.count == 0) {
        t->all = r;
        return;
    }
    t->all.low = r.low < t->all.low ? r.low : t->all.low;
    t->all.high = r.high > t->all.high ? r.high : t->all.high;
    t->all.count += r.count;
    int64_t span = t->all.high - t->all.low + 1;
    t->all.count = t->all.count < span ? t->all.count : span;
}

static bool reads(const lazy_load *load) {
    return loop_has_buffer(load);
}

static region load_region(const lazy_kernel *kernel, const lazy_load *load) {
    region r = region_of(kernel->ndim, kernel->shape, load->read.offset, load->read.stride);
    if (load->kind != LAZY_LOAD_TABLE || r.count == 0)
        return r;
    /* Which rows the indices choose is not known: at most one element for each of the domain. */
    int64_t reach = (load->extent - 1) * load->step, size = loop_elements(kernel->shape, 0, kernel->ndim);
    r.high += reach > 0 ? reach : 0;
    r.low += reach < 0 ? reach : 0;
    r.count = size < r.high - r.low + 1 ? size : r.high - r.low + 1;
    return r;
}

lazy_traffic vm_kernel_traffic(const lazy_kernel *kernel) {
    lazy_traffic sum = {0};
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *load = &kernel->loads[k];
        bool first = reads(load);
        for (int j = 0; j < k && first; j++)
            first = !reads(&kernel->loads[j]) || kernel->loads[j].slot != load->slot;
        if (!first)
            continue;
        touched t = {0};
        for (int j = k; j < kernel->nloads; j++)
            if (reads(&kernel->loads[j]) && kernel->loads[j].slot == load->slot)
                touch(&t, load_region(kernel, &kernel->loads[j]));
        sum.read += t.all.count * neap_dtype_bytes(load->dtype);
    }
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *sink = &kernel->sinks[k];
        int naxes = sink->kind == LAZY_SINK_STORE ? kernel->ndim : kernel->nkept;
        if (sink->slot >= 0)
            sum.written += loop_elements(kernel->shape, 0, naxes) * neap_dtype_bytes(sink->dtype);
    }
    return sum;
}

/* An update touches of input 0 what it writes. */
lazy_traffic vm_call_traffic(const lazy_call *call, const int32_t *slots, const int64_t *offsets) {
    int updates = call->op->updates, from = updates ? 1 : 0;
    const lazy_tensor *written = updates ? &call->in[updates] : call->out;
    lazy_traffic sum = {.written = written->size * neap_dtype_bytes(written->dtype)};
    for (int k = from; k < call->nin; k++) {
        bool first = true;
        for (int j = from; j < k && first; j++)
            first = slots[j] != slots[k];
        if (!first)
            continue;
        touched t = {0};
        for (int j = k; j < call->nin; j++)
            if (slots[j] == slots[k])
                touch(&t, region_of(call->in[j].ndim, call->in[j].shape, offsets[j], call->in[j].stride));
        sum.read += t.all.count * neap_dtype_bytes(call->in[k].dtype);
    }
    return sum;
}
