/* screen_lines.c: laying a text out in screen lines, and writing what differs from the screen.
 *
 * A *page* is a text laid out: rows of cells, a cell for each character that takes room or stands over the one before
 * it. The page that is shown is kept, with the part of it that is on the screen. Invariant: the cursor of the terminal
 * is at (cursor.row, cursor.column) of that part; the column is BEHIND when the last column has been written and
 * nothing after it, where terminals differ in what they take for the column.
 */
#include "interp/screen_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "interp/highlight.h"
#include "interp/line.h"

enum { BEHIND = -1, TAB = 4, LONGEST = 4 /* bytes of a character */ };

typedef struct cell {
    char bytes[LONGEST]; /* the rest is zero */
    unsigned char count, width, style;
} cell;

typedef struct page_row {
    size_t first, cells;
    int width;
    bool wrapped; /* it goes on from the row above, whose columns are full */
} page_row;

typedef struct page {
    cell *cells;
    page_row *rows;
    size_t cells_used, cells_room, rows_used, rows_room;
    size_t cursor_row;
    int cursor_column, columns;
    bool failed; /* no memory */
} page;

static page pages[2], *shown = &pages[0], *next = &pages[1];
static size_t top, height; /* the part of `shown` on the screen: rows top <= row < top + height; height 0: none */
static struct {
    size_t row; /* from `top` on */
    int column;
} cursor;

/* ---- Text for the terminal --------------------------------------------------------------------------------------- */

static struct {
    char *bytes;
    size_t used, room;
} out;

static void add_bytes(const char *bytes, size_t count) {
    if (out.used + count > out.room) {
        size_t room = 2 * out.room + count + 1024;
        char *grown = realloc(out.bytes, room);
        if (!grown)
            return;
        out.bytes = grown;
        out.room = room;
    }
    memcpy(out.bytes + out.used, bytes, count);
    out.used += count;
}

static void add_text(const char *text) {
    add_bytes(text, strlen(text));
}

static void add_number(const char *format, size_t number) {
    char text[32];
    snprintf(text, sizeof text, format, number);
    add_text(text);
}

static void send_out(void) {
    line_send(STDOUT_FILENO, out.bytes, out.used);
    out.used = 0;
}

/* ---- Layout ------------------------------------------------------------------------------------------------------ */

/* Room for one more of `size` bytes; false: no memory. */
static bool make_room(void **list, size_t used, size_t *room, size_t size) {
    if (used < *room)
        return true;
    size_t wanted = 2 * *room + 64;
    void *grown = realloc(*list, wanted * size);
    if (!grown)
        return false;
    *list = grown;
    *room = wanted;
    return true;
}

static page_row *last_row(page *p) {
    return &p->rows[p->rows_used - 1];
}

static void begin_row(page *p, bool wrapped) {
    if (p->failed || !make_room((void **)&p->rows, p->rows_used, &p->rows_room, sizeof *p->rows)) {
        p->failed = true;
        return;
    }
    p->rows[p->rows_used++] = (page_row){.first = p->cells_used, .wrapped = wrapped};
}

/* Goes on in the next row if `width` columns more do not fit. A wide character may leave the last column free. */
static void fit(page *p, int width) {
    if (last_row(p)->width + width > p->columns)
        begin_row(p, last_row(p)->width == p->columns);
}

static void put(page *p, const char *bytes, size_t count, int width, unsigned char style) {
    fit(p, width);
    if (p->failed || !make_room((void **)&p->cells, p->cells_used, &p->cells_room, sizeof *p->cells)) {
        p->failed = true;
        return;
    }
    cell *made = &p->cells[p->cells_used++];
    *made = (cell){.count = (unsigned char)count, .width = (unsigned char)width, .style = style};
    memcpy(made->bytes, bytes, count);
    last_row(p)->cells++;
    last_row(p)->width += width;
}

typedef struct character { /* as it is shown */
    const char *bytes;
    size_t count, taken; /* bytes shown, and of the text */
    int width;
} character;

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* The character at the beginning of a text that is no control character. In a locale of single bytes each is one. */
static character read_character(const char *text, size_t length) {
    if ((unsigned char)*text < 128)
        return (character){.bytes = text, .count = 1, .taken = 1, .width = 1};
    mbstate_t state = {0};
    wchar_t wide;
    size_t taken = mbrtowc(&wide, text, length, &state);
    bool good = taken > 0 && taken <= LONGEST;
    int width = good ? wcwidth(wide) : -1;
    if (width >= 0)
        return (character){.bytes = text, .count = taken, .taken = taken, .width = width};
    if (MB_CUR_MAX == 1)
        return (character){.bytes = text, .count = 1, .taken = 1, .width = 1};
    return (character){.bytes = REPLACEMENT, .count = 3, .taken = good ? taken : 1, .width = 1};
}

