/* explain.c: np.explain: what will run for some arrays, or has run, as text.
 *
 *      d: f32[1000,512] is pending                                     the arrays
 *        b: f32[1000,1] = max[axes=1 keepdims] a      demo.lua:2       their expression
 *        …
 *      2 kernels read 4.1 MB, write 2.05 MB; …                         the plan of a flush of them all
 *        1  max  1000 rows of 512  …  61 µs  avx512, rows              its steps, …
 *             b: it is a reduction over rows too long …                … why each result leaves its kernel, …
 *             ran 118 µs on worker 1, 0.3 s ago                        … and how long it took
 *
 * Nothing is started, and no array changes; but a plan that was made for this is kept, and the next flush of the same
 * expression finds it. A node that was computed knows its plan by a number, and keeps it not alive: what the table of
 * plans has let go of is forgotten. The text is bounded: of much, the beginning and the end are told.
 */
#include "lazy/explain/explain.h"

#include <stdio.h>
#include <string.h>

#include "engine/sync.h"
#include "lazy/dtype/scalar.h"
#include "lazy/program/program.h"
#include "lazy/shard/shard.h"

enum { LINES = 40, ROOTS = 16, OUTS = 6, CHAPTERS = 4, LABEL = 36 };

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
int32_t explain_story_slot(const lazy_plan *plan, int32_t step, int32_t k) {
    int32_t low = 0, high = plan->ngroups - 1; /* the batch of the step: the last that does not begin behind it */
    while (low < high) {
        int32_t middle = (low + high + 1) / 2;
        if (plan->groups[middle].first <= step)
            low = middle;
        else
            high = middle - 1;
    }
    return plan->groups[low].slots[plan->steps[step]->slots[k]];
}

/* What made a root that has a buffer. */
static uint64_t computed_by(const neap_node *root) {
    return root->buffer && !graph_is_constant(root) ? root->ran : 0;
}

neap_node *explain_story_node(const lazy_story *story, const lazy_chapter *chapter, int32_t slot) {
    if (chapter->region.n) {
        neap_node *node = chapter->region.at[chapter->plan->slots[slot].node];
        return node->mark == story->ctx->walk.epoch && !program_is_literal(node) ? node : NULL;
    }
    for (int64_t k = 0; k < story->roots.n; k++)
        if (computed_by(story->roots.at[k]) == plan_ran_link(chapter->plan, slot))
            return story->roots.at[k];
    return NULL;
}

/* Was the slot asked for by the roots themselves? */
static bool makes_root(const lazy_story *story, const lazy_chapter *chapter, int32_t slot) {
    if (chapter->future)
        return chapter->plan->slots[slot].why == LAZY_WHY_ASKED;
    return explain_story_node(story, chapter, slot) != NULL;
}

void explain_story_choose(const lazy_story *story, const lazy_chapter *chapter, bool *shown) {
    const lazy_plan *plan = chapter->plan;
    int extra = story->roots.n <= LAZY_STORY_STEPS / 3 ? LAZY_STORY_STEPS / 3 : 0;
    for (int32_t s = 0; s < plan->nsteps; s++) {
        const lazy_step *step = plan->steps[s];
        shown[s] =
            plan->nsteps <= LAZY_STORY_STEPS || s < LAZY_STORY_STEPS / 3 || s >= plan->nsteps - LAZY_STORY_STEPS / 3;
        for (int32_t k = step->nbufs - step->nouts; k < step->nbufs && !shown[s] && extra > 0; k++)
            if (makes_root(story, chapter, explain_story_slot(plan, s, k)))
                shown[s] = extra-- > 0;
    }
}

/* "1000 rows of 512", "(8, 16)" */
static void say_domain(lazy_print *print, const lazy_step *step) {
    const lazy_kernel *kernel = &step->kernel;
    char shape[512];
    if (step->kind == LAZY_STEP_CALL) {
        lazy_say(print, "%s", graph_shape_text(step->call.out->ndim, step->call.out->shape, shape, sizeof shape));
    } else if (kernel->nkept == kernel->ndim) {
        lazy_say(print, "%s", graph_shape_text(kernel->ndim, kernel->shape, shape, sizeof shape));
    } else {
        int64_t rows = 1, length = 1;
        for (int k = 0; k < kernel->ndim; k++)
            *(k < kernel->nkept ? &rows : &length) *= kernel->shape[k];
        lazy_say(print, "%lld row%s of %lld", (long long)rows, rows == 1 ? "" : "s", (long long)length);
    }
}

