/* state.c: the state that all of the engine looks at. */
#include "engine/engine_internal.h"

engine_state engine;