static void put_prompt(page *p, const char *prompt, unsigned char style) {
    bool visible = true;
    for (size_t left = strlen(prompt); left > 0;) {
        character c = read_character(prompt, left);
        if (*prompt == '\001' || *prompt == '\002')
            visible = *prompt == '\002';
        else if (visible)
            put(p, c.bytes, c.count, c.width, style);
        prompt += c.taken;
        left -= c.taken;
    }
}

/* Puts the character at `at`. Returns its bytes in the text. */
static size_t put_character(page *p, const screen_text *t, size_t at, int indent) {
    unsigned char style = t->styles ? t->styles[at] : STYLE_PLAIN, byte = (unsigned char)t->text[at];
    if (byte == '\n') {
        begin_row(p, false);
        put_prompt(p, t->more, style == STYLE_SUGGESTED ? style : STYLE_PLAIN);
    } else if (byte == '\t') {
        int columns = last_row(p)->width - indent;
        for (int k = TAB - (columns > 0 ? columns % TAB : 0); k > 0; k--)
            put(p, " ", 1, 1, style);
    } else if (byte < ' ' || byte == 127) {
        put(p, "^", 1, 1, style);
        put(p, &(char){(char)(byte ^ 64)}, 1, 1, style);
    } else {
        character c = read_character(t->text + at, t->length - at);
        put(p, c.bytes, c.count, c.width, style);
        return c.taken;
    }
    return 1;
}

/* How many columns the character at `at` needs in the row of the cursor before it. */
static int columns_at(const screen_text *t, size_t at) {
    if (at >= t->length || (unsigned char)t->text[at] < 128)
        return 1;
    return read_character(t->text + at, t->length - at).width;
}

/* Lays a text out in `next`. */
static void lay_out(const screen_text *t) {
    page *p = next;
    size_t at = 0;
    bool placed = false;
    p->cells_used = p->rows_used = p->cursor_row = 0;
    p->cursor_column = 0;
    p->failed = false;
    p->columns = t->columns < 2 ? 2 : t->columns;
    begin_row(p, false);
    if (!p->failed)
        put_prompt(p, t->prompt, STYLE_PLAIN);
    int indent = p->failed ? 0 : last_row(p)->width;
    while (!p->failed) {
        size_t taken = at < t->length ? at : t->length;
        if (!placed && at >= t->point) {
            fit(p, columns_at(t, taken));
            if (p->failed)
                return;
            p->cursor_row = p->rows_used - 1;
            p->cursor_column = last_row(p)->width;
            placed = true;
        }
        if (at >= t->length)
            return;
        if (t->text[at] == '\n')
            indent = (int)strlen(t->more);
        at += put_character(p, t, at, indent);
    }
}

/* ---- Moving and writing ------------------------------------------------------------------------------------------ */

static void move(size_t row, int column) {
    if (cursor.column == BEHIND) {
        add_text("\r");
        cursor.column = 0;
    }
    if (row < cursor.row)
        add_number("\033[%zuA", cursor.row - row);
    for (; cursor.row < row; cursor.row++) {
        add_text("\n");
        cursor.column = 0;
    }
    cursor.row = row;
    if (column == 0 && cursor.column != 0)
        add_text("\r");
    else if (column > cursor.column)
        add_number("\033[%zuC", (size_t)(column - cursor.column));
    else if (column < cursor.column)
        add_number("\033[%zuD", (size_t)(cursor.column - column));
    cursor.column = column;
}

/* Writes cells of a row from the place of the cursor on. */
static void write_cells(const cell *cells, size_t count, int columns) {
    unsigned char style = STYLE_PLAIN;
    for (size_t k = 0; k < count; k++) {
        if (cells[k].style != style)
            add_text(highlight_sequence(style = cells[k].style));
        add_bytes(cells[k].bytes, cells[k].count);
        cursor.column += cells[k].width;
    }
    if (style != STYLE_PLAIN)
        add_text(highlight_sequence(STYLE_PLAIN));
    if (cursor.column >= columns)
        cursor.column = BEHIND;
}

/* The first cells that two rows share, and their columns. A character that stands over another goes with it. */
static size_t common_head(const cell *a, size_t a_cells, const cell *b, size_t b_cells, int *columns) {
    size_t same = 0, least = a_cells < b_cells ? a_cells : b_cells;
    *columns = 0;
    while (same < least && memcmp(&a[same], &b[same], sizeof *a) == 0)
        *columns += b[same++].width;
    while (same > 0 && ((same < a_cells && a[same].width == 0) || (same < b_cells && b[same].width == 0)))
        *columns -= b[--same].width;
    return same;
}

