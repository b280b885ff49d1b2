"""The names that trec_eval and ir_measures use for metrics of rankings, translated into specs."""

from __future__ import annotations

import math
import re
from contextlib import suppress

from karat.core.metric.registry import add_dialect

TREC_EVAL = {
    r"P[_.](\d+)": "precision@{}",
    r"recall[_.](\d+)": "recall@{}",
    r"relative_P[_.](\d+)": "recall(capped=True)@{}",
    r"success[_.](\d+)": "hit_rate@{}",
    r"map_cut[_.](\d+)": "average_precision@{}",
    r"ndcg_cut[_.](\d+)": "ndcg@{}",
    r"iprec_at_recall[_.]([\d.]+)": "interpolated_precision(at={})",
    r"Rprec_mult[_.]([\d.]+)": "r_precision(multiple={})",
    r"11pt_avg": "interpolated_precision",
    r"set_P": "precision",
    r"set_recall": "recall",
    r"set_relative_P": "recall(capped=True)",
    r"set_F": "f_measure",
}
IR_MEASURES = {
    "AP": "average_precision",
    "MAP": "average_precision",
    "RR": "reciprocal_rank",
    "MRR": "reciprocal_rank",
    "nDCG": "ndcg",
    "NDCG": "ndcg",
    "P": "precision",
    "Precision": "precision",
    "SetP": "precision",
    "R": "recall",
    "Recall": "recall",
    "SetR": "recall",
    "SetF": "f_measure",
    "Success": "hit_rate",
    "RPrec": "r_precision",
    "IPrec": "interpolated_precision",
    "Bpref": "bpref",
    "BPref": "bpref",
    "ERR": "err",
    "RBP": "rank_biased_precision",
    "Judged": "judged",
}
SETTINGS = {
    "dcg='exp-log2'": "gain='exp2'",
    'dcg="exp-log2"': "gain='exp2'",
    "dcg='log2'": "gain='linear'",
    'dcg="log2"': "gain='linear'",
}


def translate(text: str) -> str | None:
    """The spec of the metric that trec_eval or ir_measures name so; None for any other text.

    >>> translate("ndcg_cut_10"), translate("iprec_at_recall_0.10"), translate("AP(rel=2)@100"), translate("IPrec@0.1")
    ('ndcg@10', 'interpolated_precision(at=0.1)', 'average_precision(rel=2)@100', 'interpolated_precision(at=0.1)')
    """
    text = text.strip()
    for pattern, spec in TREC_EVAL.items():
        if match := re.fullmatch(pattern, text, re.ASCII):
            return spec.format(*map(_number, match.groups()))
    if not (match := re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@([\d.]+))?", text, re.ASCII | re.DOTALL)):
        return None
    name, settings, cutoff = match.groups()
    if name not in IR_MEASURES:
        return None
    assignments = [SETTINGS.get(each.strip(), each.strip()) for each in (settings or "").split(",") if each.strip()]
    if name == "RBP":
        assignments = [re.sub(r"^p\s*=", "persistence=", each) for each in assignments]
    if name == "SetF":
        assignments = [re.sub(r"^beta\s*=\s*([\d.]+)$", _root, each) for each in assignments]
    if name == "IPrec" and cutoff:
        assignments, cutoff = [*assignments, f"at={_number(cutoff)}"], None
    spec = IR_MEASURES[name] + (f"({', '.join(assignments)})" if assignments else "")
    return f"{spec}@{_number(cutoff)}" if cutoff else spec


def _number(digits: str) -> str:
    """The number as Python writes it: 010 is 10, 0.10 is 0.1. Other text is unchanged, so that an error quotes it."""
    try:
        return repr(float(digits) if "." in digits else int(digits))
    except ValueError:
        return digits


def _root(setting: re.Match[str]) -> str:
    """The beta of `f_measure`: ir_measures passes `beta` on to trec_eval, which expects the square of beta."""
    with suppress(ValueError):
        return f"beta={math.sqrt(float(setting[1]))!r}"
    return setting[0]


add_dialect(translate)
