"""The abstract machine: programs and how one is built, threads, memory, values."""
