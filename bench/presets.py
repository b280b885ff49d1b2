"""Presets and ROUGE with stems against the scripts that they equal: answers scored a second of one core's time.

    PYTHONPATH=FOLDER python bench/presets.py [rows]

FOLDER is what `pip install --no-deps --target FOLDER lm-eval==0.4.13 pycocoevalcap==1.2 ragchecker==0.1.9` wrote. The
scripts of TriviaQA and ALCE are restated here, for they are in no package; rouge_score is the package.
"""

from __future__ import annotations

import importlib.util
import os
import random
import re
import string
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from answers import make
from rouge_score.rouge_scorer import RougeScorer
from side_by_side import in_turn, machine

from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import score_columns
from karat.core.metric.spec import parse_all
from karat.metrics import rouge_l, rouge_n

sys.modules["datasets"] = types.ModuleType("datasets")  # lm-eval imports it for the types of its tasks
sys.modules["datasets"].Dataset = object  # type: ignore[attr-defined]
if folder := importlib.util.find_spec("ragchecker"):  # its package imports models, which its figures do not need
    sys.modules["ragchecker"] = types.ModuleType("ragchecker")
    sys.modules["ragchecker"].__path__ = folder.submodule_search_locations or []
    sys.modules["ragchecker.container"] = types.ModuleType("ragchecker.container")
    sys.modules["ragchecker.container"].RAGResult = object  # type: ignore[attr-defined]

FEW = 2_000  # rows for the peers
Columns = Mapping[str, pa.Array]
Peer = Callable[..., list[Any]]


def drop_answers(rows: int) -> Columns:
    """Six of ten spans are numbers, one answer in five has several; one to four annotators."""
    draw = random.Random(0)
    texts = iter(make(rows * 2)["prediction"].to_pylist() * 8)

    def span() -> str:
        return str(draw.randint(1, 99)) if draw.random() < 0.6 else " ".join(next(texts).split()[:4])

    golds = [
        [[span() for _ in range(draw.choice((1, 1, 1, 1, 2)))] for _ in range(draw.randint(1, 4))] for _ in range(rows)
    ]
    said = [" ".join(gold[0]) if draw.random() < 0.5 else span() for gold in golds]
    return {"prediction": pa.array(said), "reference": pa.array(golds)}


def replies(rows: int, marker: str, answers: list[str], after: str = "") -> Columns:
    """Two sentences of reasoning, and in nine of ten the marker with an answer."""
    draw = random.Random(0)
    texts = make(rows)["prediction"].to_pylist()
    golds = draw.choices(answers, k=rows)
    given = [gold if draw.random() < 0.6 else draw.choice(answers) for gold in golds]
    ends = [f"{marker}{answer}{after}." if draw.random() < 0.9 else answer for answer in given]
    said = [f"{a} 3 + 4.\n{b}\n{end}" for a, b, end in zip(texts, texts[1:] + texts[:1], ends, strict=True)]
    return {"prediction": pa.array(said), "reference": pa.array(golds)}


def cited(rows: int) -> Columns:
    """Two sentences with citations, and two to four short answers, each with one to three names that have a word."""
    draw = random.Random(0)
    texts = make(rows)["prediction"].to_pylist()
    names = [" ".join(text.split()[:2]) if squad(text) else "Rome" for text in texts]
    names = [name if squad(name) else text for name, text in zip(names, texts, strict=True)]

    def answers(own: str) -> list[list[str]]:
        several = range(draw.randint(2, 4))
        return [[draw.choice([own, draw.choice(names)]) for _ in range(draw.randint(1, 3))] for _ in several]

    said = [f"{a} [1][2]. {b}[3].\nSources: 1" for a, b in zip(texts, texts[1:] + texts[:1], strict=True)]
    return {"prediction": pa.array(said), "reference": pa.array(map(answers, names))}


def checked(rows: int) -> Columns:
    """One to eight claims in each response and gold answer, and five contexts."""
    draw = random.Random(0)

    def verdicts(count: int) -> list[str]:
        return draw.choices(("Entailment", "Neutral", "Contradiction"), k=count)

    claims, golds = ([draw.randint(1, 8) for _ in range(rows)] for _ in range(2))
    return {
        "answer2response": pa.array(map(verdicts, claims)),
        "response2answer": pa.array(map(verdicts, golds)),
        "retrieved2answer": pa.array([[verdicts(5) for _ in range(count)] for count in golds]),
        "retrieved2response": pa.array([[verdicts(5) for _ in range(count)] for count in claims]),
    }


