/* memory.h: how the generator gets out of LLVM when memory is short. */
#ifndef LAZY_NATIVE_PLUGIN_MEMORY_H
#define LAZY_NATIVE_PLUGIN_MEMORY_H

#include <setjmp.h>
#include <stdbool.h>

/* Whether there is too little to begin at all. */
bool memory_is_short(void);

/* From here on an allocation of the plugin that fails jumps to `back`, on the thread that called this. */
void memory_begin(jmp_buf *back);
void memory_end(void);
/* Jumps there, which keeps the reason. Returns if nobody has begun. */
void memory_give_up(const char *reason);
const char *memory_failure(void);

#endif
