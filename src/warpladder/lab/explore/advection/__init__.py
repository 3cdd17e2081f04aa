"""What is asked about advection: each exploration is one file of its name."""
