"""The number of retrieved documents, and of those without a judgement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import GRADED, IDS


def count_judged(columns: Mapping[str, pa.Array]) -> Counter[str]:
    """The number of documents `retrieved`, and of those `unjudged`, where `relevant` holds grades.

    From a list of relevant documents it is not known which others were judged: nothing is counted then. As for the
    metric `judged`, a document that occurs again in a ranking counts as unjudged.

    >>> ranked, graded = pa.array([["a", "b"], ["c"]]), pa.array([[("b", 0)], None], pa.map_("string", "int8"))
    >>> sorted(count_judged({"retrieved": ranked, "relevant": graded}).items())
    [('retrieved', 2), ('unjudged', 1)]
    """
    if not {"retrieved", "relevant"} <= columns.keys():
        return Counter()
    ranked, graded = IDS.of(columns["retrieved"], "retrieved"), GRADED.of(columns["relevant"], "relevant")
    if not pa.types.is_map(graded.type):
        return Counter()
    if ranked.null_count or graded.null_count:
        both = pc.and_(ranked.is_valid(), graded.is_valid())
        ranked, graded = ranked.filter(both), graded.filter(both)
    from karat.metrics.retrieval.alignment import align  # noqa: PLC0415  (only for rankings)

    aligned = align(ranked, graded)
    retrieved = int(aligned.sizes.sum())
    return Counter(retrieved=retrieved, unjudged=retrieved - int((aligned.grades >= 0).sum()))
