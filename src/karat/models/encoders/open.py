"""What makes texts comparable: a model's vectors of texts, its scores of pairs; the ways to run it behind one seam.

A model is named as on the Hugging Face hub or by its folder; nothing is downloaded that was not named. It runs in
ONNX Runtime, in sentence-transformers, or behind an endpoint; any callable from texts to a matrix serves as well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import MissingExtra, RowError, SpecError

Backend: TypeAlias = Literal["auto", "sentence-transformers", "onnx", "endpoint"]
Dtype: TypeAlias = Literal["float32", "bfloat16", "float16"]
Pair: TypeAlias = tuple[str, str]

BLOCK = 256  # texts that a callable gets at a time


class Made(NamedTuple):
    """What a model makes of some items: a row of float32 each, NaN where it made none, and which were cut to fit.

    Rows of no columns: it made none of any.
    """

    rows: Array
    cut: Array


class Encoder(Protocol):
    """A model, ready to run."""

    identity: str | None
    """What its rows are kept under, equal where they would be; None: not kept."""
    block: int
    """Items that it takes well at a time."""
    cross: bool
    """Whether it scores pairs and makes no vectors."""
    limit: int | None
    """Tokens that it reads of a text; None where it does not tell."""

    def encode(self, texts: Sequence[str]) -> Made:
        """A vector for each text: rows of shape (n, d)."""


@dataclass(frozen=True)
class Choice:
    """Which model, and how it is to run; None is what the model, or the machine, suggests."""

    model: str | Callable[[list[str]], Any]
    revision: str | None = None
    backend: Backend = "auto"
    device: str | None = None
    dtype: Dtype = "float32"
    batch_size: int | None = None
    prompt: str | None = None
    max_length: int | None = None


class CallableEncoder:
    """A function from texts to a matrix as an encoder.

    >>> CallableEncoder(lambda texts: [[len(text), 1] for text in texts]).encode(["a", "bcd"]).rows.tolist()
    [[1.0, 1.0], [3.0, 1.0]]
    """

    identity = limit = None
    cross = False
    block = BLOCK

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self._function = function

    def encode(self, texts: Sequence[str]) -> Made:
        """A vector for each text; `RowError` where the function gives something else."""
        rows = np.asarray(self._function(list(texts)), dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            name = getattr(self._function, "__name__", "the model")
            raise RowError(f"{name} gave an array of shape {rows.shape} for {len(texts)} texts: one row each is due")
        return Made(rows, np.zeros(len(texts), dtype=bool))


def open_encoder(choice: Choice, *, cross: bool | None = False, token: str | None = None) -> Any:
    """The encoder of a choice, loaded once: a bi-encoder, or with `cross` one that scores pairs; None takes either.

    Raises `SpecError` for a model that is not there, or of the other kind; `MissingExtra` where nothing can run it.
    """
    if callable(choice.model):
        return CallableEncoder(choice.model)
    if choice.backend == "endpoint":
        from karat.models.encoders.endpoint import EndpointEncoder  # noqa: PLC0415  (asks a server: seldom wanted)

        return EndpointEncoder(choice)
    return _open_local(choice, cross, token)


@lru_cache(maxsize=4)
def _open_local(choice: Choice, cross: bool | None, token: str | None) -> Any:
    if not has_onnx() and find_spec("sentence_transformers") is None:
        raise MissingExtra(
            "sentence-transformers (or onnxruntime and tokenizers: karat[onnx])",
            extra="semantic",
            need=f"the model {choice.model!r}",
        )
    from karat.models.encoders.files import NotExported, locate  # noqa: PLC0415  (an extra)

    files = locate(str(choice.model), choice.revision, token)
    if cross not in (None, files.cross):
        kind, fitting = ("cross", "cross_similarity") if files.cross else ("bi", "semantic_similarity")
        raise SpecError(f"{choice.model} is a {kind}-encoder: {fitting}(model={choice.model!r}) is its metric")
    if backend_of(choice, files) == "onnx":
        from karat.models.encoders.onnx import open_onnx  # noqa: PLC0415

        try:
            return open_onnx(files, choice)
        except NotExported:
            if choice.backend == "onnx":
                raise
    from karat.models.encoders.torch import open_torch  # noqa: PLC0415

    return open_torch(files, choice)


def backend_of(choice: Choice, files: Any) -> str:
    """Where a model runs: on an accelerator or in another dtype with torch, else in ONNX Runtime if that can."""
    if choice.backend == "onnx":
        if choice.device not in (None, "cpu") or choice.dtype != "float32":
            raise SpecError("backend='onnx' runs on the processor, in float32")
        return "onnx"
    if choice.backend == "sentence-transformers":
        return choice.backend
    plain = choice.device in (None, "cpu") and choice.dtype == "float32"
    if plain and has_onnx() and (choice.device == "cpu" or accelerator() is None) and files.fits_onnx:
        return "onnx"
    return "sentence-transformers"


def has_onnx() -> bool:
    """Whether ONNX Runtime and tokenizers are installed."""
    return find_spec("onnxruntime") is not None and find_spec("tokenizers") is not None


@lru_cache
def accelerator() -> str | None:
    """The accelerator that torch can use here; torch is imported only where there could be one."""
    linux = sys.platform == "linux"
    if find_spec("torch") is None or (linux and not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd")))):
        return None
    import torch  # noqa: PLC0415  (slow to import)

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None


def explain_backend() -> str:
    """One line for `karat doctor`: where `backend='auto'` runs models on this machine, and what is kept."""
    torch = find_spec("sentence_transformers") is not None
    if torch and (found := accelerator()) is not None:
        where = f"sentence-transformers on {found}"
    elif has_onnx():
        other = "sentence-transformers" if torch else "no other: karat[semantic] exports models that ship no ONNX file"
        where = f"ONNX Runtime on the processor ({other} where a model has no ONNX form)"
    elif torch:
        where = "sentence-transformers on the processor (karat[onnx] is faster there)"
    else:
        return "semantic similarity has nothing to run models: pip install 'karat[onnx]' or 'karat[semantic]'"
    from karat.models.encoders.vector_cache import vectors_path  # noqa: PLC0415

    path = vectors_path()
    kept = f"vectors are kept in {path}" if path else "vectors are not kept"
    size = f" ({Path(path).stat().st_size / 1e6:.0f} MB)" if path and Path(path).exists() else ""
    return f"semantic similarity: {where}; {kept}{size}"
