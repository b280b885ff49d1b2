"""The names that other tools have for metrics of texts, translated into specs."""

from __future__ import annotations

import re

from karat.core.errors import SpecError
from karat.core.metric.registry import add_dialect, known_names

SPECS = {
    "acc": "label_accuracy",
    "accuracyscore": "label_accuracy",
    "bertscore": "token_similarity",
    "bleuscore": "bleu",
    "bleu1": "bleu(order=1)",
    "bleu2": "bleu(order=2)",
    "bleu3": "bleu(order=3)",
    "bleu4": "bleu",
    "sacrebleu": "bleu",
    "chrf++": "chrf(word_order=2)",
    "cosinesimilarity": "semantic_similarity",
    "editdistance": "levenshtein",
    "exact": "exact_match(normalize='squad')",
    "exactmatchscore": "exact_match",
    "hit": "hit_rate",
    "macrof1": "label_f",
    "microf1": "label_f(average='micro')",
    "qaf1": "token_f1",
    "qaf1score": "token_f1",
    "rouge1": "rouge_n(n=1)",
    "rouge2": "rouge_n(n=2)",
    "weightedf1": "label_f(average='weighted')",
}
"""Names in torchmetrics, evaluate, scikit-learn, SQuAD's script, LongBench, DeepEval, HELM and ranx, in lower case
without `_` and `-`."""

SEVERAL = {
    "fscore": ("token_f1", "the words of two texts, as in SQuAD", "label_f", "labels, as in scikit-learn"),
    "f1score": ("token_f1", "the words of two texts, as in SQuAD", "label_f", "labels, as in scikit-learn"),
    "hits": ("hit_rate", "whether one is found", "document_count(of=relevant_retrieved)", "how many are found"),
    "precisionscore": ("precision", "rankings", "label_precision", "labels"),
    "recallscore": ("recall", "rankings", "label_recall", "labels"),
    "rouge": ("rouge_l", "the longest common subsequence", "rouge_n(n=2)", "pairs of words"),
    "similarity": ("semantic_similarity", "meaning, by a model", "levenshtein", "characters"),
}
"""Names that stand for more than one metric: for each the specs, and what they compare."""


_LEARNED = "token_similarity (BERTScore) compares meaning by a model too"
ABSENT = {
    "bartscore": f"it needs a model of its own; {_LEARNED}",
    "bleurt": f"it needs a model of its own; {_LEARNED}",
    "comet": f"it needs a model of its own; {_LEARNED}",
    "meteor": f"it needs WordNet; rouge_l respects the order of words, and {_LEARNED}",
    "moverscore": _LEARNED,
    "perplexity": "it is of a model, not of answers; column(NAME) is the mean of a column that holds it",
}
"""Common metrics that karat does not have: for each the nearest, with the reason."""


def translate(text: str) -> tuple[str, ...]:
    """The spec of the metric of that name: a name of another tool, or one of karat in another spelling.

    Raises `SpecError` for a name that stands for two metrics, or for one that karat does not have; none for an unknown
    name.

    >>> translate("rougeL"), translate("EM"), translate("ROUGE-1"), translate("hit@10"), translate("ndcg_at_5")
    (('rouge_l',), ('em',), ('rouge_n(n=1)',), ('hit_rate@10',), ('ndcg@5',))
    >>> translate("Token-F1(normalize=none)"), translate("sharpe")
    (('token_f1(normalize=none)',), ())
    """
    match = re.fullmatch(r"([A-Za-z][\w+-]*?)(?:_at_(\d+))?(\(.*\))?(@\d+)?", text.strip(), re.ASCII | re.DOTALL)
    if match is None:
        return ()
    name, at, settings, cutoff = match.groups()
    plain = _fold(name)
    if plain in SEVERAL:
        first, of_first, second, of_second = SEVERAL[plain]
        raise SpecError(f"{name} may be {first} (of {of_first}) or {second} (of {of_second}): say which")
    names = {_fold(each): each for each in sorted(known_names(), reverse=True)}
    if plain in ABSENT and plain not in names:
        raise SpecError(f"{name} is not among karat's metrics: {ABSENT[plain]}")
    spec = SPECS.get(plain) or names.get(plain)
    if spec is None or (settings and "(" in spec) or (at and cutoff):
        return ()
    return (spec + (settings or "") + (f"@{at}" if at else cutoff or ""),)


def _fold(name: str) -> str:
    return re.sub("[_-]", "", name).lower()


add_dialect(translate)
