"""Declares the compiled kernels, which are all the .pyx files; everything else is in pyproject.toml.

Each kernel is optional: where no C compiler is found, the install still succeeds,
the plain Python definitions are used, and `karat doctor` reports it.
What Cython's kernels share is compiled once, as `karat.core._memoryview`. Kernels are kept in build/kernels:
another install compiles only those that changed.

For wheels, which others get, KARAT_WHEEL=1 says that every kernel has to compile, and for the stable ABI: one wheel of
a platform serves every CPython from 3.11. Free-threaded CPython is refused, because DuckDB has no build for it; kernels
are built there with KARAT_FREE_THREADED=1.
"""

import os
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path
from shutil import copy2

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORES = os.cpu_count() or 1
KEPT = Path("build", "kernels")
SHARED = "karat.core._memoryview"
WHEEL = bool(os.environ.get("KARAT_WHEEL"))
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
STABLE = WHEEL and not FREE_THREADED
FLAGS = {  # by the kind of compiler; Microsoft's has the same instructions by other names
    "unix": ["-O3", "-g0", "-ffp-contract=off"],
    "msvc": ["/O2", "/FIintrin.h", "/D__SSE2__", "/D__builtin_ctzll=_tzcnt_u64", "/D__builtin_popcountll=__popcnt64"],
}

if FREE_THREADED and not os.environ.get("KARAT_FREE_THREADED"):
    sys.exit(
        "karat is not for free-threaded CPython: DuckDB, which it needs, has no build without the interpreter's lock. "
        "Type python3.14 instead of python3.14t, or `uv venv --python 3.14+gil`. "
        "If you have built DuckDB yourself, set KARAT_FREE_THREADED=1."
    )


LARGEST_FIRST = sorted(Path("src").rglob("*.pyx"), key=lambda path: (-path.stat().st_size, path))


def kernel(path: Path) -> Extension:
    name = ".".join(path.with_suffix("").parts[1:])
    macros: list[tuple[str, str | None]] = [("Py_LIMITED_API", "0x030B0000")] if STABLE else []
    return Extension(name, [path.as_posix()], define_macros=macros, py_limited_api=STABLE)


class Build(build_ext):
    """Takes a kernel that was made of the same from those that are kept."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.force, self.parallel = True, CORES

    def build_extension(self, ext: Extension) -> None:
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        settings = sys.version, ext.extra_compile_args, *map(os.environ.get, ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS"))
        made_of = sha256(repr(settings).encode() + b"".join(Path(source).read_bytes() for source in ext.sources))
        built = Path(self.get_ext_fullpath(ext.name))
        kept = KEPT / made_of.hexdigest()[:16] / built.name
        if kept.exists():
            built.parent.mkdir(parents=True, exist_ok=True)
            copy2(kept, built)
            return
        super().build_extension(ext)
        kept.parent.mkdir(parents=True, exist_ok=True)
        copy2(built, kept)


if __name__ == "__main__":  # Cython's own processes import this file where they do not fork
    extensions = cythonize(
        [kernel(path) for path in (Path("src", *SHARED.split(".")).with_suffix(".c"), *LARGEST_FIRST)],
        nthreads=CORES,
        language_level=3,
        compiler_directives={"freethreading_compatible": True},  # kernels share nothing but tables, filled under a lock
        shared_utility_qualified_name=SHARED,
    )
    for extension in extensions:
        extension.optional = not WHEEL
    tag = {"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {}
    setup(ext_modules=extensions, cmdclass={"build_ext": Build}, options=tag)
