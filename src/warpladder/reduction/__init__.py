"""Reduction: one number from all elements of an array, by an associative operation.

Read in this order: `api` (the call), `intake` and `chunks` (what comes in), `rules` (what each
operation is, for CPU and GPU), `ops` (what each accumulates, and what is made of it; a caller's own
is in `custom`), `memory` (where elements lie: any array as the rows of a matrix), `loops` (the
compiled loops over them) and `lines` (those over rows that lie across), `parts` (all of these
behind one face), `plan` (which of them answer a call), `passes` and `cpu` (who runs them over which
elements) or `gpu`, `answers` (what callers get). Smaller things stand beside these: numbers that
come first (`initial`), lists of numbers (`plain_lists`), what Python has no word for (`scalars`,
`quiet`), threads that stand by (`together`). Calls on arrays like one that was reduced before take
one of the `shortcuts`, on a GPU `ready`, and `prepare` makes such a call in advance.
"""
