"""The form of a reply on a sentence and a context that it cites: whether the context supports it, fully or partly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from karat.core.metric.setting import Setting, check_count
from karat.judges.replies.forms import Verdict
from karat.judges.replies.items import ItemForm, ListedItem
from karat.judges.replies.sentences import split_sentences
from karat.text.answers.citations import before_stops, read_citations

WORTH = {"full_support": 1.0, "partial_support": 0.5, "no_support": 0.0}


@dataclass(frozen=True, kw_only=True)
class Citations(ItemForm):
    """Whether each context that a sentence of the prediction cites supports it; each pair is one request.

    `measure`: `recall` is the support of the sentences, each by the best of its citations, `precision` that of the
    citations. `at_most_citations`: so many of a sentence count, the first ones; None: all. An item is a sentence with
    one of its citations; without a context, because it cites none or one that there is not, it is not asked about.

    >>> form = Citations(at_most_citations=None)
    >>> items = form.items({"prediction": "Rain falls.[1] Pigs [2] fly [1].", "contexts": ["Rain falls."]}, "")
    >>> [(each["sentence"], each["number"], each["passage"]) for each in items]
    [('Rain falls.', 1, 'Rain falls.'), ('Pigs fly.', 2, None), ('Pigs fly.', 1, 'Rain falls.')]
    """

    measure: str = "recall"
    at_most_citations: int | None = 1

    item = "sentence"
    verdicts = tuple(WORTH)
    settings: ClassVar[Mapping[str, Setting]] = MappingProxyType(
        {
            "measure": Setting("measure", "recall", Literal["recall", "precision"]),
            "at_most_citations": Setting("at_most_citations", 1, int | None, check_count),
        }
    )

    @property
    def worth(self) -> dict[str, Any]:
        return dict(WORTH)

    def items(self, material: Mapping[str, Any], _name: str) -> Sequence[ListedItem]:
        return list(self._read(material["prediction"], material["contexts"]))

    def _read(self, prediction: str, contexts: Sequence[str | None]) -> Iterator[ListedItem]:
        for place, sentence in enumerate(split_sentences(before_stops(prediction))):
            claim, numbers = read_citations(sentence)
            for number in numbers[: self.at_most_citations] or (None,):
                passage = contexts[number - 1] if number and number <= len(contexts) else None
                yield {"place": place, "sentence": claim, "number": number, "passage": (passage or "").strip() or None}

    def split(self, items: Sequence[ListedItem]) -> list[Sequence[ListedItem]]:
        return [[each] for each in items if each["passage"]]

    def show(self, _material: Mapping[str, Any], _name: str, part: Sequence[ListedItem]) -> dict[str, Any]:
        return {name: part[0][name] for name in ("sentence", "passage")}

    def weigh(self, items: Sequence[ListedItem], replies: Sequence[Mapping[str, Any]]) -> Verdict:
        if not items:
            return Verdict(None, reason="prediction has no sentence")
        left = iter(replies)
        judged = [next(left) if each["passage"] else {"reason": _why(each), "verdict": "no_support"} for each in items]
        cited = [(each, WORTH[reply["verdict"]]) for each, reply in zip(items, judged, strict=True)]
        if self.measure == "precision":
            shares = [
                (f"{each['sentence']} [{each['number']}]", worth) for each, worth in cited if each["number"] is not None
            ]
        else:
            best = {each["place"]: (each["sentence"], 0.0) for each in items}
            for each, worth in cited:
                best[each["place"]] = each["sentence"], max(worth, best[each["place"]][1])
            shares = list(best.values())
        points, possible = fsum(worth for _, worth in shares), float(len(shares))
        shown = [
            {"statement": each["sentence"], "citation": each["number"], **reply}
            for each, reply in zip(items, judged, strict=True)
        ]
        return Verdict(
            points / possible if possible else 0.0,
            statements=json.dumps(shown, ensure_ascii=False),
            fields={"points": points, "possible": possible},
            lists={
                "passed": [sentence for sentence, worth in shares if worth == 1],
                "failed": [sentence for sentence, worth in shares if worth < 1],
            },
        )


def _why(item: ListedItem) -> str:
    return "it cites nothing" if item["number"] is None else f"there is no context {item['number']}"
