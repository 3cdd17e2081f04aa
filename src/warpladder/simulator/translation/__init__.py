"""From typed IR to a program."""
