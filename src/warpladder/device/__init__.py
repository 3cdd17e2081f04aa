"""The hardware: what is there, and how work is started on it."""