def formulas(count: int) -> list[str]:
    """As many answers to questions of mathematics, nearly all of them different."""
    draw = random.Random(1)
    forms = ["\\frac{%d}{%d}", "\\dfrac%.1s%.1s", "x = %d + %d", "%d/%d", "\\sqrt%d-%d", "%d\\text{ cm} %d", "0.%d%d"]
    forms += ["\\left(x-%d\\right)(x+%d)", "%d.%d^\\circ", "%d,%d\\%%", "-%d%d", "(%d,%d]"]
    return [draw.choice(forms) % (draw.randint(1, 999), draw.randint(1, 999)) for _ in range(count)]


def lm_eval_drop(predictions: list[Any], references: list[Any]) -> list[Any]:
    from lm_eval.tasks.drop.utils import process_results  # noqa: PLC0415  (see above)

    pairs = zip(predictions, references, strict=True)
    scores = [process_results({"answers": golds}, [said]) for said, golds in pairs]
    return [[float(row["f1"]) for row in scores], [row["em"] for row in scores]]


def lm_eval_math(predictions: list[Any], references: list[Any]) -> list[Any]:
    from lm_eval.tasks.hendrycks_math import utils  # noqa: PLC0415  (see above)

    utils.last_boxed_only_string = utils.remove_boxed = lambda solution: solution
    pairs = zip(predictions, references, strict=True)
    return [[utils.process_results({"solution": gold}, [said])["exact_match"] for said, gold in pairs]]


def lm_eval_filtered(*patterns: tuple[str, int], **ignored: Any) -> Peer:
    """Exact match of what a pattern takes from each reply, row by row as the harness calls it."""
    from lm_eval.api.metrics import exact_match_hf_evaluate  # noqa: PLC0415  (see above)
    from lm_eval.filters.extraction import RegexFilter  # noqa: PLC0415  (see above)

    def score(predictions: list[Any], references: list[Any]) -> list[Any]:
        columns = []
        for pattern, group in patterns:
            taken = RegexFilter(pattern, group).apply([[said] for said in predictions], [])
            pairs = zip(taken, references, strict=True)
            columns.append([exact_match_hf_evaluate(said, [gold], **ignored)["exact_match"] for said, gold in pairs])
        return columns

    return score


def lm_eval_mmlu(predictions: list[Any], references: list[Any]) -> list[Any]:
    from lm_eval.api.metrics import exact_match_hf_evaluate  # noqa: PLC0415  (see above)
    from lm_eval.filters.extraction import RegexFilter, WhitespaceFilter  # noqa: PLC0415  (see above)

    taken: Any = [[said] for said in predictions]
    for each in (RegexFilter("^(.*?)(?=\\n|$)"), WhitespaceFilter(), RegexFilter("^(.*?)\\s*$")):
        taken = each.apply(taken, [])
    how = {"ignore_case": True, "ignore_punctuation": True}
    pairs = zip(taken, references, strict=True)
    return [[exact_match_hf_evaluate(said, [gold], **how)["exact_match"] for said, gold in pairs]]


