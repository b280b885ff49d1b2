"""Opens the encoder of a choice: finds the model, chooses a back end, and loads it.

A model is named as on the Hugging Face hub or by its folder; only named models are downloaded. It runs in ONNX Runtime,
in sentence-transformers, or behind an endpoint. Any callable from texts to a matrix can replace a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.errors import MissingExtra, RowError, SpecError
from karat.models.encoders.encoder import Choice, EncoderOutput
from karat.models.encoders.machine import accelerator, has_onnx

BLOCK = 256  # texts that a callable gets in one call


class CallableEncoder:
    """A function from texts to a matrix as an encoder.

    >>> CallableEncoder(lambda texts: [[len(text), 1] for text in texts]).encode(["a", "bcd"]).rows.tolist()
    [[1.0, 1.0], [3.0, 1.0]]
    """

    identity = max_length = None
    cross = False
    block = BLOCK

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self._function = function

    def encode(self, texts: Sequence[str]) -> EncoderOutput:
        """A vector for each text. Raises `RowError` if the function returns another shape."""
        rows = np.asarray(self._function(list(texts)), dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            result = f"{getattr(self._function, '__name__', 'the model')} returned an array of shape {rows.shape}"
            raise RowError(f"{result} for {len(texts)} texts: expected one row each")
        return EncoderOutput(rows, np.zeros(len(texts), dtype=bool))


def open_encoder(choice: Choice, *, cross: bool | None = False, classes: bool = False, token: str | None = None) -> Any:
    """The encoder of a choice, loaded once: a bi-encoder, or a cross-encoder if `cross`; None accepts both.

    A cross-encoder returns one number a pair, or with `classes` any number of them.

    Raises `SpecError` for a model that does not exist or is of the other kind, `MissingExtra` if no installed library
    can run it.
    """
    if callable(choice.model):
        return CallableEncoder(choice.model)
    if choice.endpoint:
        from karat.models.encoders.endpoint import EndpointEncoder  # noqa: PLC0415  (seldom used)

        return EndpointEncoder(choice)
    return _open_local(choice, cross, classes, token)


@lru_cache(maxsize=4)
def _open_local(choice: Choice, cross: bool | None, classes: bool, token: str | None) -> Any:
    if not has_onnx() and find_spec("sentence_transformers") is None:
        packages = "sentence-transformers (or onnxruntime and tokenizers: karat[onnx])"
        raise MissingExtra(packages, extra="semantic", need=f"the model {choice.model!r}")
    from karat.models.encoders.files import NotExported, find_files  # noqa: PLC0415  (an extra)

    files = find_files(str(choice.model), choice.revision, token, choice.layers)
    if cross not in (None, files.cross):
        kind, metric = ("cross", "cross_similarity") if files.cross else ("bi", "semantic_similarity")
        raise SpecError(f"{choice.model} is a {kind}-encoder: use {metric}(model={choice.model!r})")
    if files.cross and not (classes and len(files.labels) > 1):
        files.check_labels()
    if choose_backend(choice, files) == "onnx":
        from karat.models.encoders.onnx import open_onnx  # noqa: PLC0415

        try:
            return open_onnx(files, choice)
        except NotExported:
            if choice.machine.backend == "onnx":
                raise
    from karat.models.encoders.torch import open_torch  # noqa: PLC0415

    return open_torch(files, choice)


def choose_backend(choice: Choice, files: Any) -> str:
    """The back end: torch on an accelerator or for another dtype, else ONNX Runtime if it can run the model."""
    machine = choice.machine
    plain = machine.device in (None, "cpu") and choice.dtype == "float32"
    if machine.backend == "onnx":
        if not plain:
            raise SpecError("backend='onnx' runs on the processor, in float32")
        return "onnx"
    plain = plain and machine.backend == "auto"
    if plain and has_onnx() and (machine.device == "cpu" or accelerator() is None) and files.fits_onnx:
        return "onnx"
    return "sentence-transformers"


def describe_backend() -> str:
    """One line for `karat doctor`: where `backend='auto'` runs models on this machine, and where vectors are cached."""
    torch = find_spec("sentence_transformers") is not None
    if torch and (device := accelerator()) is not None:
        where = f"sentence-transformers on {device}"
    elif has_onnx():
        other = "sentence-transformers" if torch else "no other: karat[semantic] exports models that ship no ONNX file"
        where = f"ONNX Runtime on the processor ({other} where a model has no ONNX form)"
    elif torch:
        where = "sentence-transformers on the processor (karat[onnx] is faster there)"
    else:
        return "semantic similarity has nothing to run models: pip install 'karat[onnx]' or 'karat[semantic]'"
    from karat.models.encoders.vector_cache import vectors_path  # noqa: PLC0415

    path = vectors_path()
    cache = f"vectors are kept in {path}" if path else "vectors are not kept"
    size = f" ({Path(path).stat().st_size / 1e6:.0f} MB)" if path and Path(path).exists() else ""
    return f"semantic similarity: {where}; {cache}{size}"
