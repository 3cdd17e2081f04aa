"""The rungs of the shortest-paths ladder, one file each; `_tasks` and `_launching` serve them."""
