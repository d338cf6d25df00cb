/* plugin.c: null devices (tests/lib/null/device.h) as a plugin, for Lua tests: neap --device null. What the device
 * needs of the engine, the plugin finds in the neap that loads it. */
#include "tests/lib/null/device.h"

#include <stdlib.h>

#include "engine/engine_internal.h"

/* The engine's own make allocations fail where a test asks for it. */
void *engine_alloc(size_t bytes) {
    return malloc(bytes);
}

bool engine_alloc_refuse(void) {
    return false;
}

int neap_plugin_open(const neap_plugin_host *host) {
    return host->abi == NEAP_DEVICE_ABI ? host->device_register(&null_device_kind) : NEAP_E_STATE;
}
