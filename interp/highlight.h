/* highlight.h: how the bytes of a text that is being typed look. */
#ifndef INTERP_HIGHLIGHT_H
#define INTERP_HIGHLIGHT_H

#include <stddef.h>

typedef enum highlight_style {
    STYLE_PLAIN,
    STYLE_KEYWORD,
    STYLE_STRING,
    STYLE_NUMBER,
    STYLE_COMMENT,
    STYLE_LIBRARY,   /* np and what stands behind it */
    STYLE_WRONG,     /* a string or a bracket without its other end */
    STYLE_PARTNER,   /* the bracket at the cursor, and its other end */
    STYLE_SUGGESTED, /* not typed: what an earlier command goes on with */
    STYLE_COUNT
} highlight_style;

/* Writes the style of each byte of `text` for a cursor before the byte `point`. It costs one pass over the text. */
void highlight_text(const char *text, size_t length, size_t point, unsigned char *styles);

/* What sets a style on a terminal, whatever was set before. BORROWED for ever. */
const char *highlight_sequence(highlight_style style);

#endif
