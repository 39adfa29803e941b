"""Run trtexec and write a complete artifact set.

Imports the standard library and `artifacts/` only. `plan` turns options into argument lists, `process` runs one program and
streams its output, `verdict` judges the outcome, `run` does all of it in order. `machine` is the machine that measures;
`remote` is one over ssh.
"""

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
"""Precision options of trtexec. Defined here because the command line parser loads no other module of the package."""