/* The reductions whose results the kernel itself goes on with. */
static void say_stages(lazy_print *print, const lazy_kernel *kernel) {
    const char *between = "\n       inside, one for each row: ";
    for (int s = 0; s < kernel->nsinks; s++) {
        bool used = false;
        for (int k = 0; k < kernel->nloads && !used; k++)
            used = kernel->loads[k].kind == LAZY_LOAD_RESULT && kernel->loads[k].slot == s;
        if (!used)
            continue;
        lazy_say(print, "%s%s", between, lazy_ops[kernel->sinks[s].op]->name);
        between = ", ";
    }
}

static void say_buffer(lazy_print *print, const lazy_story *story, const lazy_chapter *chapter, int32_t slot) {
    const neap_node *node = explain_story_node(story, chapter, slot);
    if (node) {
        program_say_operand(print, node);
        return;
    }
    lazy_say(print, "a buffer of ");
    explain_say_bytes(print, (int64_t)chapter->plan->slots[slot].bytes);
}

static void say_out(lazy_print *print, const lazy_story *story, const lazy_chapter *chapter, int32_t slot) {
    int32_t home = plan_memory_home(chapter->plan, slot);
    lazy_say(print, "\n       ");
    say_buffer(print, story, chapter, slot);
    lazy_say(print, " is stored");
    if (home != slot) {
        lazy_say(print, " in the memory of ");
        say_buffer(print, story, chapter, home);
    }
    const lazy_slot *at = &chapter->plan->slots[slot];
    if (at->why == LAZY_WHY_TIMES)
        lazy_say(print, ": it would be computed %d times", at->times);
    else
        lazy_say(print, ": %s", plan_why_text(at->why));
}

/* How the result of a step goes to several devices that read it, and the parts of a join to it: at once, or why not. */
static void say_sending(lazy_print *print, const lazy_plan *plan, int32_t s, int32_t slot) {
    enum { MOST = 64 };
    const lazy_step *step = plan->steps[s];
    int sources[MOST], nsources = step->moves && step->nbufs - 1 <= MOST ? step->nbufs - 1 : 0, ntargets;
    for (int k = 0; k < nsources; k++)
        sources[k] = plan->slots[explain_story_slot(plan, s, k)].device;
    size_t bytes = nsources ? (size_t)(step->call.in[0].size * neap_dtype_bytes(step->call.in[0].dtype)) : 0;
    const char *lacks = plan_transfer_lacks(plan, slot, nsources, sources, bytes, &ntargets);
    if (ntargets < 2 && nsources < 2)
        return;
    lazy_say(print, "\n       goes to ");
    explain_say_count(print, ntargets, "device");
    lazy_say(print, lacks ? " by copies: %s" : " by a collective", lacks);
}

static void say_ran(lazy_print *print, lazy_ran *ran) {
    int64_t times = atomic_load_explicit(&ran->times, memory_order_relaxed);
    int32_t worker = atomic_load_explicit(&ran->worker, memory_order_relaxed);
    int64_t ago = engine_now() - atomic_load_explicit(&ran->ended, memory_order_relaxed);
    if (times == 0)
        return;
    lazy_say(print, "\n       ran ");
    explain_say_ns(print, atomic_load_explicit(&ran->last, memory_order_relaxed));
    if (worker >= 0)
        lazy_say(print, " on worker %d, ", worker);
    else
        lazy_say(print, " on the main thread, ");
    explain_say_ns(print, ago > 0 ? ago : 0);
    lazy_say(print, " ago");
    if (times > 1) {
        lazy_say(print, "; on average ");
        explain_say_ns(print, atomic_load_explicit(&ran->total, memory_order_relaxed) / times);
        lazy_say(print, " in %lld timed runs", (long long)times);
    }
}

/* The node of a step that pushes its op itself, if that is still known; else NULL. */
static const neap_node *node_of(const lazy_chapter *chapter, const lazy_step *step) {
    return step->payload && chapter->region.n ? chapter->region.at[step->node] : NULL;
}

