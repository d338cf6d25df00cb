/* lexer.h: the tokens of Lua code that is being typed, and which of them open and close what.
 *
 * Any text has tokens: what is not closed ends with the text, or with its line. Nothing is allocated and no Lua runs,
 * so this may be used while a line is drawn. tokens.lua is about commands that are complete.
 */
#ifndef INTERP_LEXER_H
#define INTERP_LEXER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum lexer_kind {
    LEXER_SPACE,
    LEXER_COMMENT,
    LEXER_NAME,
    LEXER_KEYWORD,
    LEXER_NUMBER,
    LEXER_STRING,
    LEXER_SYMBOL
} lexer_kind;

typedef struct lexer_token {
    size_t from, to; /* its bytes: from <= byte < to */
    lexer_kind kind;
    bool closed; /* false: a string or a long comment without its end */
} lexer_token;

/* The token that begins at `at` < length. */
lexer_token lexer_next(const char *text, size_t length, size_t at);

enum { LEXER_DEPTH = 500 }; /* what is nested deeper is taken for well nested */

typedef struct lexer_opener {
    size_t at;   /* its first byte */
    char closer; /* the bracket that closes it; 'e': a keyword, as "end" */
} lexer_opener;

typedef struct lexer_nest { /* what is open behind a token; all zero before the first */
    lexer_opener open[LEXER_DEPTH];
    size_t depth, deeper;
} lexer_nest;

typedef enum lexer_effect {
    LEXER_NEITHER,
    LEXER_OPENS,
    LEXER_CLOSES,
    LEXER_WRONG /* closes what is not open */
} lexer_effect;

/* Takes the next token of a text. With LEXER_CLOSES (of "else" too, which opens anew) *opener is where that began which
 * it closes. */
lexer_effect lexer_nest_take(lexer_nest *nest, const char *text, lexer_token token, size_t *opener);

#endif
