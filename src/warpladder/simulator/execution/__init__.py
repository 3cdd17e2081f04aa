"""How a program runs: a launch, batches of its threads, their barriers and accesses."""