static void say_why(lazy_print *print, const lazy_chapter *chapter, const lazy_step *step) {
    const neap_node *node = node_of(chapter, step);
    char why[256] = "";
    if (step->kind == LAZY_STEP_KERNEL && step->backend->why)
        step->backend->why(&step->kernel, why, sizeof why);
    else if (node && step->payload->why)
        step->payload->why(node, step->device, why, sizeof why);
    if (*why)
        lazy_say(print, "\n       %s", why);
}

/* The library for a call on the host, or on devices with host functions; NULL: none. */
static const char *library_of(const lazy_step *step) {
    const lazy_op *op = step->call.op;
    bool host = step->backend == &vm_backend_cpu || step->backend == &vm_backend_host;
    return !step->payload && host && op->library ? op->library(&step->call) : NULL;
}

/* "avx512, rows" of a kernel; "call", whether it has native code or code for its device, and which library does it. */
static void say_how(lazy_print *print, const lazy_chapter *chapter, const lazy_step *step) {
    const neap_node *node = node_of(chapter, step);
    char tier[64];
    if (step->kind == LAZY_STEP_KERNEL) {
        lazy_say(print, "%s", step->backend->tier(&step->kernel, tier, sizeof tier));
        return;
    }
    const char *library = library_of(step);
    lazy_say(print, "call%s",
             node && step->payload->is_native && step->payload->is_native(node, step->device) ? ", native" : "");
    if (library)
        lazy_say(print, ", %s", library);
    if (step->call.op->flags & LAZY_OP_HALVES && dtype_is_half(step->call.in[0].dtype))
        lazy_say(print, ", of %s", neap_dtype_name(step->call.in[0].dtype));
    if (step->call.prepared)
        lazy_say(print, ", code for %s", step->backend->kind);
    int launches = step->call.prepared && step->backend->call_launches ? step->backend->call_launches(&step->call) : 1;
    if (launches != 1)
        lazy_say(print, ", %d launches", launches);
}

/* The device of the step, then the others for which it computes: a kernel works for all that share a memory. */
static void say_devices(lazy_print *print, const lazy_plan *plan, int32_t s) {
    const lazy_step *step = plan->steps[s];
    uint8_t told[(INT16_MAX + 1) / 8] = {0};
    lazy_say(print, ", %s", neap_device_name(step->device));
    told[step->device / 8] |= (uint8_t)(1 << step->device % 8);
    for (int32_t k = step->nbufs - step->nouts; k < step->nbufs && !step->lacks; k++) {
        int device = plan->slots[explain_story_slot(plan, s, k)].device;
        if (told[device / 8] >> device % 8 & 1)
            continue;
        told[device / 8] |= (uint8_t)(1 << device % 8);
        lazy_say(print, ", %s", neap_device_name(device));
    }
}

static void say_step(lazy_print *print, const lazy_story *story, const lazy_chapter *chapter, int32_t s) {
    lazy_step *step = chapter->plan->steps[s];
    lazy_traffic bytes = plan_step_traffic(step);
    lazy_say(print, "  %d\t", s + 1);
    explain_say_clipped(print, step->label, LABEL);
    lazy_say(print, "\t");
    say_domain(print, step);
    lazy_say(print, "\t");
    explain_say_bytes(print, bytes.read);
    lazy_say(print, "\t");
    explain_say_bytes(print, bytes.written);
    lazy_say(print, "\t~");
    explain_say_ns(print, step->cost);
    lazy_say(print, "\t");
    say_how(print, chapter, step);
    if (neap_device_count() > 1)
        say_devices(print, chapter->plan, s);
    if (step->lacks)
        lazy_say(print, " (%s)", step->lacks);
    explain_say_site(print, step->site);
    if (step->kind == LAZY_STEP_KERNEL)
        say_stages(print, &step->kernel);
    for (int32_t k = step->nbufs - step->nouts, told = 0; k < step->nbufs; k++, told++) {
        if (told == OUTS) {
            lazy_say(print, "\n       and %d more", step->nbufs - k);
            break;
        }
        say_out(print, story, chapter, explain_story_slot(chapter->plan, s, k));
        say_sending(print, chapter->plan, s, explain_story_slot(chapter->plan, s, k));
    }
    say_ran(print, &step->ran);
    say_why(print, chapter, step);
    lazy_say(print, "\n");
}

