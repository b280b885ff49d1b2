"""What this machine can run models with: accelerators and installed libraries."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.util import find_spec


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
