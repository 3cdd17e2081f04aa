"""Advection: an explicit solver for ``phi_t + u phi_x = 0`` that takes many steps per pass."""