/* Programs and expressions of one structure share a plan: of a program, its own runs are told apart. */
static void say_runs(lazy_print *print, const lazy_story *story, const lazy_plan *plan) {
    uint64_t own = story->program ? story->program->runs : plan->runs;
    uint64_t others = plan->runs > own ? plan->runs - own : 0;
    if (own + others == 0)
        return;
    lazy_say(print, "; has run ");
    if (own)
        explain_say_count(print, (int64_t)own, "time");
    lazy_say(print, own && others ? ", and " : "");
    if (others) {
        explain_say_count(print, (int64_t)others, "time");
        lazy_say(print, " for others of the same structure");
    }
}

static void say_totals(lazy_print *print, const lazy_story *story, const lazy_chapter *chapter) {
    const lazy_plan *plan = chapter->plan;
    lazy_traffic sum = {0};
    int64_t cost = 0, calls = 0, temporary = 0, made = 0, memory = 0;
    for (int32_t s = 0; s < plan->nsteps; s++) {
        lazy_traffic bytes = plan_step_traffic(plan->steps[s]);
        sum.read += bytes.read;
        sum.written += bytes.written;
        cost += plan->steps[s]->cost;
        calls += plan->steps[s]->kind == LAZY_STEP_CALL;
    }
    for (int32_t k = 0; k < plan->nslots; k++) {
        if (!plan->slots[k].made)
            continue;
        temporary += plan->slots[k].why != LAZY_WHY_ASKED ? (int64_t)plan->slots[k].bytes : 0;
        made += (int64_t)plan->slots[k].bytes;
        if (plan_memory_home(plan, k) == k)
            memory += (int64_t)plan_memory_bytes(plan, k);
    }
    if (plan->nsteps == 0) {
        lazy_say(print, "nothing has to run\n");
        return;
    }
    if (calls < plan->nsteps)
        explain_say_count(print, plan->nsteps - calls, "kernel");
    lazy_say(print, calls && calls < plan->nsteps ? " and " : "");
    if (calls)
        explain_say_count(print, calls, "call");
    if (plan->ngroups < plan->nsteps) {
        lazy_say(print, " in ");
        explain_say_count(print, plan->ngroups, "engine op");
    }
    lazy_say(print, ": reads ");
    explain_say_bytes(print, sum.read);
    lazy_say(print, ", writes ");
    explain_say_bytes(print, sum.written);
    if (memory < made) {
        lazy_say(print, " into ");
        explain_say_bytes(print, memory);
        lazy_say(print, " of new memory");
    }
    if (temporary) {
        lazy_say(print, ", ");
        explain_say_bytes(print, temporary);
        lazy_say(print, " of it temporary");
    }
    lazy_say(print, ", about ");
    explain_say_ns(print, cost);
    lazy_say(print, " on one core");
    say_runs(print, story, plan);
    lazy_say(print, "\n");
}

static void say_plan(lazy_print *print, const lazy_story *story, const lazy_chapter *chapter) {
    const lazy_plan *plan = chapter->plan;
    bool *shown = malloc((size_t)plan->nsteps + 1);
    if (!shown) {
        print->status = neap_error(NEAP_E_MEMORY, "out of memory for an explanation");
        return;
    }
    explain_story_choose(story, chapter, shown);
    say_totals(print, story, chapter);
    size_t from = print->text.bytes;
    int32_t hidden = 0;
    if (plan->nsteps)
        lazy_say(print, "  \tstep\tover\treads\twrites\testimate\thow\tline\n");
    for (int32_t s = 0; s <= plan->nsteps; s++) {
        if (s < plan->nsteps && !shown[s]) {
            hidden++;
            continue;
        }
        if (hidden) {
            lazy_say(print, "  … ");
            explain_say_count(print, hidden, "more step");
            lazy_say(print, " …\n");
        }
        hidden = 0;
        if (s < plan->nsteps)
            say_step(print, story, chapter, s);
    }
    explain_align_cells(print, from);
    free(shown);
}

/* ---- Expressions ------------------------------------------------------------------------------------------------- */
static void say_leaf(lazy_print *print, const neap_node *node) {
    int status = node->buffer ? neap_var_poll(neap_buffer_var(node->buffer), NULL) : 0;
    if (graph_is_placeholder(node))
        lazy_say(print, ", an input");
    else
        lazy_say(print, "%s", status == 0 ? ", in memory" : status == NEAP_PENDING ? ", on its way" : ", failed");
}

