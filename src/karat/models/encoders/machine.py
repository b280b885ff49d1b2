"""Where encoders run: what this machine has, and what the running code chose of it.

A model gives the same scores wherever it runs, but for the last digits. So this is not among the settings of a metric:
two machines that score alike have the same metrics.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Literal, TypeAlias, get_args

from karat.core.context import change_context, current_context
from karat.core.errors import SpecError, did_you_mean

Backend: TypeAlias = Literal["auto", "sentence-transformers", "onnx"]


@dataclass(frozen=True)
class Machine:
    """The library that runs encoders, the device, and how many texts at a time. None: what suits this machine.

    `device` is as torch names it: `cpu`, `cuda`, `cuda:1`, `mps`. `batch_size` counts texts of 64 tokens, fewer of
    longer ones; at an endpoint of embeddings, the texts of a request. Raises `SpecError` for another `backend`, or a
    `batch_size` below 1.
    """

    backend: Backend = "auto"
    device: str | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if self.backend not in get_args(Backend):
            raise SpecError(f"backend={self.backend!r} is unknown{did_you_mean(self.backend, get_args(Backend))}")
        if self.batch_size is not None and self.batch_size < 1:
            raise SpecError(f"batch_size={self.batch_size}: a number of texts is expected, at least 1")


def current_machine() -> Machine:
    """The machine of `use_machine`, else the one that suits."""
    return current_context().machine or Machine()


@contextmanager
def use_machine(machine: Machine) -> Iterator[None]:
    """Within the block encoders run there. Engines take it along to their workers.

    >>> with use_machine(Machine(device="cpu", batch_size=8)):
    ...     current_machine().batch_size
    8
    """
    with change_context(machine=machine):
        yield


def has_onnx() -> bool:
    """Whether ONNX Runtime and tokenizers are installed."""
    return find_spec("onnxruntime") is not None and find_spec("tokenizers") is not None


@lru_cache
def accelerator() -> str | None:
    """The accelerator that torch can use: `cuda`, `mps` or None. torch is imported only if there may be one."""
    linux = sys.platform == "linux"
    if find_spec("torch") is None or (linux and not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd")))):
        return None
    import torch  # noqa: PLC0415  (slow to import)

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None
