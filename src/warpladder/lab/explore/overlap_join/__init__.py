"""What is asked about the overlap join: each exploration is one file of its name."""
