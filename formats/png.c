/* png.c: PNG through libpng, loaded at run time.
 *
 * The library reports errors by a jump: each call of it happens inside of run_read or run_write, below their setjmp,
 * with all that has to be freed in a structure of the caller's. Built without its headers (NEAP_HAVE_PNG), this says
 * so.
 */
#include "engine/libs/library.h"
#include "formats/image.h"

#ifndef NEAP_HAVE_PNG

static bool is_there(void) {
    return false;
}

image_format image_png = {.name = "PNG", .library = "none: install libpng-dev and build neap again", .there = is_there};

#else

#include <png.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* The functions that are used, without their prefix. */
#define PNG_FUNCTIONS(X)                                                                                               \
    X(get_libpng_ver)                                                                                                  \
    X(create_read_struct)                                                                                              \
    X(create_write_struct)                                                                                             \
    X(create_info_struct)                                                                                              \
    X(destroy_read_struct)                                                                                             \
    X(destroy_write_struct)                                                                                            \
    X(set_longjmp_fn)                                                                                                  \
    X(longjmp)                                                                                                         \
    X(error)                                                                                                           \
    X(get_error_ptr)                                                                                                   \
    X(get_io_ptr)                                                                                                      \
    X(set_read_fn)                                                                                                     \
    X(set_write_fn)                                                                                                    \
    X(read_info)                                                                                                       \
    X(read_update_info)                                                                                                \
    X(read_image)                                                                                                      \
    X(read_end)                                                                                                        \
    X(get_IHDR)                                                                                                        \
    X(get_valid)                                                                                                       \
    X(get_channels)                                                                                                    \
    X(get_bit_depth)                                                                                                   \
    X(get_rowbytes)                                                                                                    \
    X(set_expand)                                                                                                      \
    X(set_swap)                                                                                                        \
    X(set_interlace_handling)                                                                                          \
    X(set_IHDR)                                                                                                        \
    X(set_compression_level)                                                                                           \
    X(write_info)                                                                                                      \
    X(write_image)                                                                                                     \
    X(write_end)

static struct {
    pthread_once_t once;
    bool there;
#define PNG_FIELD(name) __typeof__(&png_##name) name;
    PNG_FUNCTIONS(PNG_FIELD)
#undef PNG_FIELD
} lib = {.once = PTHREAD_ONCE_INIT};

static void load_png(void) {
#define PNG_SYMBOL(field) {"png_" #field, &lib.field},
    static const engine_symbol symbols[] = {PNG_FUNCTIONS(PNG_SYMBOL)};
#undef PNG_SYMBOL
    static char text[48];
    lib.there = engine_library_load("libpng" TEXT(PNG_LIBPNG_VER_SONUM) ".so." TEXT(PNG_LIBPNG_VER_SONUM),
                                    sizeof symbols / sizeof *symbols, symbols);
    if (lib.there) {
        snprintf(text, sizeof text, "libpng %s", lib.get_libpng_ver(NULL));
        image_png.library = text;
    }
}