def squad(answer: str) -> str:
    """ALCE's."""
    kept = "".join(char for char in answer.lower() if char not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def present(names: list[str], said: str) -> bool:
    names, said = [squad(name) for name in names], squad(said)
    return any(name in said for name in names)


def alce(predictions: list[Any], references: list[Any]) -> list[Any]:
    lines = [said.strip().split("\n")[0].replace("<|im_end|>", "") for said in predictions]
    plain = [re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", line)).replace(" |", "").replace("]", "") for line in lines]
    found = [[present(names, said) for names in golds] for said, golds in zip(plain, references, strict=True)]
    return [[np.mean(each) for each in found], [int(np.mean(each) == 1) for each in found]]


def coco_caption(predictions: list[Any], references: list[Any]) -> list[Any]:
    from pycocoevalcap.bleu.bleu import Bleu  # noqa: PLC0415  (see above)
    from pycocoevalcap.rouge.rouge import Rouge  # noqa: PLC0415  (see above)

    golds, said = dict(enumerate(references)), {row: [text] for row, text in enumerate(predictions)}
    values, _ = Bleu(4).compute_score(golds, said, verbose=0)
    rouge_value, _ = Rouge().compute_score(golds, said)
    return [values[0], values[3], rouge_value]


def ragchecker(*columns: list[Any]) -> list[Any]:
    compute = importlib.import_module("ragchecker.computation").METRIC_FUNC_MAP
    names = [metric.settings["figure"] for metric in parse_all("preset:ragchecker")]
    scores = []
    for row in zip(*columns, strict=True):
        result = types.SimpleNamespace(metrics={}, **dict(zip(checked(0), row, strict=True)))
        for name in names:
            compute[name](result)
        scores.append([result.metrics[name] for name in names])
    return list(zip(*scores, strict=True))


def normalise(answer: str) -> str:
    """TriviaQA's."""
    exclude = set(string.punctuation + "‘’´`")
    spaced = "".join(" " if char in exclude else char for char in answer.replace("_", " ").lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", spaced).split()).strip()


def triviaqa_f1(said: str, gold: str) -> float:
    predicted, expected = normalise(said).split(), normalise(gold).split()
    common = sum((Counter(predicted) & Counter(expected)).values())
    if common == 0:
        return 0
    precision, recall = common / len(predicted), common / len(expected)
    return 2 * precision * recall / (precision + recall)


def triviaqa(predictions: list[Any], references: list[Any]) -> list[Any]:
    pairs = list(zip(predictions, references, strict=True))
    exact = [max(float(normalise(said) == normalise(gold)) for gold in golds) for said, golds in pairs]
    return [exact, [max(triviaqa_f1(said, gold) for gold in golds) for said, golds in pairs]]


def rouge(predictions: list[Any], references: list[Any]) -> list[Any]:
    scorer = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    scores = [scorer.score(gold, said) for said, gold in zip(predictions, references, strict=True)]
    return [[score[name].fmeasure for score in scores] for name in ("rouge1", "rougeL")]


def report(name: str, metrics: list[Metric], columns: Columns, peer: Peer) -> None:
    few = [column[:FEW].to_pylist() for column in columns.values()]

    def ours(rows: int) -> list[Rows]:
        return score_columns(metrics, {role: column[:rows] for role, column in columns.items()})

    means = [rows.statistics.mean(axis=0)[None] for rows in ours(FEW)]
    values = [Rows(mean).scores(metric)[0] for metric, mean in zip(metrics, means, strict=True)]
    np.testing.assert_allclose(values, list(map(np.mean, peer(*few))), atol=1e-9, rtol=0)
    rows = len(next(iter(columns.values())))
    seconds = in_turn({"peer": lambda: peer(*few), "karat": lambda: ours(rows)}, clock=time.process_time)
    rate, theirs = rows / seconds["karat"], FEW / seconds["peer"]
    print(f"{name:30} {rate:12,.0f} rows/s, the script {theirs:8,.0f}: {rate / theirs:.0f} times", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    numbers, letters = [f"{n:,}" for n in range(0, 5000, 7)], ["(A)", "(B)", "(C)", "(D)"]
    flexible = ("(-?[$0-9.,]{2,})|(-?[0-9]+)", -1)
    ignored = {"ignore_case": True, "regexes_to_ignore": [",", "\\$", "(?s).*#### ", "\\.$"]}
    strict = lm_eval_filtered(("#### (\\-?[0-9\\.\\,]+)", 0), flexible, **ignored)
    cot = lm_eval_filtered(("(?<=answer is )(.*)(?=.)", 0), ignore_case=True, ignore_punctuation=True)
    bbh = lm_eval_filtered(("(?<=the answer is )(.*)(?=.)", 0))
    answers = make(count)
    one = pa.array([golds[0] for golds in answers["references"].to_pylist()])
    pairs = {"prediction": answers["prediction"], "reference": answers["references"]}
    few = ["\\frac12", "\\frac{3}{4}", "x = 5", "1/2", "\\sqrt2", "10\\text{ cm}", "0.5", "(x-1)(x+1)"]
    os.environ["KARAT_THREADS"] = "1"
    print(machine())
    report("drop / lm-eval", parse_all("preset:drop"), drop_answers(count), lm_eval_drop)
    report("triviaqa / its script", parse_all("preset:triviaqa"), pairs, triviaqa)
    report("gsm8k / lm-eval", parse_all("preset:gsm8k"), replies(count, "#### ", numbers), strict)
    report("mmlu / lm-eval", parse_all("preset:mmlu"), replies(count, "The answer is ", letters), lm_eval_mmlu)
    report("mmlu_cot / lm-eval", parse_all("preset:mmlu_cot"), replies(count, "The answer is ", letters), cot)
    report("bbh / lm-eval", parse_all("preset:bbh"), replies(count, "So the answer is ", letters), bbh)
    for name, pool in (("math, eight formulas / lm-eval", few), ("math, all different / lm-eval", formulas(count))):
        report(name, parse_all("preset:math"), replies(count, "It is $", pool, "$"), lm_eval_math)
    stems = [rouge_n.using(stemmer="porter"), rouge_l.using(stemmer="porter")]
    report("alce / its script", parse_all("preset:alce"), cited(count), alce)
    report("narrativeqa / pycocoevalcap", parse_all("preset:narrativeqa"), pairs, coco_caption)
    report("ragchecker / ragchecker", parse_all("preset:ragchecker"), checked(count), ragchecker)
    report("ROUGE with stems / rouge_score", stems, {**pairs, "reference": one}, rouge)
