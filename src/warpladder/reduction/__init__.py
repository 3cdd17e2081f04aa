"""Reduction: one number from all elements of an array, by an associative operation."""
