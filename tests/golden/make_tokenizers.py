"""make_tokenizers.py: small tokenizers of every kind (tokenizers/NAME.json), and what the tokenizers package makes of
lines of many scripts (tokenizers/lines.json).

    python tests/golden/make_tokenizers.py check 10000      as many lines, and neap's results compared with them

lines.json:    {"texts": […], "results": {NAME: {"ids": […], "text": […], "plain": […], "pair": […], "cut": […]}}}

Of each text: its ids; these decoded, with and without special tokens; the ids of it and the next text; of both cut to
16 ids; pairs of the first 40 only. Vocabularies are drawn from the lines, and merges are counted, here: training
by the package differs from run to run. The character map is SentencePiece's, of a few rules; the long check has that
of nmt_nfkc.
"""

import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unicodedata

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "tokenizers")
BLOCKS = [(0x20, 0x7e), (0xa1, 0xff), (0x100, 0x17f), (0x370, 0x3ff), (0x400, 0x4ff), (0x531, 0x587), (0x5d0, 0x5ea),
          (0x620, 0x65f), (0x900, 0x97f), (0x980, 0x9fe), (0xb80, 0xbff), (0xe01, 0xe4e), (0x10a0, 0x10ff),
          (0x1100, 0x11ff), (0x1200, 0x137f), (0x1e00, 0x1eff), (0x2010, 0x206f), (0x20a0, 0x20bf), (0x2100, 0x214f),
          (0x2460, 0x24ff), (0x2600, 0x26ff), (0x3000, 0x303f), (0x3041, 0x30ff), (0x3400, 0x34ff), (0x4e00, 0x9fff),
          (0xac00, 0xd7a3), (0xf900, 0xfa2d), (0xfb00, 0xfb06), (0xff01, 0xffee), (0x300, 0x36f), (0x1d400, 0x1d7ff),
          (0x1f300, 0x1f64f), (0x1f1e6, 0x1f1ff), (0x1f900, 0x1f9ff), (0x20000, 0x20100)]
LETTERS = [[chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
           for first, last in BLOCKS]
WORDS = ("the quick brown fox jumps over lazy dogs while we're thinking that it'll rain; don't they've 12 345 6789 "
         "numbers? I'M HERE. Stra\u00dfe caf\u00e9 nai\u0308ve \u0130stanbul e\u0301t\u00e9 \ufb01ne").split()
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", " \n ", "   ", "\u200b", "\0", "\ufffd", "\u00ad"]
BETWEEN = [",", ".", "!", "'s", " (", ")", "-", "[MASK]", " <mask> ", "<|end|>", "KEEP", " keep ", ""]
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
RULES = "FB01\t66 69\nE9\t65 301\n65 301\tE9\n3000\t20\nA0\t20\nAD\t\n2460\t31\nFF21\t41\nFF41\t61\n9\t20\n"


class Lines:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def word(self):
        r = self.random
        if r.random() < 0.35:
            return r.choice(WORDS)
        block = r.choice(LETTERS)
        return "".join(r.choice(block) if r.random() < 0.9 else r.choice(r.choice(LETTERS))
                       for _ in range(r.randint(1, 8)))

    def line(self):
        r, parts = self.random, []
        for _ in range(0 if r.random() < 0.02 else r.randint(1, 12)):
            kind = r.random()
            parts += [self.word(), " " if kind < 0.8 else r.choice(SPACES if kind < 0.9 else BETWEEN)]
        return "".join(parts)


def ngrams(words, rng, n, longest):
    """Characters and parts of words, in a fixed order."""
    found = {}
    for word in words:
        for _ in range(3):
            at = rng.randrange(len(word))
            found.setdefault(word[at:at + rng.choice([1, 1, 2, 3, longest])], None)
    return list(found)[:n]


def word_pieces(tokenizer, lines, rng, n):
    """The vocabulary of a WordPiece: parts of what its normalizer and pre-tokenizer give."""
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [word for line in lines for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
        tokenizer.normalizer.normalize_str(line))]
    for piece in ngrams(words, rng, n, 6):
        vocab += [piece, "##" + piece]
    return {token: k for k, token in enumerate(dict.fromkeys(vocab))}


def merges(words, alphabet, n):
    """The vocabulary and merges of a BPE: the most frequent pair, then the smallest, again and again."""
    vocab, list_of, counts = list(dict.fromkeys(alphabet)), [], {}
    for word in words:
        counts[tuple(word)] = counts.get(tuple(word), 0) + 1
    for _ in range(n):
        pairs = {}
        for word, count in counts.items():
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        list_of.append(best)
        vocab.append(best[0] + best[1])
        following = {}
        for word, count in counts.items():
            parts, k = [], 0
            while k < len(word):
                both = k + 1 < len(word) and (word[k], word[k + 1]) == best
                parts.append(best[0] + best[1] if both else word[k])
                k += 2 if both else 1
            following[tuple(parts)] = following.get(tuple(parts), 0) + count
        counts = following
    return {token: k for k, token in enumerate(dict.fromkeys(vocab))}, list_of


def bert(lines, rng, n, **options):
    t = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(**options), pre_tokenizers.BertPreTokenizer()
    vocab = word_pieces(t, lines, rng, n)
    t.model = models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=20)
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t.add_tokens([AddedToken("Keep", single_word=True, normalized=True), AddedToken("fox ", rstrip=True)])
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])])
    return t


