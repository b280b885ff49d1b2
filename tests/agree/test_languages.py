"""The presets of other languages give what the scripts of their benchmarks give, on text of all scripts."""

import gzip
import re
import string
import unicodedata
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat.core.metric.spec import parse_all
from karat.metrics.text.string_comparison import count_run
from karat.text.tokenise import split_cmrc

nltk = pytest.importorskip("nltk.tokenize.destructive")
MARKS = [*"-:_*^/\\~`+=，。：？！“”；’《》", "……", *"·、「」（）－～『』"]
PIECES = (
    *(
        "北京",
        "故宫",
        "年",
        "東京",
        "토지",
        "의",
        "Köln",
        "an der",
        "The",
        "L'été",
        "aux",
        "l’",
        "İ",
        "Σ",
        "é",
        "นา",
        "ال",
        "है",
    ),
    *(
        "3.5",
        "2008",
        "1,000",
        "U.S.",
        "don't",
        "'s",
        "cannot",
        "gimme",
        "wanna go",
        "'tis",
        "…",
        "..",
        "--",
        "``",
        "''",
    ),
    *string.punctuation,
    *MARKS,
    *" \t\u3000\u00a0\n<>〈〉‘„«»–",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=5).map("".join) | st.text(max_size=12)


class Treebank(nltk.NLTKWordTokenizer):
    """NLTK's words as of the script's time: by patterns of `re`, which NLTK 3.10 matches with `regex`."""


def of_re(rules):
    return [(re.compile(pattern.pattern), replacement) for pattern, replacement in rules]


for name in ("STARTING_QUOTES", "PUNCTUATION", "ENDING_QUOTES"):
    setattr(Treebank, name, of_re(getattr(nltk.NLTKWordTokenizer, name)))
Treebank.PARENS_BRACKETS, Treebank.DOUBLE_DASHES = of_re([Treebank.PARENS_BRACKETS, Treebank.DOUBLE_DASHES])
words = Treebank().tokenize


def segment(text):
    """CMRC's segmentation, stated again: NLTK's words of what stands between Han characters, as one sentence."""
    kept = "".join(char for char in text.lower().strip() if char not in MARKS)
    parts = re.split("([\u4e00-\u9fa5])", kept)
    return [token for part in parts for token in words(part)]


def share(run, one, other):
    return 2 * run / (len(one) + len(other)) if run else 0.0


def cmrc(prediction, reference):
    one, other = segment(prediction), segment(reference)
    runs = {tuple(one[i:j]) for i in range(len(one)) for j in range(i + 1, len(one) + 1)}
    longest = max(
        (j - i for i in range(len(other)) for j in range(i + 1, len(other) + 1) if tuple(other[i:j]) in runs), default=0
    )
    exact, wanted = ("".join(c for c in text.lower().strip() if c not in MARKS) for text in (prediction, reference))
    return float(exact == wanted), share(longest, one, other)


def squad_like(normal, tokens, both_empty=0.0):
    """Exact match and F1 by a script in the manner of SQuAD's."""

    def score(prediction, reference):
        one, other = normal(prediction), normal(reference)
        bags = tokens(one), tokens(other)
        common = sum((Counter(bags[0]) & Counter(bags[1])).values())
        return float(one == other), share(common, *bags) if any(bags) else both_empty

    return score


def without(text, marks, becomes=""):
    return "".join(becomes if char in marks else char for char in text)


def spaced(text):
    return " ".join(text.split())


def squad(text):
    return spaced(re.sub(r"\b(a|an|the)\b", " ", without(text.lower(), string.punctuation)))


def korquad(text):
    return spaced(without(without(text, "'\"《》<>〈〉()‘’", " ").lower(), string.punctuation))


def fquad(text):
    return spaced(without(re.sub(r"\b(le|la|les|l'|du|des|au|aux|un|une)\b", " ", text.lower()), string.punctuation))


def mlqa(text, articles):
    kept = "".join(c for c in text.lower() if c not in string.punctuation and unicodedata.category(c)[0] != "P")
    return spaced(re.sub(rf"\b({articles})\b", " ", kept))


def mlqa_zh(text):
    return spaced(re.sub("([\u4e00-\u9fa5])", r" \1 ", mlqa(text, "(?!)")))


GERMAN = "ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des"
SCRIPTS = {
    "cmrc": cmrc,
    "drcd": cmrc,
    "korquad": squad_like(korquad, lambda text: list(text.replace(" ", ""))),
    "jsquad": squad_like(lambda text: spaced(text.lower().rstrip("。")), list, both_empty=1.0),
    "fquad": squad_like(fquad, str.split),
    "germanquad": squad_like(squad, str.split, both_empty=1.0),
    "xquad": squad_like(squad, str.split),
    "mlqa": squad_like(lambda text: mlqa(text, "a|an|the"), str.split),
    "mlqa_de": squad_like(lambda text: mlqa(text, GERMAN), str.split),
    "mlqa_zh": squad_like(mlqa_zh, str.split),
}


@pytest.mark.parametrize("preset", SCRIPTS)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=2)), min_size=1, max_size=4))
@example([("年" + "A 3.5。", ["a  3.5", "3"]), ("", [""]), ("。", ["「」"]), ("an der Köln.", ["der Köln"])])
def test_each_answer_scores_as_by_the_script(preset, rows):
    predictions, references = map(list, zip(*rows, strict=True))
    best = [tuple(map(max, *(SCRIPTS[preset](p, r) for r in [*rs, rs[0]]))) for p, rs in rows]
    for metric, expected in zip(parse_all(f"preset:{preset}"), zip(*best, strict=True), strict=True):
        assert metric(predictions, references).to_pylist() == pytest.approx(list(expected), rel=0, abs=1e-12)


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_words_between_han_characters_are_nltks(text):
    assert split_cmrc(text) == [
        token
        for part in re.split(f"([\u4e00-\u9fa5{re.escape(''.join(m for m in MARKS if len(m) == 1))}])", text)
        for token in ([part] if part in MARKS else words(part))
    ]


def test_words_of_published_answers_are_nltks(real_data):
    data = gzip.decompress((real_data("faithfulness_begin") / "begin_wow_dev.tsv.gz").read_bytes()).decode()
    for line in data.splitlines()[:300]:
        text = without(line, MARKS)
        assert split_cmrc(text) == words(text)


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_longest_run_is_the_longest_substring(one, other):
    substrings = {one[i:j] for i in range(len(one)) for j in range(i, len(one) + 1)}
    assert count_run(one, other) == max((len(text) for text in substrings if text in other), default=0)
