"""The laboratory: rungs are stated, verified, counted, timed and explained here."""
