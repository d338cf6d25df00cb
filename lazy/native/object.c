/* object.c: machine code from an object file in memory, without a linker: its sections are laid out in one mapping,
 * their references to each other and to a few functions of the C library are filled in, and the mapping becomes
 * executable and read-only. ELF, x86-64 and aarch64; what the generator does not use is refused.
 */
#include "lazy/native/object.h"

#include <elf.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STUB = 16, MAX_SECTIONS = 256, MOST_BYTES = 1 << 26 };

typedef struct image {
    const char *file;
    size_t bytes;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    size_t at[MAX_SECTIONS]; /* of each section that is loaded, its place in the mapping */
    bool loaded[MAX_SECTIONS];
    char *base;
    size_t size, stubs; /* of the mapping; where the stubs begin in it */
} image;

/* What code may call: of the C library, and of the compiler's own for 128 bits. */
#if defined(__SIZEOF_INT128__)
double __floattidf(__int128 x);
double __floatuntidf(unsigned __int128 x);
unsigned __int128 __fixunsdfti(double x);
#endif
#define FUNCTION(name)                                                                                                 \
    { #name, (const void *)(intptr_t)name }
static const struct {
    const char *name;
    const void *function;
} outside[] = {
    FUNCTION(memcpy),      FUNCTION(memset),        FUNCTION(memmove),      FUNCTION(fmod),  FUNCTION(fmodf),
    FUNCTION(fma),         FUNCTION(fmaf),          FUNCTION(ceil),         FUNCTION(ceilf), FUNCTION(floor),
    FUNCTION(floorf),      FUNCTION(rint),          FUNCTION(rintf),        FUNCTION(trunc), FUNCTION(truncf),
#if defined(__SIZEOF_INT128__)
    FUNCTION(__floattidf), FUNCTION(__floatuntidf), FUNCTION(__fixunsdfti),
#endif
};
enum { OUTSIDE = sizeof outside / sizeof *outside };

/* ---- Reading the file -------------------------------------------------------------------------------------------- */
static const void *part(const image *m, uint64_t offset, uint64_t bytes) {
    return offset <= m->bytes && bytes <= m->bytes - offset ? m->file + offset : NULL;
}

static bool read_head(image *m) {
    const Elf64_Ehdr *head = part(m, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_type != ET_REL || NATIVE_MACHINE == 0 || head->e_machine != NATIVE_MACHINE ||
        head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shnum > MAX_SECTIONS)
        return false;
    m->head = head;
    m->sections = part(m, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr));
    return m->sections && head->e_shoff % 8 == 0;
}

/* Places of the sections with code or constants. */
static bool lay_out(image *m) {
    size_t size = 0;
    for (int k = 0; k < m->head->e_shnum; k++) {
        const Elf64_Shdr *s = &m->sections[k];
        if (!(s->sh_flags & SHF_ALLOC) || s->sh_type != SHT_PROGBITS)
            continue;
        size_t align = s->sh_addralign ? s->sh_addralign : 1;
        if ((align & (align - 1)) != 0 || align > 4096 || !part(m, s->sh_offset, s->sh_size) || size > MOST_BYTES)
            return false;
        m->at[k] = size = (size + align - 1) / align * align;
        m->loaded[k] = true;
        size += s->sh_size;
    }
    m->stubs = (size + STUB - 1) / STUB * STUB;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    m->size = (m->stubs + OUTSIDE * STUB + page - 1) / page * page;
    return true;
}

/* ---- References -------------------------------------------------------------------------------------------------- */
/* A jump to a function that may be far away. */
static void write_stub(char *at, const void *function) {
#if defined(__x86_64__)
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *next(%rip) */
    memcpy(at, jump, sizeof jump);
    memcpy(at + sizeof jump, &function, sizeof function);
#else
    static const uint32_t jump[] = {0x58000050, 0xd61f0200}; /* ldr x16, .+8; br x16 */
    memcpy(at, jump, sizeof jump);
    memcpy(at + sizeof jump, &function, sizeof function);
#endif
}

/* The address of a symbol in the mapping; NULL: it has none. */
static char *address_of(const image *m, const Elf64_Sym *symbol, const char *names, uint64_t name_bytes) {
    int section = symbol->st_shndx;
    if (section != SHN_UNDEF)
        return section < m->head->e_shnum && m->loaded[section] && symbol->st_value <= m->sections[section].sh_size
                   ? m->base + m->at[section] + symbol->st_value
                   : NULL;
    if (symbol->st_name >= name_bytes)
        return NULL;
    for (int k = 0; k < OUTSIDE; k++)
        if (strcmp(names + symbol->st_name, outside[k].name) == 0)
            return m->base + m->stubs + k * STUB;
    return NULL;
}

