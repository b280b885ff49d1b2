"""`SASEvaluator`: the similarity in meaning of predicted and expected answers, by a sentence model."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from typing import Any

import numpy as np
import pyarrow as pa
from haystack import component
from haystack.components import evaluators
from haystack.utils import ComponentDevice
from haystack.utils.auth import Secret

from karat.adapters.haystack.component import INTEGRATION, Detailed, text_of
from karat.core.errors import RowError
from karat.metrics.similarity.pair_scoring import cosines, score_pairs, sigmoids
from karat.models.encoders.encoder import Choice
from karat.models.encoders.machine import Machine
from karat.models.encoders.open import open_encoder

MODEL = "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"


@component
class SASEvaluator(Detailed, evaluators.SASEvaluator):
    """Semantic answer similarity: the cosine of a bi-encoder's vectors, or a cross-encoder's score of the pair.

    The model's configuration says which of the two it is. A cross-encoder's score is always the sigmoid of its logit;
    Haystack's own component applies a second sigmoid to all answers of a call if one score is above 1.

    >>> SASEvaluator().to_dict()["init_parameters"]["model"]
    'sentence-transformers/paraphrase-multilingual-mpnet-base-v2'
    """

    __module__ = INTEGRATION

    def __init__(
        self,
        model: str = MODEL,
        batch_size: int = 32,
        device: ComponentDevice | None = None,
        token: Secret = Secret.from_env_var(["HF_API_TOKEN", "HF_TOKEN"], strict=False),  # noqa: B008
        *,
        details: bool = False,
    ) -> None:
        """A component of one model, a name on the Hugging Face hub or a folder, which is loaded on first use.

        `batch_size`: texts that the model encodes at a time. `device`: by default an accelerator, if there is one.
        `token`: for models of the hub that are not public. With `details`, results have the 95 % confidence interval of
        the score.
        """
        # Haystack's own constructor needs sentence-transformers, which karat's encoders do without.
        self._model, self._batch_size, self._device, self._token = model, batch_size, device, token
        self.configure(details=details)

    def warm_up(self) -> None:
        """Load the model; `SpecError`, a `ValueError`, if it is not found."""
        self._encoder()

    def _encoder(self) -> Any:
        device = None if self._device is None else self._device.to_torch_str()
        token = self._token.resolve_value() if self._token else None
        choice = Choice(self._model, machine=Machine(device=device, batch_size=self._batch_size))
        return open_encoder(choice, cross=None, token=token)

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_answers: list[str], predicted_answers: list[str]) -> dict[str, Any]:
        """Score each predicted answer against the expected one.

        Returns `individual_scores`, from -1 to 1 for a bi-encoder and from 0 to 1 for a cross-encoder, and their mean
        as `score`. Raises `RowError`, a `ValueError`, for lists of unequal length, empty lists, None, and
        anything that is not a text, a `GeneratedAnswer`, an `ExtractedAnswer` or a `ChatMessage`.
        """
        predicted, gold = _texts(predicted_answers, "Predicted"), _texts(ground_truth_answers, "Ground truth")
        if len(predicted) != len(gold):
            raise RowError("The number of predictions and labels must be the same.")
        for name, answers in (("Predicted", predicted), ("Ground truth", gold)):
            if answers.null_count:
                raise RowError(f"{name} answers must not contain None values.")
        if not len(predicted):
            raise RowError("ground_truth_answers and predicted_answers must be provided: an empty list has no score.")
        encoder = self._encoder()
        rows = score_pairs(predicted, gold, encoder, sigmoids if encoder.cross else cosines(), empty=True)
        scores = rows.statistics[:, 0].tolist()
        outputs = {"score": float(np.mean(scores)), "individual_scores": scores}
        return self.detail(outputs, low=0.0 if encoder.cross else -1.0)


def _texts(answers: Any, name: str) -> pa.Array:
    try:
        if not isinstance(answers, str):
            return pa.array(map(text_of, answers), pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        pass
    raise RowError(f"{name} answers: a list with one text for each question is expected, found {answers!r:.80}")
