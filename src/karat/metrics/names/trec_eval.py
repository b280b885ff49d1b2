"""The names that trec_eval, ir_measures and ndeval use for metrics of rankings, translated into specs."""

from __future__ import annotations

import math
import re
from contextlib import suppress

from karat.core.metric.registry import add_dialect

TREC_EVAL = {
    "num_q": "document_count(of='queries')",
    "num_ret": "document_count",
    "num_rel": "document_count(of='relevant')",
    "num_rel_ret": "document_count(of='relevant_retrieved')",
    "num_nonrel_judged_ret": "document_count(of='nonrelevant_retrieved')",
    "gm_map": "geometric_mean(average_precision)",
    "gm_bpref": "geometric_mean(bpref)",
    "11pt_avg": "interpolated_precision",
    "set_P": "precision",
    "set_recall": "recall",
    "set_relative_P": "recall(capped=True)",
    "set_F": "f_measure",
}
AT_CUTOFFS = {  # after the name, `_` or `.`: a number, or several with commas between them
    "P": "precision@{}",
    "recall": "recall@{}",
    "relative_P": "recall(capped=True)@{}",
    "success": "hit_rate@{}",
    "map_cut": "average_precision@{}",
    "ndcg_cut": "ndcg@{}",
    "iprec_at_recall": "interpolated_precision(at={})",
    "Rprec_mult": "r_precision(multiple={})",
}
WITH_GAINS = ("ndcg", "ndcg_rel", "Rndcg", "G")  # after the name and a point: GRADE=GAIN, or several
IR_MEASURES = {  # and the names of ndeval, which has hyphens for underscores
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
    "rbp": "rank_biased_precision",
    "Judged": "judged",
    "SetAP": "set_average_precision",
    "SetRelP": "recall",
    "NumQ": "document_count",
    "NumRet": "document_count",
    "NumRel": "document_count",
    "NumRelRet": "document_count",
    "alpha_nDCG": "alpha_ndcg",
    "alpha_DCG": "alpha_ndcg",
    "ERR_IA": "err_ia",
    "nERR_IA": "err_ia",
    "NRBP": "novelty_rank_biased_precision",
    "nNRBP": "novelty_rank_biased_precision",
    "P_IA": "precision_ia",
    "AP_IA": "average_precision_ia",
    "MAP_IA": "average_precision_ia",
    "StRecall": "subtopic_recall",
    "strec": "subtopic_recall",
}
BETA = re.compile(r"^beta\s*=\s*([\d.]+)$")
FIXED = {  # settings that a name implies
    "SetRelP": "capped=True",
    "NumQ": "of='queries'",
    "NumRel": "of='relevant'",
    "NumRelRet": "of='relevant_retrieved'",
    "alpha_DCG": "ideal='perfect'",
    "nERR_IA": "ideal='judged'",
    "nNRBP": "ideal='judged'",
}
SETTINGS = {
    "dcg='exp-log2'": "gain='exp2'",
    'dcg="exp-log2"': "gain='exp2'",
    "dcg='log2'": "gain='linear'",
    'dcg="log2"': "gain='linear'",
}


def translate(text: str) -> tuple[str, ...]:
    """The specs of what trec_eval, ir_measures or ndeval call so: one, or one for each cut-off; none for other text.

    >>> translate("P.1,3"), translate("ndcg_cut_10"), translate("AP(rel=2)@100")
    (('precision@1', 'precision@3'), ('ndcg@10',), ('average_precision(rel=2)@100',))
    >>> translate("iprec_at_recall_0.10"), translate("ndcg.1=3.5,2=9")
    (('interpolated_precision(at=0.1)',), ("ndcg(gain={'1': 3.5, '2': 9})",))
    """
    text = text.strip()
    if specs := _of_trec_eval(text):
        return specs
    if not (match := re.fullmatch(r"([\w-]+)(?:\((.*)\))?(?:@([\d.]+))?", text, re.ASCII | re.DOTALL)):
        return ()
    name, settings, cutoff = match[1].replace("-", "_"), match[2], match[3]
    if name not in IR_MEASURES:
        return ()
    assignments = [SETTINGS.get(each.strip(), each.strip()) for each in (settings or "").split(",") if each.strip()]
    if name == "NumRet" and assignments:  # with `rel`, which is not said to be 1
        name = "NumRelRet"
    assignments += [FIXED[name]] if name in FIXED else []
    if name in ("RBP", "rbp"):
        assignments = [re.sub(r"^p\s*=", "persistence=", each) for each in assignments]
    if "NRBP" in name:
        assignments = [re.sub(r"^beta\s*=", "persistence=", each) for each in assignments]
    if name == "SetF":
        assignments = [BETA.sub(_root, each) for each in assignments]
    if name == "IPrec" and cutoff:
        assignments, cutoff = [*assignments, f"at={_number(cutoff)}"], None
    spec = IR_MEASURES[name] + (f"({', '.join(assignments)})" if assignments else "")
    return (f"{spec}@{_number(cutoff)}" if cutoff else spec,)


def _of_trec_eval(text: str) -> tuple[str, ...]:
    if text in TREC_EVAL:
        return (TREC_EVAL[text],)
    if (match := re.fullmatch(r"(\w+?)[_.]([\d.]+(?:,[\d.]+)*)", text, re.ASCII)) and match[1] in AT_CUTOFFS:
        return tuple(AT_CUTOFFS[match[1]].format(_number(each)) for each in match[2].split(","))
    name, _, rest = text.partition(".")
    if name in WITH_GAINS and "=" in rest:
        gains = dict(each.partition("=")[::2] for each in rest.split(","))
        return (f"{name}(gain={{{', '.join(f'{grade!r}: {_number(gain)}' for grade, gain in gains.items())}}})",)
    if name == "set_F" and rest:
        return (f"f_measure({BETA.sub(_root, f'beta={rest}')})",)
    return (f"utility(weights=[{rest}])",) if name == "utility" and rest else ()


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
