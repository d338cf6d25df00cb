/* image.c: images of any format: finds who reads and writes it. */
#include "formats/image.h"

#include <stdlib.h>
#include <string.h>

static image_format *const formats[NEAP_IMAGE_FORMATS] = {&image_png, &image_jpeg};

/* The format, with its library loaded; NULL after an error. */
static image_format *open_format(int format) {
    if (format < 0 || format >= NEAP_IMAGE_FORMATS) {
        neap_error(NEAP_E_ARGUMENT, "no such format of images (%d)", format);
        return NULL;
    }
    if (!formats[format]->there()) {
        neap_error(NEAP_E_LIBRARY, "%s images cannot be read or written: %s", formats[format]->name,
                   formats[format]->library);
        return NULL;
    }
    return formats[format];
}

const char *neap_image_library(int format) {
    if (format < 0 || format >= NEAP_IMAGE_FORMATS)
        return "none: no such format of images";
    formats[format]->there();
    return formats[format]->library;
}

int neap_image_head(int format, const void *data, size_t bytes, neap_image *out) {
    image_format *of = open_format(format);
    return of ? of->read(data, bytes, out, NULL) : neap_error_code();
}

int neap_image_read(int format, const void *data, size_t bytes, const neap_image *image, void *pixels) {
    image_format *of = open_format(format);
    neap_image copy = *image;
    return of ? of->read(data, bytes, &copy, pixels) : neap_error_code();
}

int neap_image_write(int format, const neap_image *image, const void *pixels, int level, void **out, size_t *bytes) {
    image_format *of = open_format(format);
    if (!of)
        return neap_error_code();
    if (image->width < 1 || image->height < 1 || image->width > INT32_MAX || image->height > INT32_MAX ||
        image->channels < 1 || image->channels > 4 || (image->bits != 8 && image->bits != 16))
        return neap_error(NEAP_E_ARGUMENT, "no image: %lld x %lld pixels, %d channels of %d bits",
                          (long long)image->width, (long long)image->height, image->channels, image->bits);
    return of->write(image, pixels, level, out, bytes);
}

void neap_image_free(void *data) {
    free(data);
}
