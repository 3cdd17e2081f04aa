"""What `warpladder new` writes: files that work as they stand, here and in the learner's folder."""
