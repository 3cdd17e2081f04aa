"""Exercises: a rung's file with a hole in it, to be filled by whoever wants to learn.

Read `exercise` (what one is, and how the copy is made of the rung's own file), then `attempt` (how
what a learner made of it is judged); the exercises themselves stand in a file for each ladder.
"""
