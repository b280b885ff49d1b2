"""How alike predicted and expected answers are in meaning, as a sentence model has it."""

# No `from __future__ import annotations`: older releases of Haystack read the types of sockets as they stand here.

from typing import Any, Self

import numpy as np
import pyarrow as pa
from haystack import component, default_from_dict, default_to_dict
from haystack.utils import ComponentDevice
from haystack.utils.auth import Secret, deserialize_secrets_inplace

from karat.core.errors import RowError
from karat.metrics.similarity.pair_scoring import cosines, score_pairs, sigmoids
from karat.models.encoders.base import Choice
from karat.models.encoders.open import open_encoder
from karat.stats.aggregate import Units
from karat.stats.interval import interval

MODEL = "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"


@component
class SASEvaluator:
    """Semantic answer similarity: the cosine of a bi-encoder's vectors, or what a cross-encoder says of the pair.

    Which of the two a model is follows from its configuration. A cross-encoder's score is the sigmoid of its logit,
    always: Haystack's own component applies one more to all answers of a call where any score is above 1.

    >>> SASEvaluator().to_dict()["init_parameters"]["model"]
    'sentence-transformers/paraphrase-multilingual-mpnet-base-v2'
    """

    def __init__(
        self,
        model: str = MODEL,
        batch_size: int = 32,
        device: ComponentDevice | None = None,
        token: Secret | None = Secret.from_env_var(["HF_API_TOKEN", "HF_TOKEN"], strict=False),  # noqa: B008
    ) -> None:
        """A component of one model, a name on the Hugging Face hub or a folder, which is loaded when first needed.

        `batch_size`: texts that the model reads at a time. `device`: where; by default an accelerator if there is one.
        `token`: for models of the hub that are not public.
        """
        self.model, self.batch_size, self.device, self.token = model, batch_size, device, token

    def warm_up(self) -> None:
        """Load the model; `karat.SpecError`, a `ValueError`, where it is not there."""
        self._encoder()

    def _encoder(self) -> Any:
        device = None if self.device is None else self.device.to_torch_str()
        token = None if self.token is None else self.token.resolve_value()
        choice = Choice(self.model, device=device, batch_size=self.batch_size)
        return open_encoder(choice, cross=None, token=token)

    @component.output_types(score=float, individual_scores=list[float], interval=list[float])
    def run(self, ground_truth_answers: list[str], predicted_answers: list[str]) -> dict[str, Any]:
        """Score each predicted answer beside the expected one.

        Returns `individual_scores`, from -1 to 1 with a bi-encoder and from 0 with a cross-encoder, `score`, their
        mean, and `interval`, the two ends between which the mean lies at 95 %. Raises `karat.RowError`, a
        `ValueError`, for lists of unequal length, empty lists, None, and what is no text.
        """
        said, gold = _texts(predicted_answers, "Predicted"), _texts(ground_truth_answers, "Ground truth")
        if len(said) != len(gold):
            raise RowError("The number of predictions and labels must be the same.")
        for name, answers in (("Predicted", said), ("Ground truth", gold)):
            if answers.null_count:
                raise RowError(f"{name} answers must not contain None values.")
        if not len(said):
            raise RowError("ground_truth_answers and predicted_answers must be provided: an empty list has no score.")
        encoder = self._encoder()
        rows = score_pairs(said, gold, encoder, sigmoids if encoder.cross else cosines(), empty=True)
        units = Units(width=1)
        units.add(rows.statistics)
        return {
            "score": float(np.mean(rows.statistics)),
            "individual_scores": rows.statistics[:, 0].tolist(),
            "interval": list(interval(units, bounds=(0.0 if encoder.cross else -1.0, 1.0))),
        }

    def to_dict(self) -> dict[str, Any]:
        """The component as Haystack stores it."""
        return default_to_dict(
            self,
            model=self.model,
            batch_size=self.batch_size,
            device=None if self.device is None else self.device.to_dict(),
            token=None if self.token is None else self.token.to_dict(),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that `to_dict`, or Haystack's component of the same name, described."""
        settings = dict(data.get("init_parameters", {}))
        deserialize_secrets_inplace(settings, keys=["token"])
        if isinstance(settings.get("device"), dict):
            settings["device"] = ComponentDevice.from_dict(settings["device"])
        return default_from_dict(cls, {**data, "init_parameters": settings})


def _texts(answers: Any, name: str) -> pa.Array:
    try:
        if not isinstance(answers, str):
            return pa.array(answers, pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        pass
    raise RowError(f"{name} answers: a list with one text a question is expected, found {answers!r:.80}")
