"""Terms of a session of ONNX Runtime."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

SESSION = Subject(
    "session",
    "ONNX Runtime session",
    "Overview; summary, report",
    "profile of the session: onnxruntime_profile__DATE.json",
    (
        Term("engines.session", "The session of ONNX Runtime that ran the engine; null without its profile."),
        Term("session.runs", "Runs that count; null if the profile has no events of runs."),
        Term("session.warmup_runs", "Runs that do not count: the first of several, which may build engines."),
        Term("session.run_ms", "Mean duration of a run."),
        Term("session.nodes", "Nodes that were called."),
        Term(
            "session.node_ms",
            "Sum of the times of all nodes per run, on the host; over the whole file without events of runs.",
        ),
        Term("session.providers", "Nodes by provider, most time first."),
        Term("session.engines", "Nodes that are engines of TensorRT, in the order of execution."),
        Term(
            "session.fallbacks",
            "Subgraphs outside of TensorRT: nodes that follow each other on one provider, without copies.",
        ),
        Term("operators.operator", "Operator of ONNX, or the name of a subgraph."),
        Term("operators.nodes", "Its nodes."),
        Term("session.copies", "Nodes that copy between host and device."),
        Term("session.copies_ms", "Time of these nodes per run."),
    ),
)
