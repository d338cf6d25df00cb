"""unicode_tables.py: writes stdlib/neap/text/unicode_data.lua, what tokenizers need to know of characters.

    python3 tools/unicode_tables.py > stdlib/neap/text/unicode_data.lua

It needs tokenizers, regex and unicodedata2 16.0.0.

The tokenizers library has Unicode of several years: what its parts for BERT take for marks and punctuation, and
StripAccents for accents, is asked of it, the rest is Unicode 16. Numbers are in base 36. Runs cover all code points:
LENGTH=VALUE …, without a value where there is none. Mappings are DELTA, the distance from the code point before, and
code points joined by dots.
"""
import sys
import textwrap

if "--help" in sys.argv:
    sys.exit(print(__doc__))

import regex
import unicodedata2 as unicode
from tokenizers import normalizers, pre_tokenizers

LAST = 0x110000
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BREAKS = ["CR", "LF", "Control", "Extend", "ZWJ", "Regional_Indicator", "Prepend", "SpacingMark", "L", "V", "T", "LV",
          "LVT"]


def base36(n):
    text = ""
    while True:
        n, digit = divmod(n, 36)
        text = DIGITS[digit] + text
        if n == 0:
            return text


def runs(value_of):
    parts, start, value = [], 0, value_of(0)
    for code in range(1, LAST + 1):
        following = value_of(code) if code < LAST else None
        if following != value:
            parts.append(base36(code - start) + ("=" + value if value else ""))
            start, value = code, following
    return " ".join(parts)


def mapping(items):
    parts, before = [], 0
    for code, mark, targets in items:
        parts.append(base36(code - before) + mark + ".".join(base36(target) for target in targets))
        before = code
    return " ".join(parts)


def is_surrogate(code):
    return 0xD800 <= code < 0xE000


def decompositions():
    """Single steps: `:` canonical, `!` canonical but not composed again, `~` for compatibility."""
    for code in range(LAST):
        text = unicode.decomposition(chr(code))
        if not text or is_surrogate(code):
            continue
        parts = text.split()
        if parts[0].startswith("<"):
            yield code, "~", [int(part, 16) for part in parts[1:]]
        else:
            composed = unicode.normalize("NFC", chr(code)) == chr(code) and len(parts) == 2
            yield code, ":" if composed else "!", [int(part, 16) for part in parts]


def lowercase():
    for code in range(LAST):
        if not is_surrogate(code) and chr(code).lower() != chr(code):
            yield code, ":", [ord(c) for c in chr(code).lower()]


def breaks():
    found = {}
    everything = "".join(chr(code) for code in range(LAST) if not is_surrogate(code))
    for name in BREAKS:
        for c in regex.findall(r"\p{Grapheme_Cluster_Break=%s}" % name, everything):
            found[ord(c)] = name
    for c in regex.findall(r"\p{Extended_Pictographic}", everything):
        found.setdefault(ord(c), "Pictographic")
    return lambda code: found.get(code, "")


def asked(is_so):
    """Runs of the code points of which the library says so: 1."""
    return runs(lambda code: "1" if not is_surrogate(code) and is_so("a" + chr(code) + "b") else "")


def put(name, text):
    lines = textwrap.wrap(text, 115, break_on_hyphens=False)
    print("data.%s = [[\n%s]]\n" % (name, "\n".join(lines)))


def main():
    print("--- unicode_data.lua: tables of Unicode %s, written by tools/unicode_tables.py, which says how to read them."
          % unicode.unidata_version)
    print("local data = {}\n")
    put("categories", runs(lambda code: unicode.category(chr(code)).replace("Cn", "")))
    put("classes", runs(lambda code: base36(unicode.combining(chr(code))) if unicode.combining(chr(code)) else ""))
    put("breaks", runs(breaks()))
    put("decompositions", mapping(decompositions()))
    put("lowercase", mapping(lowercase()))
    marks = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True,
                                       lowercase=False)
    put("bert_marks", asked(lambda text: marks.normalize_str(text) == "ab"))
    words = pre_tokenizers.BertPreTokenizer()
    put("bert_punctuation", asked(lambda text: len(words.pre_tokenize_str(text)) == 3))
    accents = normalizers.StripAccents()
    put("accents", asked(lambda text: accents.normalize_str(text) == "ab"))
    print("return data")


if __name__ == "__main__":
    main()
