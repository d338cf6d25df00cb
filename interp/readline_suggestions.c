/* readline_suggestions.c: the rest of an earlier command that begins with what is typed.
 *
 * line_readline.c draws it behind the cursor; keys that go forward take it, all of it or a word. Only what was drawn is
 * taken: keys that come faster than the screen is drawn mean what they mean without suggestions.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include <readline/history.h>

#include "interp/line_readline.h"

static bool wanted;

static struct {
    char *text;           /* what was typed and its suggestion, as they were drawn; OWNED */
    size_t typed, length; /* bytes of what was typed, of both */
} shown;

void readline_suggestions_open(void) {
    const char *setting = getenv("NEAP_SUGGESTIONS");
    wanted = !(setting && strcmp(setting, "0") == 0);
}

/* Whether the end of a command is being typed: not its middle, a number for a key, what a search looks for, or one that
 * was recalled. */
static bool is_typed_at_end(void) {
    return rl_point == rl_end && rl_display_prompt == rl_prompt && where_history() == history_length &&
           !RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_SEARCH | RL_STATE_NUMERICARG);
}

/* The newest command that goes on from `length` bytes of a text. NULL: there is none. BORROWED until the history
 * changes. Behind the bytes a character begins. */
static const char *longer_command(const char *text, size_t length) {
    HIST_ENTRY **commands = history_list();
    for (int k = commands ? history_length - 1 : -1; k >= 0; k--) {
        const char *line = commands[k]->line;
        if (strncmp(line, text, length) == 0 && line[length] != '\0' && (line[length] & 0xC0) != 0x80)
            return line;
    }
    return NULL;
}

const char *readline_suggest(size_t *length) {
    size_t typed = strlen(rl_line_buffer);
    bool asked = wanted && typed > 0 && !isspace((unsigned char)rl_line_buffer[0]) && is_typed_at_end();
    const char *command = asked ? longer_command(rl_line_buffer, typed) : NULL;
    free(shown.text);
    shown.text = command ? strdup(command) : NULL;
    shown.typed = typed;
    *length = shown.length = shown.text ? strlen(shown.text) : typed;
    return shown.text ? shown.text : rl_line_buffer;
}

void readline_forget_suggestion(void) {
    free(shown.text);
    shown.text = NULL;
}

/* The end of the word that begins at or behind `at`. Letters that are not of ASCII are those of words. */
static size_t word_end(size_t at) {
    bool inside = false;
    for (; at < shown.length; at++) {
        unsigned char byte = (unsigned char)shown.text[at];
        bool in_word = isalnum(byte) || byte >= 0x80;
        if (inside && !in_word)
            break;
        inside = inside || in_word;
    }
    return at;
}

bool readline_take_suggestion(int words) {
    size_t end = shown.typed;
    if (!shown.text || rl_point != rl_end || (size_t)rl_end != shown.typed ||
        memcmp(shown.text, rl_line_buffer, shown.typed) != 0)
        return false;
    for (; words > 0; words--)
        end = word_end(end);
    if (end > shown.typed)
        shown.text[end] = '\0';
    rl_insert_text(shown.text + shown.typed);
    readline_forget_suggestion();
    return true;
}
