"""The abstract machine: what a program is made of and what it works on.

Read `program` (blocks of operations), `values` (uniform or varying), `memory` (buffers and views),
`lanes` (who the threads are), then `builder`, with which a program is made.
"""
