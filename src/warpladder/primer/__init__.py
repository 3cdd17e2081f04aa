"""The primer ladder: the ideas that every other ladder rests on, one small kernel each."""
