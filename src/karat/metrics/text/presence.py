"""The share of several answers that a prediction contains, each of which may have several names."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Answers, Array, Score, Text
from karat.core.metric.decorator import metric
from karat.core.metric.rows import NOTHING, Rows
from karat.metrics.text.string_comparison import contains_text
from karat.text.columns import Normalizer, normalise


@metric(source="Gao et al. 2023, ALCE, arXiv:2305.14627: STR-EM and STR-EM-HIT of its eval.py", aliases=("str_em",))
def answer_presence(
    prediction: Text, reference: Answers, *, score: Literal["share", "all"] = "share", normalize: Normalizer = "squad"
) -> Score:
    """The share of the reference's answers of which the prediction contains a name, as a part of its normalised text.

    `reference` is a list of answers that are all wanted, each a text or a list of names. With `score="all"` the score
    is 1 where all are there, else 0. A name that is empty after normalising is never there; a row without answers is
    unscored.

    >>> answer_presence(["Messi and Ronaldo won."], [[["Lionel Messi", "Messi"], ["Pelé"]]]).to_pylist()
    [0.5]
    """
    answers, names = reference.flatten(), reference.flatten().flatten()
    row, answer = _owners(reference), _owners(answers)
    texts = pa.DictionaryArray.from_arrays(row[answer], normalise(prediction.cast(pa.large_string()), normalize))
    wanted = normalise(names.cast(pa.large_string()), normalize).fill_null("")
    present = np.zeros(len(answers))
    np.maximum.at(present, answer, contains_text(texts, wanted) * np.asarray(pc.not_equal(wanted, "")))
    here, count = (np.bincount(row, weights, len(reference)) for weights in (present, None))
    shares = np.divide(here, count, out=np.full(len(count), np.nan), where=count > 0)
    scores = shares if score == "share" else np.where(count > 0, shares == 1, np.nan)
    return Rows(scores, np.where(count > 0, NOTHING, "reference has no answers"))


def _owners(lists: pa.Array) -> Array:
    """The number of the list that each item is in."""
    sizes = np.asarray(pc.list_value_length(lists).fill_null(0)).astype(np.int64)
    owners: Array = np.repeat(np.arange(len(lists)), sizes)
    return owners
