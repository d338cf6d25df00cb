/* attrs.c: reads the names of a row's attributes (attrs.h). */
#include "lazy/graph/attrs.h"

#include <string.h>

static const char ELLIPSIS[] = "…";

/* Does `end` stand behind text that ends in the ellipsis? */
static bool repeats(const char *from, const char *end) {
    size_t bytes = sizeof ELLIPSIS - 1;
    return (size_t)(end - from) >= bytes && memcmp(end - bytes, ELLIPSIS, bytes) == 0;
}

lazy_attr_names graph_attr_names_of(const lazy_op *row) {
    lazy_attr_names list = {0};
    bool group = false;
    int n = 0;
    for (const char *at = row->attrs; at && *at && n < LAZY_MAX_ATTR_NAMES; n++) {
        const char *end = at + strcspn(at, " "), *last = end;
        group |= *at == '(';
        at += *at == '(';
        bool repeated = repeats(at, last);
        if (repeated)
            last -= sizeof ELLIPSIS - 1;
        if (last > at && last[-1] == ')')
            last--;
        list.names[n] = (lazy_attr_word){at, (int)(last - at)};
        list.nrepeat += group || repeated;
        list.nfixed += !(group || repeated);
        at = *end ? end + 1 : end;
    }
    return list;
}

lazy_attr_word graph_attr_name(const lazy_attr_names *names, int k) {
    if (k < names->nfixed)
        return names->names[k];
    return names->nrepeat ? names->names[names->nfixed + (k - names->nfixed) % names->nrepeat]
                          : (lazy_attr_word){"", 0};
}

static bool is_one_of(lazy_attr_word name, size_t n, const char *const *names) {
    for (size_t k = 0; k < n; k++)
        if (name.bytes == (int)strlen(names[k]) && memcmp(name.at, names[k], strlen(names[k])) == 0)
            return true;
    return false;
}

bool graph_attr_is_sharding(lazy_attr_word name) {
    static const char *const shardings[] = {"sharding", "outside", "inside"};
    return is_one_of(name, sizeof shardings / sizeof *shardings, shardings);
}

bool graph_attr_is_dtype(lazy_attr_word name) {
    return name.bytes == 5 && memcmp(name.at, "dtype", 5) == 0;
}
