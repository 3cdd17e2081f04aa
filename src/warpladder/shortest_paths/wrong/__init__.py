"""Wrong rungs of the shortest-paths ladder: each breaks a rule, and a check must catch it."""
