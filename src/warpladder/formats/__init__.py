"""Files in, files out: readers and writers that know formats and no algorithms.

A call knows one file for each kind of thing:

* `graphs`: `edges` from `edge_list`, `matrix_market`, `metis`, `dimacs`, `tntp`, `hochberg`,
  `parquet` and `arrays`; `labels` and `padded_ids` say what a vertex is called.
* `set_files`: `sets` from lines of text (`set_rows`, `set_lines`, `set_tables`, in bulk by
  `set_scanner`), JSON (`set_json`) and Parquet (`set_parquet`, `set_arrow`), put together by
  `set_builder`.
* `values`: numbers from `arrays`, `value_columns` and `value_parquet`.
* `pairs`: pairs of rows, out as `pair_text` or `pair_tables`.
* `distances`: matrices out, and back again.

What they share: `files` (bytes, unpacked), `text` (lines that know their numbers), `fields` (many
rows of one layout at once), `columns` (which are meant), `atomic` and `growing` (written whole or
not at all; by pieces that outlive a kill).
"""
