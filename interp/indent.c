/* indent.c: the indentation of typed lines. */
#include "interp/indent.h"

#include "interp/lexer.h"

size_t indent_line_begin(const char *text, size_t at) {
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

size_t indent_columns(const char *text, size_t length, size_t line) {
    size_t columns = 0;
    for (; line < length && (text[line] == ' ' || text[line] == '\t'); line++)
        columns += text[line] == ' ' ? 1 : INDENT_STEP - columns % INDENT_STEP;
    return columns;
}

size_t indent_of_next(const char *text, size_t at) {
    lexer_nest nest = {.depth = 0};
    size_t line = indent_line_begin(text, at), columns = indent_columns(text, at, line), opener = 0;
    for (size_t k = 0; k < at;) {
        lexer_token token = lexer_next(text, at, k);
        if (!token.closed)
            return 0;
        lexer_effect effect = lexer_nest_take(&nest, text, token, &opener);
        if (effect == LEXER_CLOSES && token.from >= line && opener < line) {
            size_t outer = indent_columns(text, at, indent_line_begin(text, opener));
            columns = outer < columns ? outer : columns;
        }
        k = token.to;
    }
    bool opens = nest.depth > 0 && nest.open[nest.depth - 1].at >= line;
    return columns + (opens ? INDENT_STEP : 0);
}

bool indent_of_closing(const char *text, size_t at, size_t *columns) {
    lexer_nest nest = {.depth = 0};
    size_t line = indent_line_begin(text, at), opener = at, first = line;
    while (first < at && (text[first] == ' ' || text[first] == '\t'))
        first++;
    lexer_effect effect = LEXER_NEITHER;
    lexer_token token = {.from = at};
    for (size_t k = 0; k < at; k = token.to) {
        token = lexer_next(text, at, k);
        effect = lexer_nest_take(&nest, text, token, &opener);
    }
    if (effect != LEXER_CLOSES || token.from != first || opener >= line)
        return false;
    *columns = indent_columns(text, at, indent_line_begin(text, opener));
    return true;
}
