"""Compiled kernels of metrics, in Cython: each equals a plain Python definition, which is the specification.

They take numpy arrays over Arrow's memory and hold no state; each is for the module that imports it. Code that must run
without a compiler is not here. Open `tokens.pxd`, which is compiled into each kernel, first.
"""
