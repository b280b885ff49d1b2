"""The files of a model, from the hub or a folder: what its configuration says, before any weights are loaded."""

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

SMALL = ["*.json", "*.txt", "*.model"]  # configuration and tokenizer; weights are downloaded when they are loaded
ONNX = ("onnx/model.onnx", "model.onnx")
LARGEST = 1.8e9  # bytes of weights that one ONNX file can hold
PLAIN = {"Identity", "Sigmoid"}  # activations of a cross-encoder that agree with the sigmoid of its logit
NO_LIMIT = 1e9  # tokenizers without a limit state a far larger number


class NotExported(SpecError):
    """A model that torch cannot export to ONNX."""


@dataclass(frozen=True)
class ModelFiles:
    """The folder of a model. `commit` is set for models of the hub, `layers` where only the first ones are run."""

    name: str
    folder: Path
    commit: str | None = None
    token: str | None = None
    layers: int | None = None

    def __post_init__(self) -> None:
        if self.layers is not None:
            depth = self.config.get("num_hidden_layers") or self.config.get("n_layers") or self.layers
            if self.layers > depth:
                raise SpecError(f"layers={self.layers}: {self.name} has {depth} layers")

    def read(self, file: str) -> Any:
        """One of its JSON files; an empty dict if there is no such file."""
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
        """Whether it is a cross-encoder, which scores pairs."""
        return any(name.endswith("ForSequenceClassification") for name in self.config.get("architectures") or ())

    @property
    def overrides(self) -> dict[str, int]:
        """What is changed of its configuration when it is loaded."""
        return {} if self.layers is None else {"num_hidden_layers": self.layers}

    @cached_property
    def identity(self) -> str:
        """Equal for equal models: the commit, else a digest of the folder's JSON files and all sizes and dates."""
        layers = "" if self.layers is None else f"|{self.layers} layers"
        if self.commit:
            return f"{self.name}@{self.commit}{layers}"
        digest = sha256()
        for file in sorted(each for each in self.folder.rglob("*") if each.is_file()):
            state, name = file.stat(), file.relative_to(self.folder)
            digest.update(f"{name}|{state.st_size}|{state.st_mtime_ns}|".encode())
            if file.suffix == ".json" and state.st_size < 1e6:
                digest.update(file.read_bytes())
        return f"{digest.hexdigest()}{layers}"

    @cached_property
    def modules(self) -> list[str]:
        """The classes of its parts in order; without modules.json, the default of sentence-transformers."""
        parts = self.read("modules.json") or [{"type": "Transformer"}, {"type": "Pooling"}]
        return [part["type"].rpartition(".")[2] for part in parts]

    @cached_property
    def pooling(self) -> dict[str, Any]:
        """The configuration of its pooling: how the vectors of tokens become the vector of a text."""
        for part in self.read("modules.json") or ():
            if part["type"].endswith("Pooling"):
                return dict(self.read(f"{part['path']}/config.json"))
        return {"pooling_mode": "mean"}

    @property
    def pooling_mode(self) -> str:
        """`mean`, `cls`, or a mode that only sentence-transformers supports."""
        if isinstance(mode := self.pooling.get("pooling_mode"), str):
            return mode
        modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
        return "+".join(modes.get(key, key) for key, on in self.pooling.items() if key.startswith("pooling_") and on)

    def max_length(self, requested: int | None) -> int | None:
        """Tokens that it reads of a text. Raises `SpecError` for more than the model has positions."""
        positions = self.config.get("max_position_embeddings")
        default = self.read("sentence_bert_config.json").get("max_seq_length")
        default = default or self.read("tokenizer_config.json").get("model_max_length")
        limits = [int(each) for each in (default, positions) if each and 0 < each < NO_LIMIT]
        if requested is not None and positions and requested > positions:
            raise SpecError(f"max_length={requested}: {self.name} has positions for {positions} tokens")
        return requested or min(limits, default=None)

    def prompt(self, requested: str | None) -> str:
        """The text that is put before each input: the requested one, else the model's default."""
        config = self.read("config_sentence_transformers.json")
        prompts = config.get("prompts") or {}
        prompt = requested if requested is not None else prompts.get(config.get("default_prompt_name")) or ""
        if prompt and self.pooling.get("include_prompt") is False:
            problem = f"{self.name} excludes its prompt from the pooling, which karat does not support"
            raise SpecError(f"{problem}: in Python, pass a callable that does as model=")
        return str(prompt)

    @cached_property
    def onnx(self) -> Path | None:
        """The ONNX file that comes with the model; None if there is none, or only some layers are run."""
        if self.layers is not None:
            return None
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
            except EntryNotFoundError:  # no such file, or offline and never downloaded
                continue
            except OSError as error:
                raise SpecError(f"{self.name}: {file} cannot be downloaded: {error}") from None
        return None

    @property
    def fits_onnx(self) -> bool:
        """Whether ONNX Runtime can run it: all parts are supported, and there is an ONNX file or it can be exported."""
        plain = set(self.modules) <= {"Transformer", "Pooling", "Normalize"} and self.pooling_mode in ("mean", "cls")
        if not (self.cross or plain) or not (self.folder / "tokenizer.json").is_file():
            return False
        exporter = all(find_spec(package) is not None for package in ("torch", "transformers", "onnx"))
        return self.onnx is not None or (exporter and self._weight < LARGEST)

    @property
    def _weight(self) -> float:
        """Roughly the bytes of its weights in float32; 0 if the configuration does not say."""
        names = ("hidden_size", "num_hidden_layers", "vocab_size")
        width, depth, words = (int(self.config.get(name) or 0) for name in names)
        return 4.0 * width * (12 * width * depth + words)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What the numbers that a cross-encoder returns for a pair stand for; `LABEL_0` and so on by default."""
        names = self.config.get("id2label") or {}
        count = self.config.get("num_labels") or len(names) or 2
        return tuple(str(names.get(str(place), f"LABEL_{place}")) for place in range(count))

    def check_labels(self) -> None:
        """Raise `SpecError` unless the model returns one number a pair, with no activation or a sigmoid."""
        if len(self.labels) != 1:
            problem = f"{self.name} returns {len(self.labels)} numbers a pair"
            raise SpecError(f"{problem}: expected a cross-encoder with one label")
        activation = (self.config.get("sentence_transformers") or {}).get("activation_fn")
        name = str(activation or self.config.get("sbert_ce_default_activation_function") or "Sigmoid").split(".")[-1]
        if name not in PLAIN:
            raise SpecError(f"{self.name} uses the activation {name}: expected {' or '.join(sorted(PLAIN))}")


def find_files(
    model: str, revision: str | None = None, token: str | None = None, layers: int | None = None
) -> ModelFiles:
    """The files of a model: of a folder, or of the hub, from the hub's cache if they are there.

    `token` is by default `$HF_TOKEN` or `$HF_API_TOKEN`; with `HF_HUB_OFFLINE=1` nothing is downloaded.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise SpecError(f"{folder} holds no model: there is no config.json in it")
        return ModelFiles(model, folder, layers=layers)
    if os.path.lexists(folder):  # the hub is not asked for a name of this machine
        raise SpecError(f"{folder} is not a folder; expected the folder of a model, or its name on the hub")
    if model.count("/") > 1 or model.startswith((".", "~", "/")) or "\\" in model:
        raise SpecError(f"there is no folder {folder}")
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("huggingface_hub", extra="onnx", need=f"the model {model!r} of the hub")
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (only for models of the hub)

    token = token or os.environ.get("HF_TOKEN") or os.environ.get("HF_API_TOKEN") or None
    full = model if "/" in model else f"sentence-transformers/{model}"
    try:
        snapshot = Path(snapshot_download(full, revision=revision, token=token, allow_patterns=SMALL))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        message = f"the model {model!r} is not a folder, and cannot be downloaded from the hub: {reason}"
        raise SpecError(message) from None
    return ModelFiles(full, snapshot, snapshot.name, token, layers)
