/* lexer.c: tokens of Lua code, and how they nest. */
#include "interp/lexer.h"

#include <ctype.h>
#include <string.h>

static const char *const keywords[] = {"and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
                                       "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
                                       "repeat",   "return", "then", "true", "until",  "while"};

static bool is_word(const char *text, lexer_token token, const char *word) {
    size_t length = token.to - token.from;
    return text[token.from] == *word && strncmp(text + token.from, word, length) == 0 && word[length] == '\0';
}

static bool is_keyword(const char *text, lexer_token token) {
    for (size_t k = 0; k < sizeof keywords / sizeof *keywords; k++)
        if (is_word(text, token, keywords[k]))
            return true;
    return false;
}

/* LuaJIT's names hold any byte from 128 on. */
static bool in_name(char character) {
    return isalnum((unsigned char)character) || character == '_' || (unsigned char)character >= 128;
}

/* How many '=' stand in the opening long bracket at `at`; -1: there is none. */
static int long_level(const char *text, size_t length, size_t at) {
    size_t behind = at + 1;
    if (at >= length || text[at] != '[')
        return -1;
    while (behind < length && text[behind] == '=')
        behind++;
    return behind < length && text[behind] == '[' ? (int)(behind - at) - 1 : -1;
}

/* The token ends behind its closing long bracket, or with the text. */
static void end_long(const char *text, size_t length, size_t at, int level, lexer_token *token) {
    while (at < length) {
        const char *bracket = memchr(text + at, ']', length - at);
        if (!bracket)
            break;
        at = (size_t)(bracket - text) + 1;
        size_t first = at;
        while (at < length && text[at] == '=')
            at++;
        if (at < length && text[at] == ']' && (int)(at - first) == level) {
            token->to = at + 1;
            return;
        }
    }
    token->to = length;
    token->closed = false;
}

static size_t line_end(const char *text, size_t length, size_t at) {
    while (at < length && text[at] != '\n' && text[at] != '\r')
        at++;
    return at;
}

static void end_comment(const char *text, size_t length, lexer_token *token) {
    int level = long_level(text, length, token->from + 2);
    if (level >= 0) {
        end_long(text, length, token->from + 4 + (size_t)level, level, token);
        return;
    }
    token->to = line_end(text, length, token->from);
}

/* The place behind the escape at `at`: a line end of two bytes, and what \z skips, belong to it. */
static size_t behind_escape(const char *text, size_t length, size_t at) {
    char first = at + 1 < length ? text[at + 1] : '\0', second = at + 2 < length ? text[at + 2] : '\0';
    if ((first == '\r' && second == '\n') || (first == '\n' && second == '\r'))
        return at + 3;
    at += 2;
    while (first == 'z' && at < length && isspace((unsigned char)text[at]))
        at++;
    return at;
}

static void end_string(const char *text, size_t length, lexer_token *token) {
    char quote = text[token->from];
    size_t at = token->from + 1;
    while (at < length && text[at] != quote && text[at] != '\n' && text[at] != '\r')
        at = text[at] == '\\' ? behind_escape(text, length, at) : at + 1;
    token->closed = at < length && text[at] == quote;
    token->to = token->closed ? at + 1 : at < length ? at : length;
}

static void end_number(const char *text, size_t length, lexer_token *token) {
    size_t at = token->from;
    bool hexadecimal = text[at] == '0' && at + 1 < length && tolower((unsigned char)text[at + 1]) == 'x';
    while (at < length && (in_name(text[at]) || text[at] == '.')) {
        int exponent = tolower((unsigned char)text[at++]);
        if (exponent == (hexadecimal ? 'p' : 'e') && at < length && (text[at] == '+' || text[at] == '-'))
            at++;
    }
    token->to = at;
}

lexer_token lexer_next(const char *text, size_t length, size_t at) {
    lexer_token token = {.from = at, .to = at + 1, .kind = LEXER_SYMBOL, .closed = true};
    char first = text[at], second = at + 1 < length ? text[at + 1] : '\0';
    int level;
    if (isspace((unsigned char)first)) {
        token.kind = LEXER_SPACE;
        while (token.to < length && isspace((unsigned char)text[token.to]))
            token.to++;
    } else if (first == '-' && second == '-') {
        token.kind = LEXER_COMMENT;
        end_comment(text, length, &token);
    } else if (first == '"' || first == '\'') {
        token.kind = LEXER_STRING;
        end_string(text, length, &token);
    } else if ((level = long_level(text, length, at)) >= 0) {
        token.kind = LEXER_STRING;
        end_long(text, length, at + 2 + (size_t)level, level, &token);
    } else if (isdigit((unsigned char)first) || (first == '.' && isdigit((unsigned char)second))) {
        token.kind = LEXER_NUMBER;
        end_number(text, length, &token);
    } else if (in_name(first)) {
        while (token.to < length && in_name(text[token.to]))
            token.to++;
        token.kind = is_keyword(text, token) ? LEXER_KEYWORD : LEXER_NAME;
    } else if (first == '.' && second == '.') {
        token.to = at + 2 < length && text[at + 2] == '.' ? at + 3 : at + 2;
    }
    return token;
}

/* ---- Nesting ----------------------------------------------------------------------------------------------------- */

static const struct role { /* what a token does; first what it closes */
    const char *word;
    char closes, opens;
} roles[] = {{"(", 0, ')'},      {"[", 0, ']'},      {"{", 0, '}'},     {")", ')', 0},      {"]", ']', 0},
             {"}", '}', 0},      {"do", 0, 'e'},     {"then", 0, 'e'},  {"repeat", 0, 'e'}, {"function", 0, 'e'},
             {"else", 'e', 'e'}, {"elseif", 'e', 0}, {"until", 'e', 0}, {"end", 'e', 0}};

static const struct role *role_of(const char *text, lexer_token token) {
    if (token.kind == LEXER_SYMBOL || token.kind == LEXER_KEYWORD)
        for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
            if (is_word(text, token, roles[k].word))
                return &roles[k];
    return NULL;
}

lexer_effect lexer_nest_take(lexer_nest *nest, const char *text, lexer_token token, size_t *opener) {
    const struct role *role = role_of(text, token);
    lexer_effect effect = LEXER_NEITHER;
    if (role && role->closes && nest->deeper > 0) {
        nest->deeper--;
    } else if (role && role->closes) {
        effect = LEXER_WRONG;
        if (nest->depth > 0 && nest->open[nest->depth - 1].closer == role->closes) {
            effect = LEXER_CLOSES;
            *opener = nest->open[--nest->depth].at;
        }
    }
    if (role && role->opens && nest->depth == LEXER_DEPTH) {
        nest->deeper++;
    } else if (role && role->opens) {
        nest->open[nest->depth++] = (lexer_opener){.at = token.from, .closer = role->opens};
        effect = effect == LEXER_NEITHER ? LEXER_OPENS : effect;
    }
    return effect;
}
