/* linked.c: lets a C test's process know the kind "null" before main begins. */
#include "tests/lib/null/device.h"

__attribute__((constructor)) static void register_null_devices(void) {
    neap_device_register(&null_device_kind);
}
