/* analyzed.h: what clang-tidy is told besides the sources (tools/check): that neap_error returns its code, so that
 * `status = memory ? 0 : neap_error(…)` is 0 only with memory. */
#include "engine/engine.h"

#define neap_error(code, ...) ((void)(neap_error)(code, __VA_ARGS__), (code))
