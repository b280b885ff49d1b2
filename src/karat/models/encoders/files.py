"""A model's files, by the name it has on the hub or in its folder: what it is, before any of its weights is loaded."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from karat.core.errors import MissingExtra, SpecError

SMALL = ["*.json", "*.txt", "*.model"]  # what describes a model and its tokenizer; weights are fetched when they load
ONNX = ("onnx/model.onnx", "model.onnx")
LARGEST = 1.8e9  # bytes of weights that one ONNX file can hold
# activations of a cross-encoder after which, or before which, comes a sigmoid
PLAIN = {"Identity", "Sigmoid"}
NO_LIMIT = 1e9  # what a tokenizer without a limit says is far above


class NotExported(SpecError):
    """A model that torch does not export to ONNX."""


@dataclass(frozen=True)
class Files:
    """The folder of a model that was found; `commit` is that of a model of the hub."""

    name: str
    folder: Path
    commit: str | None = None
    token: str | None = None

    def read(self, file: str) -> Any:
        """One of its JSON files; an empty dict where it has none."""
        try:
            return json.loads((self.folder / file).read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SpecError(f"{self.folder / file} cannot be read: {error}") from None

    @cached_property
    def config(self) -> dict[str, Any]:
        return dict(self.read("config.json"))

    @cached_property
    def cross(self) -> bool:
        """Whether it scores pairs, and makes no vectors of texts."""
        return any(name.endswith("ForSequenceClassification") for name in self.config.get("architectures") or ())

    @cached_property
    def identity(self) -> str:
        """Equal for equal models: the commit, else a digest of what the folder says and of its weights' dates."""
        if self.commit:
            return f"{self.name}@{self.commit}"
        digest = sha256()
        for file in sorted(each for each in self.folder.rglob("*") if each.is_file()):
            state, name = file.stat(), file.relative_to(self.folder)
            digest.update(f"{name}|{state.st_size}|{state.st_mtime_ns}|".encode())
            if file.suffix == ".json" and state.st_size < 1e6:
                digest.update(file.read_bytes())
        return digest.hexdigest()

    @cached_property
    def modules(self) -> list[str]:
        """The classes of its parts in order; where none are told, those that sentence-transformers takes."""
        told = self.read("modules.json") or [{"type": "Transformer"}, {"type": "Pooling"}]
        return [part["type"].rpartition(".")[2] for part in told]

    @cached_property
    def pooling(self) -> dict[str, Any]:
        """How token vectors become a text's."""
        for part in self.read("modules.json") or ():
            if part["type"].endswith("Pooling"):
                return dict(self.read(f"{part['path']}/config.json"))
        return {"pooling_mode": "mean"}

    @property
    def pooling_mode(self) -> str:
        """`mean` or `cls`, or another that only sentence-transformers knows."""
        if isinstance(mode := self.pooling.get("pooling_mode"), str):
            return mode
        modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
        return "+".join(modes.get(key, key) for key, on in self.pooling.items() if key.startswith("pooling_") and on)

    def limit(self, asked: int | None) -> int | None:
        """Tokens that it reads of a text, of which there are at most those that its positions allow."""
        positions = self.config.get("max_position_embeddings")
        told = self.read("sentence_bert_config.json").get("max_seq_length")
        told = told or self.read("tokenizer_config.json").get("model_max_length")
        known = [int(each) for each in (told, positions) if each and 0 < each < NO_LIMIT]
        if asked is not None and positions and asked > positions:
            raise SpecError(f"max_length={asked}: {self.name} has positions for {positions} tokens")
        return asked or min(known, default=None)

    def prompt(self, asked: str | None) -> str:
        """What stands before each text: what was asked for, else the model's default."""
        told = self.read("config_sentence_transformers.json")
        prompts = told.get("prompts") or {}
        prompt = asked if asked is not None else prompts.get(told.get("default_prompt_name")) or ""
        if prompt and self.pooling.get("include_prompt") is False:
            raise SpecError(
                f"{self.name} leaves its prompt out of a text's vector, which karat does not do: "
                "in Python, give a callable that does"
            )
        return str(prompt)

    @cached_property
    def onnx(self) -> Path | None:
        """The ONNX file that it ships."""
        for file in ONNX:
            if (self.folder / file).is_file():
                return self.folder / file
        if self.commit is None:
            return None
        from huggingface_hub import hf_hub_download  # noqa: PLC0415  (only for models of the hub)
        from huggingface_hub.errors import EntryNotFoundError  # noqa: PLC0415

        for file in ONNX:
            try:
                return Path(hf_hub_download(self.name, file, revision=self.commit, token=self.token))
            except EntryNotFoundError:  # not there, or offline and never fetched
                continue
            except OSError as error:
                raise SpecError(f"{self.name}: {file} cannot be fetched: {error}") from None
        return None

    @property
    def fits_onnx(self) -> bool:
        """Whether ONNX Runtime can run it: its parts are known, and it ships an ONNX file or can be exported."""
        parts = self.cross or (set(self.modules) <= {"Transformer", "Pooling", "Normalize"})
        if not parts or (not self.cross and self.pooling_mode not in ("mean", "cls")):
            return False
        if not (self.folder / "tokenizer.json").is_file():
            return False
        able = all(find_spec(package) is not None for package in ("torch", "transformers", "onnx"))
        return self.onnx is not None or (able and self._weight < LARGEST)

    @property
    def _weight(self) -> float:
        """Bytes of a transformer of its size in float32, roughly; 0 where its configuration does not tell."""
        width, depth, words = (
            int(self.config.get(name) or 0) for name in ("hidden_size", "num_hidden_layers", "vocab_size")
        )
        return 4.0 * width * (12 * width * depth + words)

    def check_labels(self) -> None:
        """`SpecError` unless a pair gets one number, as it comes or through a sigmoid."""
        labels = self.config.get("num_labels") or len(self.config.get("id2label") or (0, 1))
        if labels != 1:
            raise SpecError(f"{self.name} gives {labels} numbers to a pair: a cross-encoder with one label is expected")
        told = (self.config.get("sentence_transformers") or {}).get("activation_fn")
        name = str(told or self.config.get("sbert_ce_default_activation_function") or "Sigmoid").rpartition(".")[2]
        if name not in PLAIN:
            raise SpecError(f"{self.name} wants the activation {name}: only {' and '.join(sorted(PLAIN))} are known")


def locate(model: str, revision: str | None = None, token: str | None = None) -> Files:
    """The files of a model: of a folder, or of the hub, from its cache where they are there.

    `token` is by default that of `HF_TOKEN` or `HF_API_TOKEN`; with `HF_HUB_OFFLINE=1` nothing is fetched.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise SpecError(f"{folder} holds no model: there is no config.json")
        return Files(model, folder)
    if model.count("/") > 1 or model.startswith((".", "~", "/")) or "\\" in model:
        raise SpecError(f"there is no folder {folder}")
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("huggingface_hub", extra="onnx", need=f"the model {model!r} of the hub")
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (only for models of the hub)

    token = token or os.environ.get("HF_TOKEN") or os.environ.get("HF_API_TOKEN") or None
    full = model if "/" in model else f"sentence-transformers/{model}"
    try:
        found = Path(snapshot_download(full, revision=revision, token=token, allow_patterns=SMALL))
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise SpecError(f"the model {model!r} is no folder here, and the hub does not give it: {said}") from None
    return Files(full, found, found.name, token)
