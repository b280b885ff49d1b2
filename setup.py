"""Declares the compiled kernels, which are all the .pyx files; everything else is in pyproject.toml.

Each kernel is optional: where no C compiler is found, the install still succeeds,
the plain Python definitions are used, and `karat doctor` reports it.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

extensions = cythonize(
    [
        Extension(
            ".".join(path.with_suffix("").parts[1:]),
            [path.as_posix()],
            optional=True,
            extra_compile_args=["-O3", "-g0", "-ffp-contract=off"],
        )
        for path in sorted(Path("src").rglob("*.pyx"))
    ],
    language_level=3,
)
for extension in extensions:
    extension.optional = True

setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count() or 1}})
