"""Answers to the questions with which rungs end: a file for each ladder, in the ladder's order."""
