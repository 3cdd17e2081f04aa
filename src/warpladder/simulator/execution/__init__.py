"""How a program runs.

Read `launch`, `scheduler` (which blocks run when), `batch` (how their threads step) over its
`state`, `barriers` and `spinning` (who waits); `frame`, `access` and `atomics` (what operations do
to memory); `arguments`, `arrays` and `limits` (what a caller gives).
"""
