"""Encoders in ONNX Runtime, on the processor and without torch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import MissingExtra, SpecError
from karat.core.parallel import map_ordered
from karat.models.encoders.encoder import Choice
from karat.models.encoders.files import ModelFiles
from karat.models.encoders.local import Feed, LocalEncoder, local_encoder
from karat.models.encoders.machine import has_onnx

BATCH = 16  # texts: their activations fit into a core's cache
BLOCK = 512
MIN_TOKENS = 1e-9  # avoids division by zero


def import_runtime() -> Any:
    """ONNX Runtime, told not to report its use to its makers, which it does by default."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read once, when it starts
    import onnxruntime  # noqa: PLC0415  (an extra)

    onnxruntime.disable_telemetry_events()  # where it does not read that, or had started before
    return onnxruntime


class OnnxNetwork:
    """An ONNX file. Each core runs batches of its own, which is faster than sharing each batch among cores."""

    block = BLOCK

    def __init__(self, file: Path, pooling: str, batch_size: int | None) -> None:
        onnxruntime = import_runtime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001  (its errors have no common class)
            raise SpecError(f"{file} is not a model that ONNX Runtime can read: {str(error)[:300]}") from None
        self._names = [each.name for each in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0].name
        self._pooling, self.batch_size = pooling, batch_size or BATCH

    def sentences(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The vectors of texts: the mean of their tokens' vectors or the first token's."""
        return map_ordered(self._sentence, feeds)

    def tokens(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        return map_ordered(self._read, feeds)

    labels = tokens

    def _read(self, feed: Feed) -> Array:
        output: Array = self._session.run([self._output], {name: feed[name] for name in self._names})[0]
        return output.astype(np.float32, copy=False)

    def _sentence(self, feed: Feed) -> Array:
        hidden = self._read(feed)
        if hidden.ndim == 2:  # the ONNX file includes the pooling
            return hidden
        vectors: Array = hidden[:, 0]
        if self._pooling != "cls":
            mask = feed["attention_mask"].astype(np.float32)
            vectors = np.matmul(mask[:, None, :], hidden)[:, 0]
            vectors /= np.maximum(mask.sum(axis=1, keepdims=True), MIN_TOKENS)
        return vectors


def open_onnx(files: ModelFiles, choice: Choice) -> LocalEncoder:
    """The model in ONNX Runtime. A model that comes without an ONNX file is exported once."""
    if not has_onnx():
        raise MissingExtra("onnxruntime and tokenizers", extra="onnx", need="backend='onnx'")
    from tokenizers import Tokenizer  # noqa: PLC0415  (an extra)

    if not files.fits_onnx:
        raise SpecError(
            f"{files.name} does not run in ONNX Runtime: there is no tokenizer.json, or it has parts that only "
            f"sentence-transformers supports ({', '.join(files.modules)}; pooling {files.pooling_mode}), or it comes "
            "without an ONNX file, and torch, transformers and onnx are not all installed to export one"
        )
    tokenizer = Tokenizer.from_file(str(files.folder / "tokenizer.json"))
    if files.read("sentence_bert_config.json").get("do_lower_case"):
        lower_case(tokenizer)
    if (file := files.onnx) is None:
        from karat.models.encoders.onnx_export import export  # noqa: PLC0415  (needs torch)

        file = export(files)
    network = OnnxNetwork(file, files.pooling_mode, choice.machine.batch_size)
    return local_encoder(network, tokenizer, int(files.config.get("pad_token_id") or 0), files, choice, "onnx")


def lower_case(tokenizer: Any) -> None:
    """Make a tokenizer lower-case its input first."""
    from tokenizers import normalizers  # noqa: PLC0415

    first = [normalizers.Lowercase()]
    tokenizer.normalizer = normalizers.Sequence(first + ([tokenizer.normalizer] if tokenizer.normalizer else []))
