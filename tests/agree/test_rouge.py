"""ROUGE equal to rouge_score's, on random and hostile text; stems equal to NLTK's; and the ROUGE-L of captions."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.metrics import caption_rouge_l, rouge_l, rouge_lsum, rouge_n
from karat.metrics.text.stemmer import _IRREGULAR, _LAST, _LONG, _PLURALS, _RESTORED, _SHORT, stem_word

PorterStemmer = pytest.importorskip("nltk.stem.porter").PorterStemmer
RougeScorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer

ODD = ["the", "The", "cat", "a", "a", "b", "sat.", "3.5", "x-1", "é", "café", "北京", "İs", "\u212a", "Σ", "_", "don't"]
GAPS = [" ", " ", " ", "  ", "\n", "\n", "\n\n", "\t", "\u00a0", "\r\n", "", ", "]
SENTENCE = st.lists(st.sampled_from(["the", "a", "cat", "dog", "sat"]), min_size=1, max_size=9).map(" ".join)
PARTS = {"f": "fmeasure", "precision": "precision", "recall": "recall"}


def pairs(longest: int, rows: int, words: list[str] = ODD) -> list[tuple[str, str]]:
    draw = random.Random(longest)  # noqa: S311

    def text() -> str:
        return "".join(draw.choice(words) + draw.choice(GAPS) for _ in range(draw.randint(0, longest)))

    made = [(text(), text()) for _ in range(rows)]
    return made + [
        (predicted, predicted[len(predicted) // 3 :] + predicted[: len(predicted) // 2]) for predicted, _ in made
    ]


@pytest.mark.parametrize(("longest", "rows"), [(4, 150), (25, 120), (90, 20), (400, 4)])
@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (rouge_n, "rouge1"),
        (rouge_n.using(n=2), "rouge2"),
        (rouge_n.using(n=5), "rouge5"),
        (rouge_l, "rougeL"),
        (rouge_lsum, "rougeLsum"),
    ],
    ids=str,
)
def test_rouge_is_that_of_rouge_score(metric, name, longest, rows):
    scorer = RougeScorer([name])
    given = pairs(longest, rows) + pairs(longest + 1, rows // 2, ["a", "b", "c"])
    theirs = [scorer.score(gold, predicted)[name] for predicted, gold in given]
    for part, field in PARTS.items():
        ours = metric(*map(list, zip(*given, strict=True)), score=part).to_pylist()
        assert ours == pytest.approx([getattr(score, field) for score in theirs], rel=1e-12, abs=0)


ENGLISH = [
    "skies",
    "dying",
    "relational",
    "hopping",
    "hoping",
    "was",
    "flies",
    "agreed",
    "happily",
    "Innings",
    "3rds",
    "generalizations",
]


@pytest.mark.parametrize(("longest", "rows"), [(4, 100), (90, 10)])
@pytest.mark.parametrize(
    ("metric", "name"), [(rouge_n, "rouge1"), (rouge_l, "rougeL"), (rouge_lsum, "rougeLsum")], ids=str
)
def test_with_stems_rouge_is_that_of_rouge_score(metric, name, longest, rows):
    scorer = RougeScorer([name], use_stemmer=True)
    given = pairs(longest, rows, ODD + ENGLISH) + pairs(
        longest + 1, rows, [*ENGLISH, "sky", "die", "hop", "hope", "agree"]
    )
    ours = metric(*map(list, zip(*given, strict=True)), stemmer="porter").to_pylist()
    theirs = [scorer.score(gold, predicted)[name].fmeasure for predicted, gold in given]
    assert ours == pytest.approx(theirs, rel=1e-12, abs=0)


BASES = st.text("aeiouybcdlstwxz", max_size=6) | st.text("abcdefghijklmnopqrstuvwxyz0123456789", max_size=8)
ENDINGS = [ending for ending, _ in (*_PLURALS, *_RESTORED, *_LONG, *_SHORT)] + re.findall("[a-z]+", _LAST.pattern)
ENDINGS += ["ed", "ing", "eed", "ied", "y", "sion", "tion", "e", "ll", "l", "logi"]


@settings(max_examples=300)
@given(st.builds(lambda base, endings: base + "".join(endings), BASES, st.lists(st.sampled_from(ENDINGS), max_size=3)))
def test_stems_are_those_of_nltk(word):
    assert stem_word(word) == PorterStemmer().stem(word)


@pytest.mark.parametrize("word", [*_IRREGULAR, "ski", "dies", "tied", "by", "as", "say", "logi", "biologi", "enjoy"])
def test_stems_of_exceptions_are_those_of_nltk(word):
    assert stem_word(word) == PorterStemmer().stem(word)


def textbook_lcs(a, b):
    lengths = {}
    for i in range(len(a)):
        for j in range(len(b)):
            longer = max(lengths.get((i - 1, j), 0), lengths.get((i, j - 1), 0))
            lengths[i, j] = lengths.get((i - 1, j - 1), 0) + 1 if a[i] == b[j] else longer
    return lengths.get((len(a) - 1, len(b) - 1), 0)


@given(
    st.lists(st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=4)), min_size=1),
    st.sampled_from([1.2, 1, 0.5]),
)
def test_rouge_of_captions_is_that_of_pycocoevalcap(rows, beta):
    """Its formula, stated again: precision and recall each have their maximum over the references."""
    for at, (predicted, golds) in enumerate(rows):
        common = [textbook_lcs(predicted.split(), gold.split()) for gold in golds]
        precision = max(common) / len(predicted.split())
        recall = max(n / len(gold.split()) for n, gold in zip(common, golds, strict=True))
        expected = (1 + beta**2) * precision * recall / (recall + beta**2 * precision) if precision and recall else 0.0
        ours = caption_rouge_l(*map(list, zip(*rows, strict=True)), beta=beta)[at].as_py()
        assert ours == pytest.approx(expected, rel=1e-12)
        one = rouge_l([predicted], [golds[0]], beta=beta, tokenize="whitespace").to_pylist()
        assert one == pytest.approx(caption_rouge_l([predicted], [golds[:1]], beta=beta).to_pylist(), rel=1e-12)


def test_of_several_references_the_best_counts():
    scorer = RougeScorer(["rouge1", "rougeL", "rougeLsum"])
    predicted, golds = "the cat sat\non the mat", ["a dog", "the mat sat on the cat", "on the\nthe cat"]
    theirs = scorer.score_multi(golds, predicted)
    for metric, name in ((rouge_n, "rouge1"), (rouge_l, "rougeL"), (rouge_lsum, "rougeLsum")):
        assert metric([predicted], [golds]).to_pylist() == pytest.approx([theirs[name].fmeasure], rel=1e-12)
