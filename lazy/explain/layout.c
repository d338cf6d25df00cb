/* layout.c: how np.explain writes quantities and script lines, and sets them in columns. */
#include <string.h>

#include "lazy/explain/explain.h"

/* ---- Quantities -------------------------------------------------------------------------------------------------- */
/* Three digits, and a unit from 1 up: "2.05 MB", "118 µs". */
static void say_scaled(lazy_print *print, double value, int nunits, const char *const *units, double step) {
    int unit = 0;
    while (unit < nunits - 1 && value >= step * 0.9995)
        value /= step, unit++;
    lazy_say(print, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
}

void explain_say_bytes(lazy_print *print, int64_t bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    say_scaled(print, (double)bytes, 6, units, 1000);
}

void explain_say_ns(lazy_print *print, int64_t ns) {
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    say_scaled(print, (double)ns, 4, units, 1000);
}

void explain_say_count(lazy_print *print, int64_t n, const char *noun) {
    int64_t group = 1;
    while (n / group >= 1000)
        group *= 1000;
    lazy_say(print, "%lld", (long long)(n / group));
    for (group /= 1000; group; group /= 1000)
        lazy_say(print, ",%03lld", (long long)(n / group % 1000));
    lazy_say(print, " %s%s", noun, n == 1 ? "" : "s");
}

const char *explain_story_line(const char *site) {
    const char *file = site, *scope = NULL;
    for (const char *at = site; at && *at; at++) {
        size_t digits = *at == ':' ? strspn(at + 1, "0123456789") : 0;
        if (digits && (!at[1 + digits] || strncmp(at + 1 + digits, " (", 2) == 0))
            return file;
        file = *at == '/' ? at + 1 : file;
        scope = strncmp(at, " (", 2) == 0 && !scope ? at + 1 : scope;
    }
    return scope;
}

void explain_say_site(lazy_print *print, const char *site) {
    const char *at = explain_story_line(site);
    lazy_say(print, at ? "\t" : "");
    for (; at && *at; at++)
        lazy_say(print, "%c", (unsigned char)*at < ' ' ? '?' : *at);
}

void explain_say_clipped(lazy_print *print, const char *text, int most) {
    const char *end = text;
    int width = 0;
    for (; *end && (width < most || ((unsigned char)*end & 0xc0) == 0x80); end++) /* whole characters */
        width += ((unsigned char)end[1] & 0xc0) != 0x80;
    lazy_say(print, "%.*s%s", (int)(end - text), text, *end ? "…" : "");
}

/* ---- Columns ----------------------------------------------------------------------------------------------------- */
enum { COLUMNS = 8, WIDEST = 64 }; /* what is wider moves its own line only */

static int64_t width_of(const char *from, const char *to) {
    int64_t width = 0;
    for (; from < to; from++)
        width += ((unsigned char)*from & 0xc0) != 0x80; /* UTF-8 */
    return width;
}

/* The end of the cell that begins at `at`: the next tab, or `end`. */
static const char *next_cell(const char *at, const char *end) {
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    return tab ? tab : end;
}

void explain_align_cells(lazy_print *print, size_t from) {
    if (print->status || print->text.bytes == from)
        return;
    int64_t widths[COLUMNS] = {0};
    lazy_text plain = {0};
    const char *begin = print->text.data + from, *all = print->text.data + print->text.bytes, *end;
    for (const char *line = begin; line < all; line = end + 1) {
        end = memchr(line, '\n', (size_t)(all - line));
        end = end ? end : all;
        const char *at = line, *cell;
        for (int k = 0; k < COLUMNS && (cell = next_cell(at, end)) < end; k++, at = cell + 1) {
            int64_t width = width_of(at, cell);
            widths[k] = width > widths[k] && width <= WIDEST ? width : widths[k];
        }
    }
    for (const char *line = begin; line < all && print->status == 0; line = end + 1) {
        end = memchr(line, '\n', (size_t)(all - line));
        end = end ? end : all;
        const char *at = line;
        for (int k = 0; at < end && print->status == 0; k++) {
            const char *cell = next_cell(at, end);
            print->status = graph_text_add(&plain, at, (size_t)(cell - at));
            int64_t pad = cell < end && k < COLUMNS ? widths[k] - width_of(at, cell) : 0;
            if (cell < end && cell + 1 < end && print->status == 0)
                print->status = graph_text_addf(&plain, "%*s", (int)(pad > 0 ? pad : 0) + 2, "");
            at = cell + 1;
        }
        if (end < all && print->status == 0)
            print->status = graph_text_add(&plain, "\n", 1);
    }
    print->text.bytes = from;
    if (print->status == 0)
        print->status = graph_text_add(&print->text, plain.data, plain.bytes);
    graph_text_free(&plain);
}
