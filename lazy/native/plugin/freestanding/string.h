/* string.h: what rows take of C's library, for targets that have none. */
#ifndef LAZY_NATIVE_PLUGIN_FREESTANDING_STRING_H
#define LAZY_NATIVE_PLUGIN_FREESTANDING_STRING_H

#define memcpy __builtin_memcpy
#define memset __builtin_memset

#endif
