"""Exports a torch model to an ONNX file, once, into the user's cache folder."""

from __future__ import annotations

import warnings
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from karat.core.atomic import replacing
from karat.core.paths import cache_path
from karat.models.encoders.files import ModelFiles, NotExported
from karat.models.encoders.local import FEED_NAMES
from karat.models.encoders.torch import silence_transformers

OPSET = 17


def export(files: ModelFiles) -> Path:
    """The ONNX file of a model in the user's cache folder; exported with torch if it is not there yet."""
    folder = cache_path("onnx")
    exported = folder / f"{sha256(files.identity.encode()).hexdigest()[:32]}.onnx"
    if not exported.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(exported) as temporary:  # other processes never see half a file
            _export(files, temporary)
    return exported


def _export(files: ModelFiles, file: Path) -> None:
    torch: Any = import_module("torch")  # an extra, slow to import
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer  # noqa: PLC0415

    class Plain(torch.nn.Module):  # type: ignore[misc]
        """The model with positional inputs and only its first output."""

        def __init__(self, model: Any, names: list[str]) -> None:
            super().__init__()
            self.model, self.names = model, names

        def forward(self, *inputs: Any) -> Any:
            return self.model(**dict(zip(self.names, inputs, strict=True)), return_dict=False)[0]

    where: dict[str, Any] = {"token": files.token, "revision": files.commit} if files.commit else {}
    name = files.name if files.commit else str(files.folder)
    kind = AutoModelForSequenceClassification if files.cross else AutoModel
    with silence_transformers(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            how = {"attn_implementation": "eager", "dtype": torch.float32} | where | files.overrides
            model = kind.from_pretrained(name, **how).eval()
            reads = AutoTokenizer.from_pretrained(name, **where).model_input_names
            names = [each for each in FEED_NAMES if each in reads]
            example = torch.ones((2, 7), dtype=torch.long)
            axes = {0: "batch", 1: "tokens"}
            torch.onnx.export(
                Plain(model, names),
                tuple(example for _ in names),
                str(file),
                input_names=names,
                output_names=["output"],
                dynamic_axes=dict.fromkeys(names, axes) | {"output": {0: "batch"} if files.cross else axes},
                opset_version=OPSET,
                dynamo=False,
            )
        except Exception as error:
            problem = f"{files.name} cannot be exported to ONNX ({' '.join(str(error).split())[:300]})"
            raise NotExported(f"{problem}: use backend='sentence-transformers'") from error
