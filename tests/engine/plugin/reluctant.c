/* reluctant.c: a plugin that fails to open twice, once without a word, then opens, and never again. */
#include "engine/device.h"

int neap_plugin_open(const neap_plugin_host *host) {
    static int tries;
    tries++;
    if (tries == 1)
        return host->error(NEAP_E_STATE, "there is no driver");
    return tries == 2 ? NEAP_E_IO : tries == 3 ? NEAP_OK : NEAP_E_STATE;
}
