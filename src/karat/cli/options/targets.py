"""Where a run can be published: which function of which adapter does it, and what `--set` may tell it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import click

TARGETS = {  # the function, and what its result is, {} being that
    "every-eval-ever": ("karat.adapters.every_eval_ever.write_record", None),
    "huggingface": ("karat.adapters.huggingface.write_results", None),
    "langfuse": ("karat.adapters.langfuse.send_scores", "{} scores sent"),
    "mlflow": ("karat.adapters.mlflow.log_run", "logged as the MLflow run {}"),
    "phoenix": ("karat.cli.options.phoenix.publish", "{} annotations logged"),
    "opentelemetry": ("karat.adapters.opentelemetry.send_results", "{} events sent"),
}


def publish_run(name: str, target: str, output: str | None, assignments: Iterable[str]) -> str:
    """Publish a run, and say what was done. `assignments`: `KEY=VALUE`, for what the target's function takes."""
    from karat.core.errors import did_you_mean  # noqa: PLC0415  (heavy)

    path, message = TARGETS[target]
    module, _, function = path.rpartition(".")
    publish = getattr(import_module(module), function)
    known = {key: each for key, each in signature(publish).parameters.items() if _is_setting(each)}
    if (message is None) != (output is not None):
        raise click.UsageError(
            f"--to {target} {'writes a file: -o FILE names it' if message is None else 'takes no -o'}"
        )
    settings: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if key not in known or not equals:
            expected = ", ".join(f"{each}=…" for each in known)
            raise click.UsageError(f"--set {text}: --to {target} takes {expected}{did_you_mean(key, known)}")
        settings[key] = value
    needed = [key for key, each in known.items() if each.default is Parameter.empty and key not in settings]
    if needed:
        raise click.UsageError(f"--to {target} needs {' '.join(f'--set {key}=…' for key in needed)}")
    done = publish(name, *([] if output is None else [output]), **settings)
    return f"written to {output}" if message is None else message.format(done)


def _is_setting(parameter: Parameter) -> bool:
    return parameter.kind is Parameter.KEYWORD_ONLY and parameter.name != "provider"
