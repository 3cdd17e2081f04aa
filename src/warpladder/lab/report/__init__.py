"""The report: what there is to know of this machine and of the ladders, as one file to read.

`examine` runs a rung or an exploration and keeps what came out as plain values; `gather` has that
done for all and puts it into one document, which is the JSON and all that the page is made from;
`page` fills the templates. What these take from there: `prose` (docstrings), `listings` (source
with counters beside it), `figures` (plots as SVG in the page's colours).
"""
