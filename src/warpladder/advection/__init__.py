"""Advection: an explicit solver for ``phi_t + u phi_x = 0`` that takes many steps per pass.

To read it: `forms` has the formula that every engine computes, `limiters` the slopes and `plain`
the plain loop. The engine for CPUs (`cpu`) cuts cells into tiles and deals these out (`passes`); a
tile is in `tiles`, a row too short for one in `rows`, and the innermost loops of both, steps in
vector registers, in `vectors`, of the arithmetic in `emitter`. The engine for GPUs is in `gpu`,
with kernels in `gpu_tiles` that the top of the ladder runs, too.
`schemes` says which weights a scheme has and up to which speed it is stable, `boundaries` what lies
beyond the ends, `course` how velocity, dx, dt and the Courant number go together. `prepared` puts
them together and chooses an engine, `running` runs it from snapshot to snapshot, `snapshots` and
`stored` write and read these. `jump` takes all steps at once. `api` is the call, `result` what it
returns, with `exact`, `refinement` and `figures` behind it.
"""
