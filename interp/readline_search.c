/* readline_search.c: keys of several bytes while a search is on (Ctrl-R, Ctrl-S).
 *
 * readline ends the search at the first byte of such a key and takes the others in a call inside of its own call. Where
 * the key means nothing, readline 8.2 goes on in a call that is over by then, and crashes: Ctrl-R, Ctrl-X, z. So the
 * search is ended here, by a key that does nothing else, and readline gets the sequence after that.
 *
 * A paste goes into what is searched for, without its control characters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "interp/line_readline.h"

static const char PASTE[] = "\033[200~", END[] = "\033[201~";
enum { MARK = sizeof PASTE - 1, ESCAPE = '\033' };

static struct {
    char *bytes; /* that were read, and that readline has not had; NULL: none */
    size_t used, given, room;
} held;

bool readline_search_holds(void) {
    return held.given < held.used;
}

void readline_search_forget(void) {
    held.given = held.used = 0;
}

/* Without memory the byte is lost. */
static void hold(char byte) {
    if (held.used == held.room) {
        char *grown = realloc(held.bytes, 2 * held.room + 64);
        if (!grown)
            return;
        held.bytes = grown;
        held.room = 2 * held.room + 64;
    }
    held.bytes[held.used++] = byte;
}

static bool ends_with(const char *mark) {
    return held.used >= MARK && memcmp(held.bytes + held.used - MARK, mark, MARK) == 0;
}

/* Holds what has come of a sequence that began with Escape. Whether that is the mark of a paste. */
static bool hold_sequence(FILE *in) {
    hold(ESCAPE);
    while (held.used < MARK && memcmp(held.bytes, PASTE, held.used) == 0 && readline_keys_wait())
        hold((char)rl_getc(in));
    return ends_with(PASTE);
}

/* Holds the text of a paste, whose mark is held, instead of that. */
static void hold_paste(FILE *in) {
    size_t kept = 0;
    while (!ends_with(END) && readline_wait_for_key()) {
        int key = rl_getc(in);
        if (key < 0)
            break;
        hold((char)key);
    }
    size_t end = ends_with(END) ? held.used - MARK : held.used;
    for (size_t k = MARK; k < end; k++)
        if ((unsigned char)held.bytes[k] >= ' ' && held.bytes[k] != 0x7F)
            held.bytes[kept++] = held.bytes[k];
    held.used = kept;
}

/* A key that ends a search and has no meaning beside. */
static int key_that_ends(void) {
    const char *keys = rl_variable_value("isearch-terminators");
    return keys && *keys ? (unsigned char)*keys : '\n';
}

static bool begins_sequence(int key) {
    return key >= 0 && key < KEYMAP_SIZE && rl_get_keymap()[key].type == ISKMAP;
}

static int read_key(FILE *in) {
    if (readline_search_holds())
        return (unsigned char)held.bytes[held.given++];
    readline_search_forget();
    int key = rl_getc(in);
    if (!RL_ISSTATE(RL_STATE_ISEARCH) || !begins_sequence(key))
        return key;
    if (key != ESCAPE) {
        hold((char)key);
    } else if (!readline_keys_wait()) {
        return key; /* alone it ends the search */
    } else if (hold_sequence(in)) {
        hold_paste(in);
        if (readline_search_holds())
            return read_key(in);
    }
    return key_that_ends();
}

void readline_search_open(void) {
    rl_getc_function = read_key;
}
