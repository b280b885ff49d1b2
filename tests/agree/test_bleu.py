"""BLEU equal to sacrebleu's, on real systems and on hostile text, and to that of Hugging Face `evaluate`."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import Counter

import pytest

import karat
from karat.metrics import bleu, sentence_bleu

BLEU = pytest.importorskip("sacrebleu.metrics").BLEU

SYSTEMS = ["LIUM-NMT", "C-3MA", "online-G", "uedin-nmt"]
CLOSE = {"rel": 1e-9, "abs": 1e-12}
ODD = [
    "the",
    "The",
    "cat",
    "a",
    "sat.",
    "3.5",
    "1,000",
    "-",
    "x-1",
    "&amp;",
    "&quot;",
    "<skipped>",
    "é",
    "北京",
    "İ",
    "Σ",
]
GAPS = [" ", " ", " ", "  ", "\n", "-\n", "\t", "\u00a0", "\u3000", "\x1c", "...", ", "]


def corpus(seed: int, rows: int = 60, longest: int = 14) -> tuple[list[str], list[list[str]]]:
    draw = random.Random(seed)  # noqa: S311

    def text() -> str:
        return "".join(draw.choice(ODD) + draw.choice(GAPS) for _ in range(draw.randint(0, longest)))

    references = [[text() for _ in range(draw.randint(1, 4))] for _ in range(rows)]
    near = [" ".join(draw.choice(each).split()[: draw.randint(1, longest)]) for each in references]
    return [draw.choice((predicted, predicted, text())) for predicted in near], references


def theirs(predictions: list[str], references: list[list[str]], **settings) -> tuple[float, list[float]]:
    """Sacrebleu's score of the corpus and of each sentence, from 0 to 1."""
    metric = BLEU(force=True, **settings)
    width = max(map(len, references))
    streams = [[each[i] if i < len(each) else None for each in references] for i in range(width)]
    sentences = [metric.sentence_score(p, r).score / 100 for p, r in zip(predictions, references, strict=True)]
    return metric.corpus_score(predictions, streams).score / 100, sentences


def value(metric, predictions, references) -> float:
    return karat.score({"prediction": predictions, "references": references}, metric).values[metric.spec].value


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize(
    ("smooth", "amount"),
    [("exp", None), ("none", None), ("floor", None), ("floor", 0.4), ("add-k", None), ("add-k", 0.3)],
)
@pytest.mark.parametrize(("ours", "name"), [("13a", "13a"), ("intl", "intl"), ("none", "none"), ("chars", "char")])
def test_every_setting_of_sacrebleu(ours, name, smooth, amount, effective_order):
    for seed, size, longest in ((1, 40, 14), (2, 40, 3), (3, 10, 150)):
        rows = corpus(seed, size, longest)
        whole, sentences = theirs(
            *rows, tokenize=name, smooth_method=smooth, smooth_value=amount, effective_order=effective_order
        )
        settings = {"smooth": smooth, "smooth_value": amount, "effective_order": effective_order, "tokenize": ours}
        assert value(bleu.using(**settings), *rows) == pytest.approx(whole, **CLOSE)
        assert bleu.using(**settings)(*rows).to_pylist() == pytest.approx(sentences, **CLOSE)
        assert sentence_bleu.using(**settings)(*rows).to_pylist() == pytest.approx(sentences, **CLOSE)


