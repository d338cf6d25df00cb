/* incbin.h: a file's bytes as data of the program, taken in by the assembler: as numbers in C text, megabytes would
 * take the compiler seconds. The build names the file as one that the object depends on; a compiler cache does not see
 * it, and keeps no such object. */
#ifndef ENGINE_INCBIN_H
#define ENGINE_INCBIN_H

/* The bytes stand between the symbols `name` and `name`_end, and a zero behind them. */
#define ENGINE_INCBIN(name, file)                                                                                      \
    __asm__(".pushsection .rodata\n.balign 16\n" #name ":\n.incbin \"" file "\"\n" #name                               \
            "_end:\n.byte 0\n.popsection\n");                                                                          \
    extern const char name[] __attribute__((visibility("hidden")));                                                    \
    extern const char name##_end[] __attribute__((visibility("hidden")));

#endif