static void say_line(lazy_print *print, const lazy_story *story, const neap_node *node) {
    bool captured = story->program && !(node->flags & LAZY_ABSTRACT);
    lazy_say(print, "  ");
    program_say_typed(print, node);
    if (plan_is_leaf(node) || graph_is_placeholder(node)) {
        say_leaf(print, node);
    } else if (captured) {
        lazy_say(print, ", a captured constructor");
    } else {
        lazy_say(print, " = ");
        program_say_call(print, node);
    }
    explain_say_site(print, graph_site_text(story->ctx, node->site));
    lazy_say(print, "\n");
}

static bool is_done_root(const lazy_story *story, const neap_node *node) {
    bool root = false;
    for (int64_t k = 0; node->buffer && k < story->roots.n && !root; k++)
        root = story->roots.at[k] == node;
    return root;
}

/* The nodes, but for the arrays that stand above them. */
static void say_expression(lazy_print *print, const lazy_story *story) {
    int64_t half = LINES / 2, n = story->nodes.n;
    size_t from = print->text.bytes;
    for (int64_t k = 0; k < n; k++) {
        if (n > LINES && k == half) {
            lazy_say(print, "  … ");
            explain_say_count(print, n - 2 * half, "more line");
            lazy_say(print, " …\n");
            k = n - half;
        }
        if (!is_done_root(story, story->nodes.at[k]))
            say_line(print, story, story->nodes.at[k]);
    }
    explain_align_cells(print, from);
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
/* The plan of a link, if it is still kept. BORROWED. */
static lazy_plan *find_plan(neap_ctx *ctx, uint64_t ran) {
    uint64_t serial = ran >> LAZY_RAN_SLOT_BITS;
    for (int64_t b = 0; b < ctx->plans.buckets && serial; b++)
        for (lazy_plan *plan = ctx->plans.table[b]; plan; plan = plan->next)
            if (plan->serial == serial)
                return plan;
    for (neap_program *program = ctx->programs.first; program && serial; program = program->next)
        if (program->plan && program->plan->serial == serial)
            return program->plan;
    return NULL;
}

static const lazy_chapter *chapter_of(const lazy_story *story, const neap_node *root) {
    for (int64_t k = 0; k < story->chapters.n; k++)
        if (computed_by(root) && story->chapters.at[k].plan->serial == computed_by(root) >> LAZY_RAN_SLOT_BITS &&
            !story->chapters.at[k].future)
            return &story->chapters.at[k];
    return NULL;
}

/* "by kernel 2": the steps of the plan that made it. */
static void say_makers(lazy_print *print, const lazy_chapter *chapter, int32_t made) {
    int told = 0;
    for (int32_t s = 0; s < chapter->plan->nsteps && told < OUTS; s++) {
        const lazy_step *step = chapter->plan->steps[s];
        for (int32_t k = step->nbufs - step->nouts; k < step->nbufs; k++)
            if (explain_story_slot(chapter->plan, s, k) == made)
                lazy_say(print, "%s%d", told++ ? ", " : ", by step ", s + 1);
    }
}

static void say_done(lazy_print *print, const lazy_story *story, const neap_node *root) {
    int status = neap_var_poll(neap_buffer_var(root->buffer), NULL);
    const lazy_chapter *chapter = chapter_of(story, root);
    if (status < 0) {
        lazy_say(print, " has failed: %s", neap_error_text());
        return;
    }
    if (status == NEAP_PENDING)
        lazy_say(print, " is being computed");
    else if (graph_is_data(root) && !root->ran)
        lazy_say(print, " is in memory: data from outside");
    else
        lazy_say(print, " is computed");
    if (chapter)
        say_makers(print, chapter, (int32_t)(root->ran & ((1u << LAZY_RAN_SLOT_BITS) - 1)));
    else if (computed_by(root) && !find_plan(story->ctx, root->ran))
        lazy_say(print, "; its plan is not kept any more");
}

static void say_root(lazy_print *print, const lazy_story *story, neap_node *root) {
    program_say_typed(print, root);
    if (program_is_literal(root)) {
        lazy_say(print, " is an operand of what reads it");
    } else if (root->flags & LAZY_ABSTRACT) {
        lazy_say(print, " is traced: programs compute it");
    } else if (root->buffer) {
        say_done(print, story, root);
    } else if (plan_region_root(root)->buffer) {
        lazy_say(print, " is a view of all of ");
        program_say_operand(print, plan_region_root(root));
        lazy_say(print, ": it shares its memory");
    } else if (graph_is_formula(root)) {
        lazy_say(print, " is made of constructors: it costs nothing where it is read; as memory of its own:");
    } else if (graph_is_view(root)) {
        lazy_say(print, " is a view of ");
        program_say_operand(print, root->base);
        lazy_say(print, root->base->buffer ? ": it costs nothing where it is read; as memory of its own:"
                                           : ", which is pending");
    } else {
        bool fused = root->consumers > 0 && graph_node_op(root)->kind != LAZY_CALL;
        lazy_say(print, root->state == LAZY_RECIPE
                            ? fused ? " was computed inside a kernel and not kept" : " waits until it is asked for"
                        : root->state == LAZY_DEFERRED ? " is deferred until it is asked for"
                        : root->state == LAZY_STAGED ? " was recorded in a trace, and is computed when it is asked for"
                                                     : " is pending");
    }
    lazy_say(print, "\n");
}

/* ---- Arrays on a mesh -------------------------------------------------------------------------------------------- */
/* Lines "op \t script line \t note". */
static void say_notes(lazy_print *print, const char *notes) {
    while (notes && *notes) {
        const char *site = notes + strcspn(notes, "\t"), *note = site + 1 + strcspn(site + 1, "\t");
        char file[256];
        snprintf(file, sizeof file, "%.*s", (int)(note - site - 1), site + 1);
        size_t bytes = strcspn(note + 1, "\n");
        lazy_say(print, "  %.*s\t%.*s", (int)(site - notes), notes, (int)bytes, note + 1);
        explain_say_site(print, file);
        lazy_say(print, "\n");
        notes = note + 1 + bytes + (note[1 + bytes] == '\n');
    }
}

/* The note of a node's own op. */
static void say_note(lazy_print *print, const lazy_story *story, const neap_node *node) {
    lazy_say(print, "  %s\t%s", graph_node_op(node)->name, graph_site_text(story->ctx, node->shards->note));
    explain_say_site(print, graph_site_text(story->ctx, node->site));
    lazy_say(print, "\n");
}

/* Where it lies, and what was done to have it there. */
static void say_meshed(lazy_print *print, const lazy_story *story, const neap_node *node) {
    const lazy_sharding *s = node->shards->sharding;
    char text[512];
    lazy_say(print, "%s%s lies on the mesh {", neap_dtype_name(node->dtype),
             graph_shape_text(node->ndim, node->shape, text, sizeof text));
    for (int k = 0; k < s->mesh->naxes; k++)
        lazy_say(print, "%s%s=%d%s", k ? ", " : "", s->mesh->names[k], s->mesh->sizes[k],
                 s->manual >> k & 1 ? " (by block)" : "");
    lazy_say(print, "} as %s", shard_spec_text(s, node->ndim, text, sizeof text));
    if (graph_has_blocks(node)) {
        lazy_say(print, ": ");
        explain_say_count(print, s->nblocks, "block");
        lazy_say(print, s->addressable ? "\n" : " of it here\n");
    } else {
        lazy_say(print, "; it is traced: programs compute it\n");
    }
    size_t from = print->text.bytes;
    say_notes(print, graph_site_text(story->ctx, node->shards->past));
    if (node->shards->note)
        say_note(print, story, node);
    explain_align_cells(print, from);
}

/* ---- Stories ----------------------------------------------------------------------------------------------------- */
static int add_chapter(lazy_story *story, lazy_plan *plan, bool future, const lazy_nodes *region) {
    lazy_chapter chapter = {.plan = plan, .future = future};
    for (int64_t k = 0; k < region->n; k++)
        if (lazy_push(&chapter.region, region->at[k])) {
            lazy_vector_free(&chapter.region);
            return NEAP_E_MEMORY;
        }
    if (lazy_push(&story->chapters, chapter)) {
        lazy_vector_free(&chapter.region);
        return NEAP_E_MEMORY;
    }
    __atomic_add_fetch(&plan->refs, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Plans what a flush of all roots would run, if there is anything left to run. */
static int plan_future(lazy_story *story) {
    neap_ctx *ctx = story->ctx;
    lazy_nodes wanted = {0};
    lazy_plan *plan = NULL;
    int status = 0;
    for (int64_t k = 0; k < story->roots.n && status == 0; k++) {
        neap_node *root = story->roots.at[k], *target;
        if (root->buffer || root->flags & LAZY_ABSTRACT || program_is_literal(root))
            continue;
        target = plan_region_root(root);
        status = target->buffer ? 0 : lazy_push(&wanted, target);
    }
    if (status == 0 && wanted.n)
        status = plan_region_collect(ctx, wanted.n, wanted.at);
    if (status == 0 && wanted.n)
        status = plan_region_plan(ctx, wanted.n, wanted.at, true, &plan);
    if (plan) {
        plan_memory_of_flush(ctx, plan);
        status = add_chapter(story, plan, true, &ctx->walk.order);
    }
    lazy_vector_free(&wanted);
    return status;
}

static int find_past(lazy_story *story) {
    int status = 0;
    for (int64_t k = 0; k < story->roots.n && status == 0 && story->chapters.n < CHAPTERS; k++) {
        neap_node *root = story->roots.at[k];
        lazy_plan *plan = chapter_of(story, root) ? NULL : find_plan(story->ctx, computed_by(root));
        if (plan)
            status = add_chapter(story, plan, false, &(lazy_nodes){0});
    }
    return status;
}

/* What a node of an expression is made of: of a view, also what it reads. */
static neap_node *child_of(const neap_node *node, uint32_t k) {
    if (node->buffer || node->flags & LAZY_DROPPED)
        return NULL;
    if (k < node->nin)
        return node->in[k];
    return k == node->nin && graph_is_view(node) ? node->base : NULL;
}

/* Orders and names the expression of the roots. A node's index counts its children while it is on the stack. */
static int name_nodes(lazy_story *story) {
    neap_ctx *ctx = story->ctx;
    int status = 0;
    ctx->walk.epoch++;
    ctx->walk.stack.n = 0;
    for (int64_t r = 0; r < story->roots.n && status == 0; r++) {
        neap_node *next = story->roots.at[r];
        while (status == 0) {
            if (next && next->mark != ctx->walk.epoch && !program_is_literal(next)) {
                next->mark = ctx->walk.epoch;
                next->index = 0;
                status = lazy_push(&ctx->walk.stack, next);
            }
            if (status || ctx->walk.stack.n == 0)
                break;
            neap_node *top = ctx->walk.stack.at[ctx->walk.stack.n - 1];
            if ((next = child_of(top, top->index)) != NULL) {
                top->index++;
                continue;
            }
            ctx->walk.stack.n--;
            top->index = (uint32_t)story->nodes.n;
            status = lazy_push(&story->nodes, top);
        }
    }
    return status;
}

/* Of an array that lies on a mesh its blocks are computed, if it has any yet. */
static int take_meshed(lazy_story *story, neap_node *node) {
    int status = lazy_push(&story->meshed, node);
    for (int32_t b = 0; b < node->shards->sharding->nblocks && graph_has_blocks(node) && status == 0; b++)
        status = lazy_push(&story->roots, node->shards->blocks[b]);
    return status;
}

static int take_roots(lazy_story *story, int32_t n, const int32_t *ids) {
    int status = 0;
    for (int32_t k = 0; k < n && status == 0; k++) {
        neap_node *node = graph_lookup(story->ctx, ids[k]);
        if (!node)
            status = neap_error_code();
        else
            status = graph_is_meshed(node) ? take_meshed(story, node) : lazy_push(&story->roots, node);
    }
    return status;
}

/* What was done in a program with values on a mesh to have data where ops need it. */
static void say_recorded(lazy_print *print, const lazy_story *story) {
    const neap_program *program = story->recorded;
    int64_t told = 0;
    size_t from = 0;
    for (int64_t k = 0; k < program->nodes.n; k++) {
        const neap_node *node = program->nodes.at[k];
        if (!graph_is_meshed(node) || !node->shards->note || told++ > LINES)
            continue;
        if (told == 1) {
            lazy_say(print, "recorded with values on a mesh, and run as the ops on their blocks:\n");
            from = print->text.bytes;
        }
        if (told > LINES)
            lazy_say(print, "  …\n");
        else
            say_note(print, story, node);
    }
    if (told)
        explain_align_cells(print, from);
}

static void say_program_story(lazy_print *print, const lazy_story *story) {
    const neap_program *program = story->program;
    int64_t ops = 0;
    say_recorded(print, story);
    for (int64_t k = 0; k < program->nodes.n; k++)
        ops += program->nodes.at[k]->flags & LAZY_ABSTRACT && !graph_is_placeholder(program->nodes.at[k]);
    lazy_say(print, "program of ");
    explain_say_count(print, ops, "op");
    lazy_say(print, ", ");
    explain_say_count(print, program->captures, "capture");
    lazy_say(print, ", ");
    explain_say_count(print, program->effects.n, "effect");
    lazy_say(print, "\n");
    say_expression(print, story);
    lazy_say(print, "  return");
    for (int64_t k = 0; k < story->roots.n && k < ROOTS; k++) {
        lazy_say(print, k ? ", " : " ");
        program_say_operand(print, story->roots.at[k]);
    }
    lazy_say(print, story->roots.n > ROOTS ? ", …\n" : "\n");
    say_plan(print, story, &story->chapters.at[0]);
}

static void say_story(lazy_print *print, const lazy_story *story) {
    bool open = false;
    if (story->program) {
        say_program_story(print, story);
        return;
    }
    for (int64_t k = 0; k < story->meshed.n && k < ROOTS; k++)
        say_meshed(print, story, story->meshed.at[k]);
    for (int64_t k = 0; k < story->roots.n; k++) {
        open |= !story->roots.at[k]->buffer && !program_is_literal(story->roots.at[k]);
        if (k < ROOTS)
            say_root(print, story, story->roots.at[k]);
    }
    if (story->roots.n > ROOTS) {
        lazy_say(print, "… ");
        explain_say_count(print, story->roots.n - ROOTS, "more array");
        lazy_say(print, " …\n");
    }
    if (open)
        say_expression(print, story);
    for (int64_t k = 0; k < story->chapters.n; k++)
        say_plan(print, story, &story->chapters.at[k]);
}

/* Tells the story, and ends it. */
static int tell_and_end_story(lazy_story *story, int status, int form, char *text, size_t capacity, size_t *bytes) {
    lazy_print print = {.status = status, .named = story->program};
    *bytes = 0;
    if (status == 0 && form == NEAP_EXPLAIN_DOT)
        explain_story_draw(&print, story);
    else if (status == 0)
        say_story(&print, story);
    while (print.text.bytes && print.text.data[print.text.bytes - 1] == '\n')
        print.text.bytes--;
    status = program_print_finish(&print, text, capacity, bytes);
    for (int64_t k = 0; k < story->chapters.n; k++) {
        plan_release(story->chapters.at[k].plan);
        lazy_vector_free(&story->chapters.at[k].region);
    }
    lazy_vector_free(&story->chapters);
    lazy_vector_free(&story->nodes);
    lazy_vector_free(&story->roots);
    lazy_vector_free(&story->meshed);
    return status;
}

int neap_explain(neap_ctx *ctx, int n, const int32_t *ids, int form, char *text, size_t capacity, size_t *bytes) {
    lazy_story story = {.ctx = ctx};
    int status = take_roots(&story, n, ids);
    if (status == 0)
        status = plan_future(&story);
    if (status == 0)
        status = find_past(&story);
    if (status == 0)
        status = name_nodes(&story);
    return tell_and_end_story(&story, status, form, text, capacity, bytes);
}

int neap_program_explain(neap_program *program, int form, char *text, size_t capacity, size_t *bytes) {
    lazy_story story = {.ctx = program->ctx, .recorded = program};
    if (!(story.program = program = program_lowered(program)))
        return neap_error_code();
    int status = add_chapter(&story, program->plan, true, &program->region);
    if (status == 0)
        plan_memory_of_program(program->plan, program->root_slots.n, program->root_slots.at, 0, NULL);
    if (status == 0)
        status = program_number(program);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(&story.roots, program->outputs.at[k]);
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++)
        status = lazy_push(&story.nodes, program->inputs.at[k]);
    for (int64_t k = 0; k < program->nodes.n && status == 0; k++)
        if (!graph_is_placeholder(program->nodes.at[k]) && !program_is_literal(program->nodes.at[k]))
            status = lazy_push(&story.nodes, program->nodes.at[k]);
    return tell_and_end_story(&story, status, form, text, capacity, bytes);
}
