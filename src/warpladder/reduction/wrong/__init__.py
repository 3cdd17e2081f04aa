"""Deliberately broken kernels of the reduction ladder; the simulator must catch each one."""
