/* old.c: a plugin that was made for another interface than this engine's, and says so. */
#include "engine/device.h"

enum { MADE_FOR = NEAP_DEVICE_ABI + 1 };

int neap_plugin_open(const neap_plugin_host *host) {
    if (host->abi != MADE_FOR)
        return host->error(NEAP_E_LIBRARY, "made for interface %d of neap, not %u", MADE_FOR, host->abi);
    return NEAP_OK;
}
