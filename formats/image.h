/* image.h: one format of images: what png.c and jpeg.c have each. */
#ifndef FORMATS_IMAGE_H
#define FORMATS_IMAGE_H

#include <stdbool.h>

#include "formats/formats.h"

typedef struct image_format {
    const char *name, *library; /* what it is called; what the library is, or why there is none */
    bool (*there)(void);        /* loads the library; where it is not there, `library` says so */
    /* `pixels` NULL: only the head. Both 0, or NEAP_E_IO, NEAP_E_MEMORY with a text. */
    int (*read)(const void *data, size_t bytes, neap_image *image, void *pixels);
    int (*write)(const neap_image *image, const void *pixels, int level, void **out, size_t *bytes);
} image_format;

extern image_format image_png, image_jpeg;

#endif
