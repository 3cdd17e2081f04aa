"""Numba's front end: a kernel as typed IR, from either CUDA target."""
