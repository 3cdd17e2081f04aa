"""What the functions that Numba knows do: CUDA's, Python's and those of arrays."""
