"""Compiled kernels of metrics, in Cython: each equals a plain Python definition, which is the specification.

A module `NAME.pyx` with its stub `NAME.pyi` belongs to the module of `karat.metrics` that imports it; `tokens.pxd` is
compiled into each kernel. Metrics themselves and code that must run without a compiler are not here. Kernels take
numpy arrays over Arrow's memory and hold no state. Open `tokens.pxd` first.
"""
