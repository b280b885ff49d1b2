"""Declares the compiled kernels; everything else is in pyproject.toml.

Each kernel is optional: where no C compiler is found the install still succeeds,
the plain Python definitions serve, and `karat doctor` says so.
"""

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = (
    "karat.adapters.haystack.kernel",
    "karat.adapters.phoenix.kernel",
    "karat.data.kernel",
    "karat.text.kernel",
    "karat.metrics.aligning",
    "karat.metrics.kernel",
    "karat.metrics.ranking",
    "karat.metrics.sequence",
)

extensions = cythonize(
    [
        Extension(
            name, [f"src/{name.replace('.', '/')}.pyx"], optional=True, extra_compile_args=["-O3", "-ffp-contract=off"]
        )
        for name in KERNELS
    ],
    language_level=3,
)
for extension in extensions:
    extension.optional = True

setup(ext_modules=extensions)