/* Makes a row of the screen, which shows `before` (NULL: nothing), show `row` of the page `next`. */
static void write_row(size_t place, const page_row *before, const page_row *row) {
    const cell *old = before ? shown->cells + before->first : NULL, *cells = next->cells + row->first;
    size_t old_count = before ? before->cells : 0, count = row->cells;
    int column;
    size_t same = common_head(old, old_count, cells, count, &column);
    bool continues = row->wrapped && place == cursor.row + 1 && cursor.column == BEHIND;
    if (same == count && same == old_count && (before || place == cursor.row))
        return;
    if (before && before->width == row->width) /* the ends, where they are the same */
        while (count > same && old_count > same && memcmp(&old[old_count - 1], &cells[count - 1], sizeof *cells) == 0 &&
               cells[count - 1].width > 0) {
            count--;
            old_count--;
        }
    if (continues && same == 0) { /* the terminal wraps, and knows that both are one line */
        cursor.row = place;
        cursor.column = 0;
        if (count == 0) {
            add_text(" \r");
            add_text(before ? "\033[K" : "");
        }
    } else {
        move(place, column);
    }
    write_cells(cells + same, count - same, next->columns);
    if (before && before->width > row->width && cursor.column != BEHIND)
        add_text("\033[K");
}

/* Chooses the rows of `next` that are shown: `rows` of them, with the cursor. Returns the first. */
static size_t choose_top(size_t rows) {
    size_t first = height > 0 ? top : 0;
    if (next->rows_used <= rows)
        return 0;
    if (first + rows > next->rows_used)
        first = next->rows_used - rows;
    if (next->cursor_row < first)
        return next->cursor_row;
    return next->cursor_row < first + rows ? first : next->cursor_row - rows + 1;
}

/* The rows above the cursor, if the terminal has become `columns` wide. Some lay lines out anew, some do not: the
 * smaller number, so that nothing is erased that is not the text's. */
static size_t rows_above(int columns) {
    size_t anew = 0, width = 0;
    for (size_t k = top; k < top + cursor.row; k++) {
        width = (shown->rows[k].wrapped ? width : 0) + (size_t)shown->rows[k].width;
        if (!shown->rows[k + 1].wrapped)
            anew += width > 0 ? (width - 1) / (size_t)columns + 1 : 1;
    }
    if (shown->rows[top + cursor.row].wrapped)
        anew += (width + (size_t)shown->cursor_column) / (size_t)columns;
    return anew < cursor.row ? anew : cursor.row;
}

/* Takes away what is shown if the terminal has another width, or less rows than are shown. */
static void follow_window(const screen_text *t) {
    int columns = t->columns < 2 ? 2 : t->columns;
    size_t rows = t->rows > 0 ? (size_t)t->rows : 1;
    if (height == 0 || (shown->columns == columns && height <= rows))
        return;
    cursor.row = rows_above(columns);
    if (cursor.row >= rows)
        cursor.row = rows - 1;
    cursor.column = BEHIND;
    screen_hide();
}

/* Draws `next` in at most `rows` rows. */
static void draw_page(size_t rows) {
    size_t first = choose_top(rows), count = next->rows_used < rows ? next->rows_used : rows;
    for (size_t k = 0; k < count; k++)
        write_row(k, k < height ? &shown->rows[top + k] : NULL, &next->rows[first + k]);
    if (count < height) { /* rows of before, below */
        move(count, 0);
        add_text("\033[J");
    }
    page *now = next;
    next = shown;
    shown = now;
    top = first;
    height = count;
}

/* ---- Interface --------------------------------------------------------------------------------------------------- */

void screen_draw(const screen_text *text) {
    follow_window(text);
    lay_out(text);
    if (next->failed)
        return;
    draw_page(text->rows > 0 ? (size_t)text->rows : 1);
    move(shown->cursor_row - top, shown->cursor_column);
    send_out();
}

void screen_finish(const screen_text *text) {
    follow_window(text);
    lay_out(text);
    if (!next->failed) {
        if (height > 0 && (top > 0 || height < shown->rows_used))
            screen_hide();
        draw_page(next->rows_used);
    }
    screen_leave();
    line_send(STDOUT_FILENO, "\n", 1);
}

void screen_hide(void) {
    if (height == 0)
        return;
    move(0, 0);
    add_text("\033[J");
    send_out();
    screen_forget();
}

void screen_leave(void) {
    if (height > 0)
        move(height - 1,
             shown->rows[top + height - 1].width < shown->columns ? shown->rows[top + height - 1].width : 0);
    send_out();
    screen_forget();
}

void screen_forget(void) {
    top = height = 0;
    cursor.row = 0;
    cursor.column = 0;
}

void screen_clear(void) {
    add_text("\033[H\033[2J");
    send_out();
    screen_forget();
}
