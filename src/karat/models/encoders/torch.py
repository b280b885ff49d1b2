"""Encoders in torch, through sentence-transformers, on the processor or an accelerator."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from karat.core.columns.kinds import Array
from karat.core.errors import MissingExtra, SpecError
from karat.models.encoders.encoder import Choice
from karat.models.encoders.files import ModelFiles
from karat.models.encoders.local import FEED_NAMES, Feed, LocalEncoder, local_encoder
from karat.models.encoders.machine import accelerator

if TYPE_CHECKING:
    import torch

BATCH = {"cpu": 32, "other": 1024}
BLOCK = {"cpu": 512, "other": 16384}
AHEAD = 16  # batches sent to an accelerator before the first result is fetched


class TorchNetwork:
    """A torch module on its device. The next batches are prepared while an accelerator computes.

    For this, batches are copied from pinned memory without waiting, and results are fetched many batches at a time.
    """

    def __init__(self, model: Any, device: str, names: Iterable[str], batch_size: int | None) -> None:
        self._model, self._device, self._names = model, device, tuple(names)
        where = "cpu" if device == "cpu" else "other"
        self.batch_size, self.block = batch_size or BATCH[where], BLOCK[where]

    def sentences(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The vectors of texts, pooled by the model's own modules."""
        return self._fetch(feeds, lambda features: self._model(features)["sentence_embedding"])

    def tokens(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        return self._fetch(feeds, lambda features: self._model(features)["token_embeddings"])

    def labels(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        return self._fetch(feeds, lambda features: self._model(**features).logits)

    def _fetch(self, feeds: Iterable[Feed], read: Any) -> Iterator[Array]:
        import torch  # noqa: PLC0415  (an extra, slow to import)

        waiting: list[torch.Tensor] = []
        for feed in feeds:
            with torch.inference_mode():
                waiting.append(read({name: self._send(feed[name]) for name in self._names}).float())
            if self._device == "cpu" or len(waiting) == AHEAD:
                yield from (output.cpu().numpy() for output in waiting)
                waiting.clear()
        yield from (output.cpu().numpy() for output in waiting)

    def _send(self, numbers: Array) -> Any:
        import torch  # noqa: PLC0415

        tensor = torch.from_numpy(numbers)
        if not self._device.startswith("cuda"):
            return tensor.to(self._device)
        return tensor.pin_memory().to(self._device, non_blocking=True)


def open_torch(files: ModelFiles, choice: Choice) -> LocalEncoder:
    """The model in torch. Raises `SpecError` unless it is a transformer with a fast tokenizer."""
    if find_spec("sentence_transformers") is None:
        raise MissingExtra("sentence-transformers", extra="semantic", need=f"the model {files.name!r}")
    import torch  # noqa: PLC0415  (an extra, slow to import)

    device = choice.machine.device or accelerator() or "cpu"
    name: str = files.name if files.commit else str(files.folder)
    where: dict[str, Any] = {"token": files.token, "revision": files.commit} if files.commit else {}
    with silence_transformers():
        try:
            model, tokenizer = _load(name, where, files)
            model = model.to(device=device, dtype=getattr(torch, choice.dtype)).eval()
        except (OSError, ValueError, RuntimeError, AssertionError) as error:
            reason = " ".join(str(error).split())[:300]
            raise SpecError(f"{files.name} cannot be loaded with device={device!r}: {reason}") from error
    if not getattr(tokenizer, "is_fast", False):
        remedy = "in Python, pass its function from texts to a matrix as model="
        raise SpecError(f"{files.name} is not a transformer with a fast tokenizer: {remedy}")
    names = [name for name in FEED_NAMES if name in (*FEED_NAMES[:2], *tokenizer.model_input_names)]
    network, padding = TorchNetwork(model, device, names, choice.machine.batch_size), int(tokenizer.pad_token_id or 0)
    engine = f"torch|{device.partition(':')[0]}|{choice.dtype}"
    return local_encoder(network, tokenizer.backend_tokenizer, padding, files, choice, engine)


def _load(name: str, where: dict[str, Any], files: ModelFiles) -> tuple[Any, Any]:
    if files.cross:
        from transformers import AutoModelForSequenceClassification as Model  # noqa: PLC0415
        from transformers import AutoTokenizer  # noqa: PLC0415

        return Model.from_pretrained(name, **where, **files.overrides), AutoTokenizer.from_pretrained(name, **where)
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    model = SentenceTransformer(name, device="cpu", config_kwargs=files.overrides, **where)
    return model, model.tokenizer


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Within the block, transformers shows no progress bars and logs only errors."""
    log: Any = import_module("transformers.utils.logging")
    shown = log.is_progress_bar_enabled()
    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels = [each.level for each in loggers]
    log.disable_progress_bar()
    for each in loggers:
        each.setLevel(logging.ERROR)
    try:
        yield
    finally:
        if shown:
            log.enable_progress_bar()
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
