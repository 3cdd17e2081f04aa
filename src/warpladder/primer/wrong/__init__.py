"""Deliberately broken kernels, and the check that must catch each."""
