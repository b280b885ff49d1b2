"""Edit distances equal to sacrebleu, jiwer and rapidfuzz, row by row and over a corpus."""

import random
import sys

import numpy as np
import pytest

import karat
from karat.errors import MissingExtra, SpecError
from karat.metrics import cer, chrf, jaccard, jaro_winkler, levenshtein, ter, wer

jiwer = pytest.importorskip("jiwer")
JaroWinkler = pytest.importorskip("rapidfuzz.distance").JaroWinkler
Levenshtein = pytest.importorskip("rapidfuzz.distance").Levenshtein
BLEU = pytest.importorskip("sacrebleu.metrics").BLEU
CHRF = pytest.importorskip("sacrebleu.metrics").CHRF
TER = pytest.importorskip("sacrebleu.metrics").TER

WORDS = [
    "the",
    "cat",
    "(sat)",
    "on",
    "mat.",
    "Ünïcode",
    "北京是",
    "it's",
    "!",
    "3.14",
    "\U0001d4d0",
    "a",
    "dog,",
    "The",
]
EXACT = {"abs": 1e-12, "rel": 1e-12}


def texts(seed, n=120, longest=12):
    rng = random.Random(seed)  # noqa: S311
    return ["", "a", *(" ".join(rng.choices(WORDS, k=rng.randint(0, longest))) for _ in range(n - 2))]


SAID = texts(1)
GOLD = [[*several] for several in zip(texts(2), texts(3), SAID[40:] + SAID[:40], strict=True)]
ONE = [several[0] for several in GOLD]


def corpus(metric, columns, predicted=SAID):
    result = karat.score({"prediction": predicted, **columns}, metric)
    return result.values[metric.spec].value


def streams(gold):
    return [list(stream) for stream in zip(*gold, strict=True)]


@pytest.mark.parametrize(
    "settings",
    [{}, {"word_order": 2}, {"char_order": 3, "beta": 1.0}, {"lowercase": True, "word_order": 1, "beta": 3.0}],
)
@pytest.mark.parametrize("gold", [GOLD, [[g] for g in ONE]], ids=["several", "one"])
def test_chrf_equals_sacrebleu(settings, gold):
    reference = CHRF(**settings)
    mine = chrf.using(**settings)
    expected = [reference.sentence_score(s, g).score / 100 for s, g in zip(SAID, gold, strict=True)]
    assert mine(SAID, gold).to_pylist() == pytest.approx(expected, **EXACT)
    assert corpus(mine, {"reference": gold}) == pytest.approx(
        reference.corpus_score(SAID, streams(gold)).score / 100, **EXACT
    )


@pytest.mark.parametrize(
    "settings", [{}, {"case_sensitive": True}, {"normalized": True, "asian_support": True}, {"no_punct": True}]
)
def test_ter_equals_sacrebleu(settings):
    reference, mine = TER(**settings), ter.using(**settings)
    expected = [reference.sentence_score(s, g).score / 100 for s, g in zip(SAID, GOLD, strict=True)]
    assert mine(SAID, GOLD).to_pylist() == pytest.approx(expected, **EXACT)
    assert corpus(mine, {"reference": GOLD}) == pytest.approx(
        reference.corpus_score(SAID, streams(GOLD)).score / 100, **EXACT
    )


@pytest.mark.parametrize(("mine", "reference"), [(wer, jiwer.wer), (cer, jiwer.cer)], ids=["wer", "cer"])
def test_error_rates_equal_jiwer(mine, reference):
    predicted = [f"  {text} " for text in SAID]
    expected = [reference(g, s) for s, g in zip(predicted, ONE, strict=True)]
    assert mine(predicted, ONE).to_pylist() == pytest.approx(expected, **EXACT)
    assert corpus(mine, {"reference": ONE}, predicted) == pytest.approx(reference(ONE, predicted), **EXACT)


def test_of_several_references_the_one_with_the_lowest_error_counts():
    assert wer(["a b"], [["x y", "a c", "z"]]).to_pylist() == [0.5]


@pytest.mark.parametrize(
    ("mine", "reference"),
    [(levenshtein, Levenshtein.normalized_similarity), (jaro_winkler, JaroWinkler.similarity)],
    ids=["levenshtein", "jaro_winkler"],
)
def test_similarities_equal_rapidfuzz(mine, reference):
    expected = [reference(s, g) for s, g in zip(SAID, ONE, strict=True)]
    assert mine(SAID, ONE).to_pylist() == pytest.approx(expected, **EXACT)


def test_jaccard_equals_its_definition():
    expected = [
        len(a & b) / len(a | b) if a | b else 1.0
        for a, b in ((set(s.split()), set(g.split())) for s, g in zip(SAID, ONE, strict=True))
    ]
    assert jaccard(SAID, ONE, normalize="none", tokenize="whitespace").to_pylist() == expected


def test_a_row_without_references_is_unscored_and_says_so():
    result = karat.score({"prediction": ["a", "b"], "references": [["a"], []]}, ["chrf", "ter"])
    assert result.table["chrf"].to_pylist() == [1.0, None]
    assert result.table["ter"].to_pylist() == [0.0, None]
    assert result.table["reason"].to_pylist() == [None, "reference is an empty list"]


@pytest.mark.parametrize("gold", [GOLD, ONE], ids=["several", "one"])
def test_the_metrics_of_translation_score_one_table(gold):
    lists = [[text] if isinstance(text, str) else text for text in gold]
    result = karat.score({"prediction": SAID, "references": gold}, ["bleu", "chrf", "ter", "token_f1"])
    assert result.mapping == {"prediction": "prediction", "reference": "references"}
    for metric in (BLEU, CHRF, TER):
        theirs = metric().corpus_score(SAID, streams(lists)).score / 100
        assert result.values[metric.__name__.lower()].value == pytest.approx(theirs, **EXACT)


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ter", None)
    with pytest.raises(MissingExtra, match=r"pip install 'karat\[text\]'"):
        ter(["a"], [["a"]])


@pytest.mark.parametrize("settings", [{"char_order": 0}, {"word_order": -1}])
def test_orders_that_count_nothing_are_refused(settings):
    with pytest.raises(SpecError, match=r"a number from [01] to 100 is expected"):
        chrf.using(**settings)


def test_an_empty_prediction_has_the_worst_score():
    assert np.allclose(wer(["", ""], ["a b", ""]).to_numpy(), [1, 0])
    assert chrf(["", "a"], [["a"], [""]]).to_pylist() == [0.0, 0.0]