@pytest.mark.parametrize("order", [1, 2, 3, 7])
def test_orders_and_lower_case(order):
    rows = corpus(order)
    whole, sentences = theirs(*rows, max_ngram_order=order, lowercase=True)
    assert value(bleu.using(order=order, lowercase=True), *rows) == pytest.approx(whole, **CLOSE)
    assert bleu(*rows, order=order, lowercase=True).to_pylist() == pytest.approx(sentences, **CLOSE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_wmt17_systems(system, real_data, expected):
    with gzip.open(real_data("bleu") / "wmt17_en_de.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    predicted, wanted = [row[system] for row in rows], [row["ref"] for row in rows]
    figures = expected("bleu")["systems"][system]
    for name in ("none", "13a"):
        result = karat.score({"prediction": predicted, "reference": wanted}, bleu.using(tokenize=name))
        (found,) = result.values.values()
        assert found.value == pytest.approx(figures[f"bleu_{name}"]["score"] / 100, **CLOSE)
    lowered = bleu.using(tokenize="none", lowercase=True)
    assert value(lowered, predicted, wanted) == pytest.approx(figures["bleu_lc_none"] / 100, **CLOSE)
    mean = figures["mean_sentence_bleu_exp_effective_order"] / 100
    assert value(sentence_bleu, predicted[:500], wanted[:500]) == pytest.approx(mean, **CLOSE)
    for smooth in ("floor", "add-k", "none", "exp"):
        scores = sentence_bleu(predicted[:5], wanted[:5], smooth=smooth, effective_order=False).to_pylist()
        figure = [score / 100 for score in figures[f"sentence_bleu_first5_{smooth}"]]
        assert scores == pytest.approx(figure, **CLOSE)


def test_sacrebleus_own_cases(real_data):
    folder = real_data("bleu")
    names = {
        "tokenize": "tokenize",
        "smooth_method": "smooth",
        "smooth_value": "smooth_value",
        "lowercase": "lowercase",
    }
    names |= {"effective_order": "effective_order", "use_effective_order": "effective_order"}
    for case in json.loads((folder / "sacrebleu_unit_cases.json").read_text("utf-8")):
        settings = {names[name]: value for name, value in case["kwargs"].items() if name != "force"}
        references = [[each for each in row if each is not None] for row in zip(*case["refs"], strict=True)]
        found = value(bleu.using(**settings), case["hyps"], references)
        assert 100 * found == pytest.approx(case["sacrebleu_2_6_0"], rel=1e-9, abs=1e-9)
    for case in json.loads((folder / "sacrebleu_sentence_cases.json").read_text("utf-8")):
        settings = {names[name]: value for name, value in case.items() if name in names}
        settings["tokenize"] = settings["tokenize"].replace("char", "chars")
        (found,) = sentence_bleu([case["hyp"]], [case["ref"]], **settings).to_pylist()
        assert 100 * found == pytest.approx(case["sacrebleu_2_6_0"], rel=1e-9)


def evaluates(tokens: list[list[str]], references: list[list[list[str]]], order: int) -> float:
    """BLEU as Hugging Face `evaluate` has it, from its formula: no smoothing, shortest reference, 0 where undefined."""
    matches, possible, predicted, expected = [0] * order, [0] * order, 0, 0
    for prediction, golds in zip(tokens, references, strict=True):
        predicted += len(prediction)
        expected += min(map(len, golds))
        for n in range(order):
            grams = lambda words, n=n: Counter(zip(*(words[i:] for i in range(n + 1)), strict=False))  # noqa: E731
            most = Counter()
            for gold in golds:
                most |= grams(gold)
            matches[n] += (grams(prediction) & most).total()
            possible[n] += max(len(prediction) - n, 0)
    if not min(matches):
        return 0.0
    geometric = math.exp(sum(math.log(m / p) for m, p in zip(matches, possible, strict=True)) / order)
    return geometric if predicted > expected else geometric * math.exp(1 - expected / predicted)


@pytest.mark.parametrize("order", [1, 4])
def test_evaluates_bleu_is_a_setting(order):
    tokenizer = BLEU().tokenizer
    for seed, longest in ((5, 14), (6, 4), (7, 100)):
        predictions, references = corpus(seed, longest=longest)
        predictions = [text.rstrip() for text in predictions]  # it does not, and so joins "x-\n" at the end
        references = [[text.rstrip() for text in each] for each in references]
        tokens = [tokenizer(text).split() for text in predictions]
        golds = [[tokenizer(text).split() for text in each] for each in references]
        like = {"smooth": "none", "reference_length": "shortest", "order": order}
        whole = evaluates(tokens, golds, order)
        assert value(bleu.using(**like), predictions, references) == pytest.approx(whole, **CLOSE)
        alone = [evaluates([predicted], [wanted], order) for predicted, wanted in zip(tokens, golds, strict=True)]
        assert sentence_bleu(predictions, references, effective_order=False, **like).to_pylist() == pytest.approx(
            alone, **CLOSE
        )
