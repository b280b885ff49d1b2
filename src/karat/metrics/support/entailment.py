"""How likely passages support sentences, by a model of pairs of texts that runs here, or by a function."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError, SpecError
from karat.metrics.support.sentences import split
from karat.models.encoders.encoder import Choice, Pair
from karat.models.encoders.open import open_encoder
from karat.models.encoders.vector_cache import open_vector_cache, vectors_path

EntailmentLabel: TypeAlias = str | int | None
SUPPORT = {"entailment", "entail", "entails", "entailed", "support", "supports", "supported", "consistent", "faithful"}
SMALLEST = 4  # a passage gets at least this part of the model's window, however long the sentence beside it is


class Entailment:
    """The probability that a passage supports a sentence, for pairs of them; each pair is given to the model once.

    A passage that is longer than the model's window is read in windows of whole sentences, and the highest of their
    probabilities counts. A blank passage supports nothing. `cut` holds the sentences that are too long for the model,
    `failed` those for which it gave no probability.
    """

    def __init__(self, choice: Choice, label: EntailmentLabel, language: str) -> None:
        self.language, self.max_length = language, None
        self._ask: Callable[[list[Pair]], Array]
        if callable(choice.model):
            self._ask = _checked(choice.model)
        else:
            self._encoder: Any = open_encoder(choice, cross=True, classes=True)
            self._place = find_label(self._encoder.labels, label, str(choice.model))
            self._ask, self.max_length = self._ask_encoder, self._encoder.max_length
        self.forget()

    def forget(self) -> None:
        """Forget the pairs so far, which take memory."""
        self._known: dict[Pair, float] = {}
        self.cut: set[str] = set()
        self.failed: set[str] = set()

    def __call__(self, pairs: Iterable[Pair]) -> list[float]:
        """The probability for each pair of a passage and a sentence; NaN where the model gives none."""
        pairs = list(pairs)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known and pair[0].strip()]
        if new:
            self._known |= zip(new, self._ask(new).tolist(), strict=True)
            self.failed |= {pair[1] for pair in new if np.isnan(self._known[pair])}
        return [self._known.get(pair, 0.0) for pair in pairs]

    def _ask_encoder(self, pairs: list[Pair]) -> Array:
        windows = self._windows(pairs)
        flat = [(window, claim) for parts, (_, claim) in zip(windows, pairs, strict=True) for window in parts]
        places = {pair: place for place, pair in enumerate(dict.fromkeys(flat))}
        store, encoder = open_vector_cache(vectors_path()), self._encoder
        logits, cut = store.fetch(f"cross|{encoder.identity}", list(places), encoder.score, block=encoder.block)
        self.cut |= {claim for (_, claim), place in places.items() if cut[place]}
        probabilities = to_probabilities(logits, self._place)[[places[pair] for pair in flat]]
        highest: Array = np.maximum.reduceat(probabilities, np.cumsum([0, *map(len, windows[:-1])]))
        return highest

    def _windows(self, pairs: Sequence[Pair]) -> list[list[str]]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        ends = dict(zip(texts, self._encoder.token_ends(texts), strict=True))

        def cut(passage: str, claim: str) -> list[str]:
            room = self._encoder.room(len(ends[claim]))
            if room is None or len(ends[passage]) <= room:
                return [passage]
            stops = accumulate(map(len, split(passage, self.language)))
            return cut_windows(passage, ends[passage], stops, max(room, self._encoder.max_length // SMALLEST))

        return [cut(*pair) for pair in pairs]


def cut_windows(text: str, ends: Sequence[int], stops: Iterable[int], room: int) -> list[str]:
    """A text in parts of as many whole sentences as have at most `room` tokens; a longer sentence is cut at a token.

    `ends`: where each token ends in the text; `stops`: where each sentence does.

    >>> cut_windows("Go. We saw it.", [2, 3, 6, 10, 13, 14], [4, 14], 3)
    ['Go.', 'We saw it', '.']
    """
    sentences = [bisect_right(ends, stop) for stop in stops]  # how many tokens the text has up to there
    windows, start, at = [], 0, 0
    while start < len(ends):
        last = sentences[max(0, bisect_right(sentences, start + room) - 1)]
        start = last if start < last <= start + room else min(start + room, len(ends))
        windows.append(text[at : ends[start - 1]].strip())
        at = ends[start - 1]
    return windows


def find_label(labels: Sequence[str], label: EntailmentLabel, model: str) -> int:
    """The place of the output that says that a passage supports a sentence. Raises `SpecError` if that is not clear."""
    if label is None:
        places = [place for place, name in enumerate(labels) if len(labels) == 1 or name.lower() in SUPPORT]
    else:
        places = [place for place, name in enumerate(labels) if label == place or str(label).lower() == name.lower()]
    if len(places) != 1:
        names = ", ".join(f"{place}: {name!r}" for place, name in enumerate(labels))
        raise SpecError(
            f"which output of {model} says that a passage supports a sentence? They are {names}; "
            f"label= takes a name or a number{'' if label is None else f', and label={label!r} is none of them'}"
        )
    return places[0]


def to_probabilities(logits: Array, place: int) -> Array:
    """The probability of one output: the sigmoid of a single logit, else the softmax over all of them."""
    wide = logits.astype(np.float64)
    others = np.zeros_like(wide) if wide.shape[1] == 1 else np.delete(wide, place, axis=1)
    with np.errstate(over="ignore"):
        probabilities: Array = 1 / (1 + np.exp(others - wide[:, [place]]).sum(axis=1))
    return probabilities


def _checked(function: Callable[[Any], Any]) -> Callable[[list[Pair]], Array]:
    name = getattr(function, "__name__", "the model")

    def ask(pairs: list[Pair]) -> Array:
        probabilities = np.asarray(function(pairs), dtype=np.float64)
        if probabilities.shape != (len(pairs),):
            problem = f"{name} returned an array of shape {probabilities.shape} for {len(pairs)} pairs"
            raise RowError(f"{problem}: expected one probability each")
        if (outside := probabilities[(probabilities < 0) | (probabilities > 1)]).size:
            raise RowError(f"{name} returned {outside[0]:g}: expected probabilities, from 0 to 1")
        return probabilities

    return ask
