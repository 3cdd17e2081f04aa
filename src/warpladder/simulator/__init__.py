"""The simulated GPU."""
