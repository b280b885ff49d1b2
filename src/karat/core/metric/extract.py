"""The setting `extract`: the final answer of a reply is extracted before the reply is scored.

The extractors themselves are registered by name with `add_extractor`; karat's own are in `karat.text.extract`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list, keep_nulls, whole_offsets
from karat.core.columns.column_cache import once
from karat.core.columns.kinds import Array
from karat.core.errors import SpecError, did_you_mean
from karat.core.plugins import load_plugins

Extract: TypeAlias = Callable[[pa.Array, str], pa.Array]
"""From texts without nulls, and the argument after the colon, to the answers: null where there is none."""
Choose: TypeAlias = Callable[[str, str | None, list[str]], str | None]
"""From a text, the answer in it and the references of its row to the answer that is scored."""


@dataclass(frozen=True)
class _Extractor:
    """`needs` is what the argument is. `gold` extracts from references, where it does. `choose` knows both sides."""

    extract: Extract
    needs: str
    gold: Extract | None
    choose: Choose | None


_extractors: dict[str, _Extractor] = {}


def add_extractor(
    name: str, extract: Extract, *, needs: str = "", gold: Extract | bool = True, choose: Choose | None = None
) -> None:
    """Register an extractor: `extract="name"`, or `extract="name:…"` where it takes an argument.

    `needs` describes the argument in error messages; it is empty where there is none. `gold` extracts from references:
    True for the same as from predictions, False for scripts of benchmarks, which take references as they are. A row has
    the better of the scores of its references and of what was extracted from them. `choose` is called for each row with
    the prediction, its answer and the references, and returns the answer.
    """
    of_gold = gold if callable(gold) else extract if gold else None
    _extractors[name] = _Extractor(extract, needs, of_gold, choose)


def extract_answers(column: pa.Array, how: str) -> pa.Array:
    """The final answer of each text, null where there is none; raises `SpecError` for an unknown extractor."""
    name, _, rest = how.partition(":")
    return _find(name).extract(column, rest)


def final_answers(replies: pa.Array, references: pa.Array | None, how: str) -> pa.Array:
    """The final answer of each reply, for some extractors with a look at its references: a text, or a list of them."""
    answers = once(("extract", how), (replies,), lambda: extract_answers(replies, how))
    choose = _find(how.partition(":")[0]).choose
    if choose is None or references is None:
        return answers

    def choose_all() -> pa.Array:
        rows = zip(replies.to_pylist(), answers.to_pylist(), map(_texts_in, references.to_pylist()), strict=True)
        return pa.array((reply and choose(reply, *others) for reply, *others in rows), pa.large_string())

    return once(("choose", how), (replies, references), choose_all)


def _texts_in(cell: Any) -> list[str]:
    return [cell] if isinstance(cell, str) else [text for each in cell or () for text in _texts_in(each)]


def extract_both(
    replies: pa.Array, answers: pa.Array, references: pa.Array, how: str
) -> tuple[pa.Array, pa.Array, Array] | None:
    """Answers and references by what is extracted from both sides alike, and which rows' references differ by that.

    What nothing is extracted from stays. None where no reference differs. `answers` are the replies',
    `references` texts or lists of them, without null rows; lists of lists are left as they are.
    """
    name, _, rest = how.partition(":")
    extract, kind = _find(name).gold, references.type
    if extract is None or (is_list(kind) and is_list(kind.value_type)):
        return None
    texts = references.flatten() if is_list(references.type) else references
    extracted = extract(texts, rest).cast(texts.type)
    other = np.asarray(pc.not_equal(extracted, texts).fill_null(False))
    if not other.any():
        return None
    answers = pc.coalesce(extract(replies, rest).cast(answers.type), answers)
    replaced = pc.coalesce(extracted, texts)
    if not is_list(references.type):
        return answers, replaced, other
    offsets = np.asarray(whole_offsets(references))
    offsets = offsets - offsets[0]
    lists = type(references).from_arrays(pa.array(offsets, whole_offsets(references).type), replaced)
    return answers, keep_nulls(lists, references), np.diff(np.concatenate([[0], np.cumsum(other)])[offsets]) > 0


def check_extract(how: Any) -> None:
    """Raise `SpecError` unless the setting names an extractor, with an argument where it needs one."""
    if how == "none":
        return
    if not isinstance(how, str):
        raise SpecError("the name of an extractor is expected, such as 'boxed'")
    name, colon, rest = how.partition(":")
    needs = _find(name).needs
    if needs and not rest:
        raise SpecError(f"{name}:{needs} is expected")
    if colon and not needs:
        raise SpecError(f"{name} alone is expected")
    extract_answers(pa.array([""]), how)  # raises where the argument is invalid


def sign_extract(how: str) -> str:
    """What stands for the version of an extractor in signatures: 2 where references are extracted from too."""
    return "" if how == "none" or _find(how.partition(":")[0]).gold is None else "|extract=2"


def _find(name: str) -> _Extractor:
    if name not in _extractors:
        load_plugins()
    if name not in _extractors:
        raise SpecError(f"there is no extractor {name!r}{did_you_mean(name, ['none', *_extractors])}")
    return _extractors[name]
