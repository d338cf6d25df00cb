/* highlight.c: the colours of a text that is being typed. */
#include "interp/highlight.h"

#include <string.h>

#include "interp/lexer.h"

static const char *const sequences[STYLE_COUNT] = {
    [STYLE_PLAIN] = "\033[0m",     [STYLE_KEYWORD] = "\033[0;35m",  [STYLE_STRING] = "\033[0;32m",
    [STYLE_NUMBER] = "\033[0;36m", [STYLE_COMMENT] = "\033[0;2m",   [STYLE_LIBRARY] = "\033[0;34m",
    [STYLE_WRONG] = "\033[0;31m",  [STYLE_PARTNER] = "\033[0;1;4m", [STYLE_SUGGESTED] = "\033[0;2m",
};

static const unsigned char styles_of[] = {
    [LEXER_SPACE] = STYLE_PLAIN,     [LEXER_COMMENT] = STYLE_COMMENT, [LEXER_NAME] = STYLE_PLAIN,
    [LEXER_KEYWORD] = STYLE_KEYWORD, [LEXER_NUMBER] = STYLE_NUMBER,   [LEXER_STRING] = STYLE_STRING,
    [LEXER_SYMBOL] = STYLE_PLAIN,
};

const char *highlight_sequence(highlight_style style) {
    return sequences[style];
}

/* The bracket at the cursor, or else behind which it stands: its place, `length` if there is none. It may be one in a
 * string. */
static size_t bracket_at(const char *text, size_t length, size_t point) {
    if (point < length && text[point] != '\0' && strchr("()[]{}", text[point]))
        return point;
    if (point > 0 && text[point - 1] != '\0' && strchr("()[]{}", text[point - 1]))
        return point - 1;
    return length;
}

/* Whether a name is np, or stands behind a dot of a name that is (`behind`: it would). */
static bool is_library(const char *text, lexer_token token, bool behind) {
    return behind || (token.to - token.from == 2 && memcmp(text + token.from, "np", 2) == 0 &&
                      (token.from == 0 || !strchr(".:", text[token.from - 1])));
}

void highlight_text(const char *text, size_t length, size_t point, unsigned char *styles) {
    lexer_nest nest = {.depth = 0};
    size_t bracket = bracket_at(text, length, point), opener = 0, behind_library = length;
    bool is_code = length > 0 && text[0] != '!'; /* else a command of the shell */
    memset(styles, STYLE_PLAIN, length);
    for (size_t at = 0; is_code && at < length;) {
        lexer_token token = lexer_next(text, length, at);
        unsigned char style = token.closed ? styles_of[token.kind] : STYLE_WRONG;
        if (token.kind == LEXER_NAME && is_library(text, token, behind_library == at)) {
            style = STYLE_LIBRARY;
            behind_library = token.to + 1 < length && text[token.to] == '.' ? token.to + 1 : length;
        }
        lexer_effect effect = lexer_nest_take(&nest, text, token, &opener);
        if (effect == LEXER_WRONG)
            style = STYLE_WRONG;
        memset(styles + token.from, style, token.to - token.from);
        if (effect == LEXER_CLOSES && token.kind == LEXER_SYMBOL && (bracket == token.from || bracket == opener))
            styles[token.from] = styles[opener] = STYLE_PARTNER;
        at = token.to;
    }
    for (size_t k = 0; k < nest.depth; k++)
        if (nest.open[k].closer != 'e')
            styles[nest.open[k].at] = STYLE_WRONG;
}
