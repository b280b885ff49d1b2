"""``karat doctor``: what is installed, compiled and missing, and how to install it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from karat.core.version import __version__

MEND = (
    "Install a C compiler (Debian: apt install gcc python3-dev; macOS: xcode-select --install), "
    "then pip install --force-reinstall --no-deps karat"
)


@click.command()
def doctor() -> None:
    """Show what is installed, compiled and missing, and how to install it.

    \b
    karat doctor
    karat doctor | grep "^--"
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)

    screen = open_screen()
    for mark, line in _examine():
        screen.line(f"{mark}  {line}")


def _examine() -> Iterator[tuple[str, str]]:
    """For each thing examined a mark, `ok` or `--` for what can be mended, and a line."""
    import platform  # noqa: PLC0415
    import unicodedata  # noqa: PLC0415

    from karat.core.metric.registry import all_metrics  # noqa: PLC0415
    from karat.core.parallel import threads  # noqa: PLC0415
    from karat.core.plugins import compiled_kernels, load_plugins  # noqa: PLC0415
    from karat.models.encoders.open import describe_backend  # noqa: PLC0415

    yield "ok", f"karat {__version__} in {sys.prefix}"
    yield "ok", f"Python {platform.python_version()}, Unicode {unicodedata.unidata_version}, {platform.platform()}"
    yield "ok", f"{threads()} threads (KARAT_THREADS bounds them)"
    for name, compiled in compiled_kernels().items():
        slow = f"{name} is not compiled: scores are the same, but slower. {MEND}"
        yield ("ok", f"{name} is compiled") if compiled else ("--", slow)
    yield "ok", f"{len(all_metrics())} metrics"
    line = describe_backend()
    yield "--" if "nothing to run" in line else "ok", line
    for point, failure in load_plugins().items():
        yield "--", f"plugin {point} does not load: {failure}"
    yield from _requirements()


def _requirements() -> Iterator[tuple[str, str]]:
    """A line for each package that karat needs, and for each that extras need, with the names of these extras."""
    from importlib.metadata import PackageNotFoundError, requires, version  # noqa: PLC0415
    from re import match  # noqa: PLC0415

    extras: dict[str, list[str]] = {}
    try:
        lines = requires("karat") or []
    except PackageNotFoundError:
        yield "--", "karat is not installed as a package: pip install karat"
        return
    for line in lines:
        requirement, _, condition = line.partition(";")
        name = (match(r"[\w.-]+", requirement) or [""])[0]
        extra = (match(r".*extra == ['\"]([\w-]+)['\"]", condition) or ["", ""])[1]
        if extra not in ("all", "test") and name != "karat":
            extras.setdefault(name, []).extend([extra] if extra else [])
    for name, names in extras.items():
        try:
            yield "ok", f"{name} {version(name)}" + (f" ({', '.join(names)})" if names else "")
        except PackageNotFoundError:
            mend = f", for {', '.join(names)}: pip install 'karat[{names[0]}]'" if names else ": reinstall karat"
            yield "--", f"{name} is missing{mend}"