def byte_level(lines, n, split, **options):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = split, decoders.ByteLevel()
    words = [word for line in lines for word, _ in split.pre_tokenize_str(line)]
    vocab, pairs = merges(words, sorted(pre_tokenizers.ByteLevel.alphabet()), n)
    t.model = models.BPE(vocab, pairs, **options)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_special_tokens(["<|end|>", AddedToken("<mask>", lstrip=True)])
    return t


def llama_split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def roberta(lines, n):
    t = byte_level(lines, n, pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.add_special_tokens(["<s>", "</s>"])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def fields(data):
    """The fields of a message of protocol buffers that hold bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value

    while at < len(data):
        key = varint()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if size is None:
            size = varint()
            yield key >> 3, data[at:at + size]
        elif size == 0:
            varint()
        at += size


def character_map(rules):
    out, options = io.BytesIO(), {}
    if rules:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as file:
            file.write(rules)
        options = {"normalization_rule_tsv": file.name}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(WORDS), model_writer=out, vocab_size=60,
                                             model_type="char", hard_vocab_limit=False, minloglevel=5, **options)
    spec = [value for key, value in fields(out.getvalue()) if key == 3][-1]
    return [value for key, value in fields(spec) if key == 2][0]


def unigram(lines, rng, n, scheme, rules=None, mapped=False, byte_fallback=False):
    pieces = ngrams([line.replace(" ", "\u2581") for line in lines if line], rng, n, 6)
    vocab = [("<unk>", 0.0), ("</s>", 0.0), ("\u2581", -3.0)]
    vocab += [(piece, -round(rng.uniform(2, 12), rng.choice([1, 4]))) for piece in pieces if piece != "\u2581"]
    if byte_fallback:
        vocab += [("<0x%02X>" % byte, -20.0) for byte in range(256)]
    t = Tokenizer(models.Unigram(vocab, 0, byte_fallback))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    t.decoder = decoders.Metaspace(prepend_scheme=scheme)
    if mapped:
        t.normalizer = normalizers.Sequence([normalizers.Precompiled(character_map(rules)),
                                             normalizers.Strip(left=False, right=True),
                                             normalizers.Replace(Regex(" {2,}"), "\u2581")])
    t.add_special_tokens(["<unk>", "</s>", "<mask>"])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                     special_tokens=[("</s>", 1)])
    return t


def llama2(lines, n):
    words = ["\u2581" + line.replace(" ", "\u2581")[:12] for line in lines]
    letters = sorted(set("".join(words)))[:150]
    vocab, pairs = merges([[c for c in word if c in letters] for word in words],
                          ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)] + letters, n)
    t = Tokenizer(models.BPE(vocab, pairs, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    return t


def plain(lines, rng, n):
    t = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.NFD(),
                                         normalizers.StripAccents(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True),
                                               pre_tokenizers.Punctuation("merged_with_previous")])
    t.model = models.WordPiece(word_pieces(t, lines, rng, n), unk_token="[UNK]")
    return t


def words(lines, n):
    t = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    found = dict.fromkeys(word for line in lines for word, _ in t.pre_tokenizer.pre_tokenize_str(line.lower()))
    t.model = models.WordLevel({word: k for k, word in enumerate(["[UNK]", "[MASK]"] + list(found)[::2][:n])}, "[UNK]")
    t.add_special_tokens(["[UNK]", "[MASK]"])
    return t


def all_of(lines, n, whole_map):
    """The tokenizers by name; n: how large they are, about."""
    rng = random.Random(5)
    return {
        "bert": bert(lines, rng, n), "cased": bert(lines, rng, n, lowercase=False, handle_chinese_chars=False),
        "gpt2": byte_level(lines, n, pre_tokenizers.ByteLevel(add_prefix_space=False)), "roberta": roberta(lines, n),
        "llama3": byte_level(lines, n, llama_split(LLAMA), ignore_merges=True),
        "o200k": byte_level(lines, n, llama_split(O200K)), "llama2": llama2(lines, n),
        "unigram": unigram(lines, rng, n, "first", byte_fallback=True),
        "t5": unigram(lines, rng, n, "always", None if whole_map else RULES, True), "plain": plain(lines, rng, n),
        "words": words(lines, n),
    }


def write(folder, count, seed, size):
    source, results = Lines(seed), {}
    texts = [source.line() for _ in range(count)]
    for name, t in all_of(texts[:200], size, size > 1000).items():
        t.save(os.path.join(folder, name + ".json"), pretty=False)
        ids = [t.encode(text).ids for text in texts]
        pairs = list(zip(texts, texts[1:] + texts[:1]))[:40]
        out = {"ids": ids, "text": [t.decode(row, skip_special_tokens=False) for row in ids],
               "plain": [t.decode(row) for row in ids], "pair": [t.encode(a, b).ids for a, b in pairs]}
        t.enable_truncation(16)
        out["cut"] = [t.encode(a, b).ids for a, b in pairs]
        results[name] = out
    with open(os.path.join(folder, "lines.json"), "w", encoding="utf-8") as file:
        json.dump({"texts": texts, "results": results}, file, ensure_ascii=False, separators=(",", ":"))


def make():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    write(FOLDER, 150, 7, 150)


def check(count):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, count, 8, 1200)
        neap = os.environ.setdefault("NEAP", "build/neap")
        sys.exit(subprocess.call([neap, "tests/golden/tokenizers_test.lua", folder + "/"]))


if __name__ == "__main__":
    check(int(sys.argv[2])) if sys.argv[1:2] == ["check"] else make()
