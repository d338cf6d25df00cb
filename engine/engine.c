/* engine.c: the engine's one instance: start, stop, fork.
 *
 *      OFF ──start──▶ RUNNING ──stop──▶ CLOSED (refuses pushes, finishes what it has) ──▶ OFF
 *       └───────────────┴── fork ──▶ DEAD, in the child only, for ever
 *
 * A fork copies one thread and whatever state the others had half changed, so in the child nothing of the engine may be
 * touched: every call looks at the phase first. Threads start on first need, so a process that forks before it computes
 * does not lose anything but the engine.
 */
#include "engine/device_internal.h"
#include "engine/timeline.h"

#include <pthread.h>

static pthread_mutex_t phase_mutex = PTHREAD_MUTEX_INITIALIZER;

static void mark_dead(void) {
    atomic_store(&engine.phase, ENGINE_DEAD);
    atomic_store(&engine_timeline_recording, false);
}

/* From the first touch of the library on, so that a child forked before the start is marked as well. */
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, mark_dead);
}

static int start_engine_once(const neap_engine_config *config) {
    if (engine_phase() != ENGINE_OFF)
        return neap_error(NEAP_E_STATE, "the engine is already started");
    if (config->workers < 0 || config->workers > ENGINE_WORKERS_MOST) {
        return neap_error(NEAP_E_ARGUMENT, "%d workers: expected 1 to %d, or 0 for one per core", config->workers,
                          ENGINE_WORKERS_MOST);
    }
    if (config->devices < 0 || config->devices > ENGINE_DEVICES_MOST) {
        return neap_error(NEAP_E_ARGUMENT, "%d devices: expected 1 to %d, or 0 for 1", config->devices,
                          ENGINE_DEVICES_MOST);
    }
    if (config->scheduler < NEAP_SCHEDULER_POOL || config->scheduler > NEAP_SCHEDULER_DEVICE) {
        return neap_error(NEAP_E_ARGUMENT, "unknown scheduler %d", config->scheduler);
    }
    engine.cores = engine_cores_count();
    neap_engine_config all = *config;
    int status = all.workers == 0 ? engine_workers_wanted(&all.workers) : NEAP_OK;
    if (status)
        return status;
    if (all.workers == 0)
        all.workers = all.scheduler == NEAP_SCHEDULER_DEVICE ? 1 : engine.cores;
    if (all.devices == 0)
        all.devices = 1;
    status = engine_pool_open(&all, engine_op_run);
    if (status)
        return status;
    engine.shuffle = all.shuffle;
    engine_devices_open(all.devices);
    engine.scheduler = all.scheduler;
    atomic_store(&engine.phase, ENGINE_RUNNING);
    return NEAP_OK;
}

int neap_engine_start(const neap_engine_config *config) {
    static const neap_engine_config plain;
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&phase_mutex);
    status = start_engine_once(config ? config : &plain);
    pthread_mutex_unlock(&phase_mutex);
    if (!status)
        engine_float_mode_set(); /* small ops run on this thread */
    return status;
}

/* The first wait lets ops push what they still have to; then the door closes. A push counts itself as begun before it
 * looks at the phase, we change the phase before we look at the counts: so either it sees the closed door, or the
 * second wait sees its op. */
void neap_engine_stop(void) {
    if (engine_phase() == ENGINE_DEAD || engine_self()->depth > 0)
        return;
    engine_bulk_flush(engine_self());
    pthread_mutex_lock(&phase_mutex);
    if (engine_phase() == ENGINE_RUNNING) {
        engine_wait_idle();
        atomic_store(&engine.phase, ENGINE_CLOSED);
        engine_wait_idle();
        engine_devices_settle();
        engine_pool_close();
        engine_devices_close();
        engine_failure_report_all();
        neap_memory_trim();
        engine.scheduler = NEAP_SCHEDULER_POOL;
        atomic_store(&engine.phase, ENGINE_OFF);
    }
    pthread_mutex_unlock(&phase_mutex);
}

int neap_engine_workers(void) {
    return engine_phase() == ENGINE_RUNNING ? engine.workers : 0;
}

int neap_engine_devices(void) {
    return engine_phase() == ENGINE_RUNNING ? engine.cpus : 0;
}
