/* jpeg.c: JPEG through libjpeg or libjpeg-turbo, loaded at run time.
 *
 * The library reports errors by a jump: each call of it happens inside of run_read or run_write, below their setjmp,
 * with all that has to be freed in a structure of the caller's. What it only warns of, data that ends early or is no
 * code, is an error here. Built without its headers (NEAP_HAVE_JPEG), this says so.
 */
#include "engine/libs/library.h"
#include "formats/image.h"

#ifndef NEAP_HAVE_JPEG

static bool is_there(void) {
    return false;
}

image_format image_jpeg = {
    .name = "JPEG", .library = "none: install libjpeg-dev and build neap again", .there = is_there};

#else

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#if JPEG_LIB_VERSION >= 80
#define SONAME "libjpeg.so.8"
#else
#define SONAME "libjpeg.so." TEXT(JPEG_LIB_VERSION)
#endif

/* The functions that are used, without their prefix. */
#define JPEG_FUNCTIONS(X)                                                                                              \
    X(std_error)                                                                                                       \
    X(CreateDecompress)                                                                                                \
    X(mem_src)                                                                                                         \
    X(read_header)                                                                                                     \
    X(start_decompress)                                                                                                \
    X(read_scanlines)                                                                                                  \
    X(finish_decompress)                                                                                               \
    X(destroy_decompress)                                                                                              \
    X(CreateCompress)                                                                                                  \
    X(mem_dest)                                                                                                        \
    X(set_defaults)                                                                                                    \
    X(set_quality)                                                                                                     \
    X(start_compress)                                                                                                  \
    X(write_scanlines)                                                                                                 \
    X(finish_compress)                                                                                                 \
    X(destroy_compress)

static struct {
    pthread_once_t once;
    bool there;
#define JPEG_FIELD(name) __typeof__(&jpeg_##name) name;
    JPEG_FUNCTIONS(JPEG_FIELD)
#undef JPEG_FIELD
} lib = {.once = PTHREAD_ONCE_INIT};

static void load_jpeg(void) {
#define JPEG_SYMBOL(field) {"jpeg_" #field, &lib.field},
    static const engine_symbol symbols[] = {JPEG_FUNCTIONS(JPEG_SYMBOL)};
#undef JPEG_SYMBOL
    lib.there = engine_library_load(SONAME, sizeof symbols / sizeof *symbols, symbols);
    if (lib.there)
        image_jpeg.library = SONAME;
}

static bool is_there(void) {
    pthread_once(&lib.once, load_jpeg);
    return lib.there;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

enum {
    MOST_SCANS = 500,
    MOST_GROWTH = 4096 /* pixels that a byte stands for */,
    MOST_EXTENT = 65500,
    FIRST_BYTES = 1 << 16
};

typedef struct work {
    struct jpeg_error_mgr errors; /* first: the library passes its address on */
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    char problem[JMSG_LENGTH_MAX];
    unsigned char *first, *written; /* memory of ours that the file begins in; the whole file, there or elsewhere */
    unsigned long bytes;
} work;

static void on_error(j_common_ptr common) {
    work *w = (work *)common->err;
    common->err->format_message(common, w->problem);
    longjmp(w->jump, 1);
}

static void fail(work *w, const char *problem) {
    snprintf(w->problem, sizeof w->problem, "%s", problem);
    longjmp(w->jump, 1);
}

static void on_message(j_common_ptr common, int level) {
    int code = common->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE))
        fail((work *)common->err, code == JWRN_JPEG_EOF ? "it is truncated" : "damaged compressed data");
}

/* A small file may ask for thousands of passes over a large image. */
static void on_progress(j_common_ptr common) {
    work *w = (work *)common->err;
    if (common->is_decompressor && w->in.input_scan_number > MOST_SCANS)
        fail(w, "it has more than 500 scans");
}

