"""Rows that share ids, exactly and at scale: which rows have at least so many of them in common.

In which order to read it: what comes in (`intake`), how its ids are counted (`frequencies`) and
coded (`coding`, `sorting`) into what the engines take (`forms`, or `uncoded`), which pairs count
(`measures`), what is decided before any work (`occurring`, `plan`, `sample`, `prepared`); the
engine for the CPU (`cpu`, with its indexes from `index` or `listing`, and its compiled loops in
`counting`, `slicing`, `gathering` and `prefixes`) and the one for GPUs (`gpu/`); what comes out
(`result`), all of it behind one call (`api`); answers too large for memory, in parts that outlive a
kill (`stored`). The ladder is in `ladder`.
"""
