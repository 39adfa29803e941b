"""Run trtexec and leave a complete artifact set: find it, plan the runs, watch, judge, file the results.

Imports the standard library and `artifacts/` only. What runs where is kept apart: `plan` makes argument lists out of options,
`run` starts one process and streams its output, `judge` reads the outcome; a remote capture replaces `run` alone.
"""
