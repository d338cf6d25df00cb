"""table_texts.py: the texts of tests/contracts/table_texts_test.lua, and what pandas makes of them."""

MODULES = """table_texts"""

TEXTS = ["Ada Lovelace", " bob ", "zoë ångström", "ΑΘΗΝΑ-ωμέγα", "Москва", "a,b,,c", "", "007", "-12", " 3.5 ", "1e3",
         "+4", "x.y.z", "日本語", "naïve café", "\t tab\n", "AAAA", "aXbXc", "2024-05-01", "e\u0301 combining", "ﬀ", "İx",
         "éÉ", "Ab%cD(e)", "9223372036854775807", "-0", "ж", "one two  three"]


def texts(k):
    """The texts with these numbers; none where that is negative."""
    return pd.Series([TEXTS[n] if n >= 0 else None for n in k], dtype=object)


def shown(s):
    """The rows of a series as one text; ~ where there is none, → for a tab."""
    return "|".join("~" if t is None or t != t else t for t in s).replace("\t", "→")


def columns(frame, n):
    """The first n columns of a frame, as texts, and how many it has."""
    return [shown(frame[c]) if c < frame.shape[1] else "" for c in range(n)] + [np.array(frame.shape[1])]


def lengths(k, f):
    """f of each text: integers, or floats if one is missing."""
    return f(texts(k)).to_numpy(float) if len(k) else np.zeros(0)