static bool is_there(void) {
    pthread_once(&lib.once, load_png);
    return lib.there;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

enum { MOST_GROWTH = 1032 }; /* of deflate */

typedef struct work {
    png_structp png;
    png_infop info;
    char problem[160];
    const unsigned char *in, *end; /* the file that is read */
    unsigned char *out;            /* the file that is written */
    size_t written, capacity;
    png_bytepp rows;
} work;

static void on_error(png_structp png, png_const_charp text) {
    work *w = lib.get_error_ptr(png);
    snprintf(w->problem, sizeof w->problem, "%s", text);
    lib.longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static bool make_rows(work *w, const neap_image *image, const void *pixels) {
    size_t stride = (size_t)(image->width * image->channels * image->bits / 8);
    w->rows = malloc((size_t)image->height * sizeof *w->rows);
    for (int64_t y = 0; w->rows && y < image->height; y++)
        w->rows[y] = (png_bytep)(uintptr_t)pixels + (size_t)y * stride;
    return w->rows != NULL;
}

static int outcome(const work *w, int status) {
    return status == 0 ? 0 : neap_error(status, "%s", w->problem[0] ? w->problem : "libpng has no memory");
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static void read_bytes(png_structp png, png_bytep out, size_t bytes) {
    work *w = lib.get_io_ptr(png);
    if (bytes > (size_t)(w->end - w->in))
        lib.error(png, "it is truncated");
    memcpy(out, w->in, bytes);
    w->in += bytes;
}

/* Everything as 8 or 16 bits a channel: palettes become RGB, fewer bits 8, transparent colours alpha. */
static void read_head(work *w, size_t bytes, neap_image *image) {
    png_uint_32 width, height;
    int bits, color, interlace;
    lib.read_info(w->png, w->info);
    lib.get_IHDR(w->png, w->info, &width, &height, &bits, &color, &interlace, NULL, NULL);
    uint64_t stored = (uint64_t)height * lib.get_rowbytes(w->png, w->info);
    if (stored / MOST_GROWTH > bytes + 64)
        lib.error(w->png, "it is truncated: its pixels need more bytes than it has");
    lib.set_expand(w->png);
    const uint16_t one = 1;
    if (*(const unsigned char *)&one == 1)
        lib.set_swap(w->png);
    lib.set_interlace_handling(w->png);
    lib.read_update_info(w->png, w->info);
    *image = (neap_image){.width = width,
                          .height = height,
                          .channels = lib.get_channels(w->png, w->info),
                          .bits = lib.get_bit_depth(w->png, w->info)};
}

/* Reads the head, and the pixels if there is memory for them. */
static int run_read(work *w, size_t bytes, neap_image *image, void *pixels) {
    if (setjmp(*lib.set_longjmp_fn(w->png, longjmp, sizeof(jmp_buf))))
        return NEAP_E_IO;
    neap_image found;
    lib.set_read_fn(w->png, w, read_bytes);
    read_head(w, bytes, &found);
    if (!pixels) {
        *image = found;
        return 0;
    }
    if (memcmp(&found, image, sizeof found) != 0)
        lib.error(w->png, "it has changed");
    lib.read_image(w->png, w->rows);
    lib.read_end(w->png, NULL);
    return 0;
}

static int read_png(const void *data, size_t bytes, neap_image *image, void *pixels) {
    work w = {.in = data, .end = (const unsigned char *)data + bytes};
    int status = NEAP_E_MEMORY;
    w.png = lib.create_read_struct(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning);
    w.info = w.png ? lib.create_info_struct(w.png) : NULL;
    if (w.info && (!pixels || make_rows(&w, image, pixels)))
        status = run_read(&w, bytes, image, pixels);
    if (w.png)
        lib.destroy_read_struct(&w.png, &w.info, NULL);
    free(w.rows);
    return outcome(&w, status);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void write_bytes(png_structp png, png_bytep data, size_t bytes) {
    work *w = lib.get_io_ptr(png);
    if (bytes > w->capacity - w->written) {
        size_t capacity = 2 * w->capacity + bytes + 4096;
        unsigned char *grown = realloc(w->out, capacity);
        if (!grown)
            lib.error(png, "no memory for a file");
        w->out = grown;
        w->capacity = capacity;
    }
    memcpy(w->out + w->written, data, bytes);
    w->written += bytes;
}

static void flush_nothing(png_structp png) {
    (void)png;
}

static int run_write(work *w, const neap_image *image, int level) {
    static const int colors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(*lib.set_longjmp_fn(w->png, longjmp, sizeof(jmp_buf))))
        return NEAP_E_IO;
    lib.set_write_fn(w->png, w, write_bytes, flush_nothing);
    lib.set_compression_level(w->png, level);
    lib.set_IHDR(w->png, w->info, (png_uint_32)image->width, (png_uint_32)image->height, image->bits,
                 colors[image->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    lib.write_info(w->png, w->info);
    const uint16_t one = 1;
    if (image->bits == 16 && *(const unsigned char *)&one == 1)
        lib.set_swap(w->png);
    lib.write_image(w->png, w->rows);
    lib.write_end(w->png, NULL);
    return 0;
}

static int write_png(const neap_image *image, const void *pixels, int level, void **out, size_t *bytes) {
    work w = {.png = NULL};
    int status = NEAP_E_MEMORY;
    w.png = lib.create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning);
    w.info = w.png ? lib.create_info_struct(w.png) : NULL;
    if (w.info && make_rows(&w, image, pixels))
        status = run_write(&w, image, level);
    if (w.png)
        lib.destroy_write_struct(&w.png, &w.info);
    free(w.rows);
    if (status) {
        free(w.out);
        return outcome(&w, status);
    }
    *out = w.out;
    *bytes = w.written;
    return 0;
}

image_format image_png = {.name = "PNG",
                          .library = "none: libpng is not there; install libpng16-16",
                          .there = is_there,
                          .read = read_png,
                          .write = write_png};

#endif
