"""Pictures of rungs, drawn from what the simulator recorded while their kernels ran.

`scene` runs a rung and keeps what happened; `style` has what all pictures look like; every other
file draws one kind. `registry` lists the kinds, and says which of them a rung has.
"""