static bool fits(int64_t value, int bits) {
    return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

#if defined(__x86_64__)
static bool relocate(char *where, uint64_t room, uint32_t type, uint64_t target) {
    int64_t distance = (int64_t)(target - (uintptr_t)where);
    int32_t word = (int32_t)distance;
    if (type == R_X86_64_64 && room >= 8) {
        memcpy(where, &target, 8);
        return true;
    }
    if ((type != R_X86_64_PC32 && type != R_X86_64_PLT32) || !fits(distance, 32))
        return false;
    memcpy(where, &word, 4);
    return true;
}
#elif defined(__aarch64__)
static bool relocate(char *where, uint64_t room, uint32_t type, uint64_t target) {
    int64_t distance = (int64_t)(target - (uintptr_t)where), low = (int64_t)(target & 0xfff);
    int64_t pages = (int64_t)(target >> 12) - (int64_t)((uintptr_t)where >> 12);
    uint32_t code;
    memcpy(&code, where, 4);
    switch (type) {
    case R_AARCH64_ABS64:
        if (room < 8)
            return false;
        memcpy(where, &target, 8);
        return true;
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        if (!fits(distance, 28))
            return false;
        code = (code & 0xfc000000) | ((uint32_t)(distance >> 2) & 0x3ffffff);
        break;
    case R_AARCH64_ADR_PREL_PG_HI21:
        if (!fits(pages, 21))
            return false;
        code = (code & 0x9f00001f) | ((uint32_t)pages & 3) << 29 | ((uint32_t)(pages >> 2) & 0x7ffff) << 5;
        break;
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        code |= (uint32_t)low << 10;
        break;
    case R_AARCH64_LDST16_ABS_LO12_NC:
        code |= (uint32_t)(low >> 1) << 10;
        break;
    case R_AARCH64_LDST32_ABS_LO12_NC:
        code |= (uint32_t)(low >> 2) << 10;
        break;
    case R_AARCH64_LDST64_ABS_LO12_NC:
        code |= (uint32_t)(low >> 3) << 10;
        break;
    case R_AARCH64_LDST128_ABS_LO12_NC:
        code |= (uint32_t)(low >> 4) << 10;
        break;
    default:
        return false;
    }
    memcpy(where, &code, 4);
    return true;
}
#else
static bool relocate(char *where, uint64_t room, uint32_t type, uint64_t target) {
    (void)where, (void)room, (void)type, (void)target;
    return false;
}
#endif

typedef struct symbols {
    const Elf64_Sym *list;
    uint64_t count, name_bytes;
    const char *names;
} symbols;

static bool read_symbols(const image *m, uint32_t index, symbols *out) {
    if (index >= m->head->e_shnum)
        return false;
    const Elf64_Shdr *s = &m->sections[index];
    if (s->sh_type != SHT_SYMTAB || s->sh_link >= m->head->e_shnum || s->sh_offset % 8 != 0)
        return false;
    const Elf64_Shdr *names = &m->sections[s->sh_link];
    *out = (symbols){part(m, s->sh_offset, s->sh_size), s->sh_size / sizeof(Elf64_Sym), names->sh_size,
                     part(m, names->sh_offset, names->sh_size)};
    return out->list && out->names && out->name_bytes > 0 && out->names[out->name_bytes - 1] == '\0';
}

static bool fill_in(const image *m) {
    for (int k = 0; k < m->head->e_shnum; k++) {
        const Elf64_Shdr *s = &m->sections[k];
        if (s->sh_type != SHT_RELA || s->sh_info >= m->head->e_shnum || !m->loaded[s->sh_info])
            continue;
        symbols table;
        const Elf64_Rela *list = part(m, s->sh_offset, s->sh_size);
        uint64_t bytes = m->sections[s->sh_info].sh_size;
        if (!list || s->sh_offset % 8 != 0 || !read_symbols(m, s->sh_link, &table))
            return false;
        for (uint64_t r = 0; r < s->sh_size / sizeof *list; r++) {
            uint64_t symbol = ELF64_R_SYM(list[r].r_info);
            const char *to =
                symbol < table.count ? address_of(m, &table.list[symbol], table.names, table.name_bytes) : NULL;
            if (!to || list[r].r_offset > bytes || bytes - list[r].r_offset < 4 ||
                !relocate(m->base + m->at[s->sh_info] + list[r].r_offset, bytes - list[r].r_offset,
                          (uint32_t)ELF64_R_TYPE(list[r].r_info), (uintptr_t)to + (uint64_t)list[r].r_addend))
                return false;
        }
    }
    return true;
}

static bool is_code(const image *m, const Elf64_Sym *symbol) {
    const Elf64_Shdr *s = symbol->st_shndx < m->head->e_shnum ? &m->sections[symbol->st_shndx] : NULL;
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && s && s->sh_flags & SHF_EXECINSTR &&
           symbol->st_value < s->sh_size;
}

static char *find(const image *m, const char *name) {
    symbols table;
    for (uint32_t k = 0; k < m->head->e_shnum; k++) {
        if (m->sections[k].sh_type != SHT_SYMTAB || !read_symbols(m, k, &table))
            continue;
        for (uint64_t s = 0; s < table.count; s++)
            if (is_code(m, &table.list[s]) && table.list[s].st_name < table.name_bytes &&
                strcmp(table.names + table.list[s].st_name, name) == 0)
                return address_of(m, &table.list[s], table.names, table.name_bytes);
    }
    return NULL;
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
bool native_object_load(native_object *out, const void *file, size_t bytes, const char *name) {
    image m = {.file = file, .bytes = bytes};
    if (!read_head(&m) || !lay_out(&m))
        return false;
    m.base = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m.base == MAP_FAILED)
        return false;
    for (int k = 0; k < m.head->e_shnum; k++)
        if (m.loaded[k])
            memcpy(m.base + m.at[k], m.file + m.sections[k].sh_offset, m.sections[k].sh_size);
    for (int k = 0; k < OUTSIDE; k++)
        write_stub(m.base + m.stubs + k * STUB, outside[k].function);
    void *function = fill_in(&m) ? find(&m, name) : NULL;
    if (function && mprotect(m.base, m.size, PROT_READ | PROT_EXEC) != 0)
        function = NULL;
    if (!function) {
        munmap(m.base, m.size);
        return false;
    }
    __builtin___clear_cache(m.base, m.base + m.size);
    *out = (native_object){.base = m.base, .bytes = m.size, .function = function};
    return true;
}

void native_object_unload(native_object *object) {
    if (object->base)
        munmap(object->base, object->bytes);
    *object = (native_object){0};
}
