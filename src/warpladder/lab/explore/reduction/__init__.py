"""What is asked about reductions: each exploration is one file of its name."""
