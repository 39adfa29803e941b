"""Run trtexec and leave a complete artifact set: find it, plan the runs, follow them, judge, file the results.

Imports the standard library and `artifacts/` only. What runs where is kept apart: `plan` makes argument lists out of
options, `process` runs one program and streams its output, `verdict` judges the outcome, `run` does all of it in order.
`machine` is where it happens; `remote` is another one.
"""

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
"""Options of trtexec, here because the command line parser loads no other module of the package."""