static void prepare(work *w) {
    lib.std_error(&w->errors);
    w->errors.error_exit = on_error;
    w->errors.emit_message = on_message;
    w->progress.progress_monitor = on_progress;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Reads the head, and the pixels if there is memory for them. */
static int run_read(work *w, const void *data, size_t bytes, neap_image *image, void *pixels) {
    if (setjmp(w->jump))
        return NEAP_E_IO;
    lib.CreateDecompress(&w->in, JPEG_LIB_VERSION, sizeof w->in);
    w->in.progress = &w->progress;
    lib.mem_src(&w->in, data, (unsigned long)bytes);
    lib.read_header(&w->in, TRUE);
    if (w->in.num_components != 1 && w->in.num_components != 3)
        fail(w, "its colours are CMYK, not gray or RGB");
    if ((uint64_t)w->in.image_width * w->in.image_height / MOST_GROWTH > bytes)
        fail(w, "it is truncated: its pixels need more bytes than it has");
    neap_image found = {
        .width = w->in.image_width, .height = w->in.image_height, .channels = w->in.num_components, .bits = 8};
    if (!pixels) {
        *image = found;
        return 0;
    }
    if (found.width != image->width || found.height != image->height || found.channels != image->channels)
        fail(w, "it has changed");
    w->in.out_color_space = found.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    lib.start_decompress(&w->in);
    while (w->in.output_scanline < w->in.output_height) {
        JSAMPROW row = (JSAMPROW)pixels + (size_t)w->in.output_scanline * (size_t)(found.width * found.channels);
        lib.read_scanlines(&w->in, &row, 1);
    }
    lib.finish_decompress(&w->in);
    return 0;
}

static int read_jpeg(const void *data, size_t bytes, neap_image *image, void *pixels) {
    work *w = calloc(1, sizeof *w);
    if (!w)
        return neap_error(NEAP_E_MEMORY, "no memory for an image");
    prepare(w);
    w->in.err = &w->errors;
    int status = run_read(w, data, bytes, image, pixels);
    lib.destroy_decompress(&w->in);
    if (status)
        neap_error(status, "%s", w->problem);
    free(w);
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static int run_write(work *w, const neap_image *image, const void *pixels, int quality) {
    if (setjmp(w->jump))
        return NEAP_E_IO;
    lib.CreateCompress(&w->out, JPEG_LIB_VERSION, sizeof w->out);
    w->written = w->first;
    w->bytes = FIRST_BYTES;
    lib.mem_dest(&w->out, &w->written, &w->bytes);
    w->out.image_width = (JDIMENSION)image->width;
    w->out.image_height = (JDIMENSION)image->height;
    w->out.input_components = image->channels;
    w->out.in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    lib.set_defaults(&w->out);
    lib.set_quality(&w->out, quality, TRUE);
    lib.start_compress(&w->out, TRUE);
    while (w->out.next_scanline < w->out.image_height) {
        JSAMPROW row =
            (JSAMPROW)(uintptr_t)pixels + (size_t)w->out.next_scanline * (size_t)(image->width * image->channels);
        lib.write_scanlines(&w->out, &row, 1);
    }
    lib.finish_compress(&w->out);
    return 0;
}

static int write_jpeg(const neap_image *image, const void *pixels, int quality, void **out, size_t *bytes) {
    if (image->bits != 8 || (image->channels != 1 && image->channels != 3) || image->width > MOST_EXTENT ||
        image->height > MOST_EXTENT)
        return neap_error(NEAP_E_ARGUMENT, "a JPEG has 1 or 3 channels of 8 bits and at most 65500 pixels a side");
    work *w = calloc(1, sizeof *w);
    if (w)
        w->first = malloc(FIRST_BYTES);
    if (!w || !w->first) {
        free(w);
        return neap_error(NEAP_E_MEMORY, "no memory for an image");
    }
    prepare(w);
    w->out.err = &w->errors;
    int status = run_write(w, image, pixels, quality);
    lib.destroy_compress(&w->out);
    if (status || w->written != w->first)
        free(w->first);
    if (status) {
        neap_error(status, "%s", w->problem);
    } else {
        *out = w->written;
        *bytes = w->bytes;
    }
    free(w);
    return status;
}

image_format image_jpeg = {.name = "JPEG",
                           .library = "none: " SONAME " is not there; install libjpeg62-turbo",
                           .there = is_there,
                           .read = read_jpeg,
                           .write = write_jpeg};

#endif
