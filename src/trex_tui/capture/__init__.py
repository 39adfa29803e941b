"""Build and measure an engine with trtexec, or with TensorRT's Python API, and write a complete set of its files.

Runs on the board: neither pandas nor networkx is imported here, `outputs` alone imports numpy. `plan` turns options into
commands, `process` runs one, `verdict` judges it, `run` does all of it in order; `remote` is a machine over ssh, `builder`
is the program that stands in for trtexec where TensorRT has none.
"""
