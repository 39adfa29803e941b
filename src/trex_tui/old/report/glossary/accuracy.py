"""Terms of the comparison of outputs."""

from __future__ import annotations

from trex_tui.old.accuracy.metrics import GATE_METRICS
from trex_tui.old.report.glossary.term import Subject, Term

_TABLES = ("differences", "likeness")


def _measure(key: str, definition: str, *labels: str, formula: str = "", unit: str | None = None) -> Term:
    also = tuple(f"{table}.{key}" for table in _TABLES)
    gates = [key] if key in GATE_METRICS.names else []
    return Term(
        f"outputs.{key}", definition, also=also, labels=labels, gates=gates, formula=formula, unit=unit
    )


ACCURACY = Subject(
    "accuracy",
    "Accuracy",
    "accuracy; diff and report",
    "outputs of both sides, element by element, over all samples; r is the reference, t the test",
    (
        *(
            term
            for side, what in (
                ("reference", "The reference side."),
                ("test", "The side that is judged."),
            )
            for term in (
                Term(f"accuracy.{side}", what, also=(f"accuracy-samples.{side}", f"against_onnx.*.{side}")),
                *(
                    Term(f"{side}.{key}", text)
                    for key, text in (
                        ("kind", "engine or onnx."),
                        ("path", "File of the side."),
                        ("bytes", "Size of the file."),
                        ("sha256", "Digest of the file."),
                        ("trtexec", "trtexec that ran the engine."),
                        ("trtexec_version", "Version of that trtexec."),
                        ("onnxruntime_version", "Version of onnxruntime."),
                    )
                ),
            )
        ),
        Term(
            "accuracy.against_onnx",
            "Comparison of an engine with an ONNX model, as this document; absent unless a model is given.",
            entries="sides that are engines",
        ),
        Term("accuracy.inputs", "Inputs of both sides.", also=("against_onnx.*.inputs",)),
        Term("accuracy.inputs.kind", "random or files.", also=("against_onnx.*.inputs.kind",)),
        Term("inputs.samples", "Number of samples."),
        Term("inputs.seed", "Seed of random inputs."),
        Term("inputs.ranges", "Smallest and largest random value of each input.", entries="inputs"),
        Term("inputs.origin", "Files named on the command line."),
        Term("inputs.tensors", "The inputs."),
        Term("inputs.tensors.shape", "Shape of the input."),
        Term("inputs.tensors.dtype", "Type of its elements."),
        Term(
            "tensors.dtype_reference", "Type on the side of the reference.", also=("outputs.dtype_reference",)
        ),
        Term("tensors.dtype_test", "Type on the side of the test.", also=("outputs.dtype_test",)),
        Term("settings", "Settings of the comparison."),
        Term("settings.rtol", "Relative tolerance; null without --rtol."),
        Term("settings.atol", "Absolute tolerance; null without --atol."),
        Term("argmax_axis", "Axis of the classes; null to choose it by the shape."),
        Term("settings.profile_index", "Optimization profile of the runs."),
        Term(
            "accuracy.outputs", "Measures of each output, over all samples.", also=("against_onnx.*.outputs",)
        ),
        _measure("output", "Name of the output."),
        _measure("types", "Type on the side of the reference, and of the test."),
        Term("outputs.samples", "Samples compared."),
        _measure("elements", "Elements of the output over all samples."),
        Term("outputs.compared", "Elements that are finite on both sides; means are over these."),
        *(
            Term(f"outputs.{kind}_{side}", f"Elements of the {side} that are {word}.")
            for kind, word in (("nan", "NaN"), ("inf", "infinite"))
            for side in ("reference", "test")
        ),
        Term(
            "nonfinite_mismatch",
            "Elements that are NaN or infinite on one side and something else on the other.",
        ),
        _measure("mae", "Mean absolute error.", "MAE", formula="mean |t − r|", unit="as the output"),
        _measure(
            "max_abs", "Largest absolute error.", "max |d|", formula="max |t − r|", unit="as the output"
        ),
        _measure("rmse", "Root mean square error.", "RMSE", formula="√ mean (t − r)²", unit="as the output"),
        _measure(
            "max_rel", "Largest relative error, where r is not 0.", "max rel", formula="max |t − r| / |r|"
        ),
        _measure(
            "mean_rel", "Mean relative error, where r is not 0.", "mean rel", formula="mean |t − r| / |r|"
        ),
        _measure("cosine", "Cosine similarity: 1 for the same direction.", formula="Σ r·t / (‖r‖ · ‖t‖)"),
        _measure(
            "sqnr_db",
            "Signal to quantization noise ratio; higher is better, infinite for equal outputs.",
            "SQNR dB",
            formula="10 · log₁₀(Σ r² / Σ (t − r)²)",
        ),
        Term("outputs.outside", "Elements beyond the tolerance.", formula="|t − r| > atol + rtol · |r|"),
        Term("zero_reference", "Elements whose reference is 0; excluded from relative errors."),
        Term("argmax_rows", "Positions of which the largest class is compared."),
        _measure(
            "argmax_agreement_pct",
            "Positions at which both sides have the same largest class.",
            "argmax %",
            formula="100 · agreeing / argmax_rows",
        ),
        Term("outputs.reasons", "Why a measure is null.", entries="measures"),
        Term("gates.output", "Name of the output."),
        Term(
            "accuracy.gates",
            "Gates of --fail-on, --rtol and --atol, and their outcome.",
            labels=("Accuracy gates",),
            also=("against_onnx.*.gates",),
        ),
        Term(
            "accuracy.passed", "True if all gates held; null without gates.", also=("against_onnx.*.passed",)
        ),
        Term("accuracy-sample.sample", "Number of the sample, from 0."),
        *(
            Term(f"accuracy-sample.{part}", f"Tensors that are {what}.")
            for part, what in (
                ("inputs", "the inputs of both sides"),
                ("reference", "the outputs of the reference"),
                ("test", "the outputs of the test"),
            )
        ),
        *(
            Term(
                f"accuracy-sample.inputs.{key}",
                text,
                also=tuple(f"accuracy-sample.{side}.{key}" for side in ("reference", "test")),
            )
            for key, text in (
                ("file", "File of the tensor, in the same directory."),
                ("dtype", "Type of the elements in the file."),
                ("shape", "Shape of the tensor."),
            )
        ),
        Term("accuracy-samples.samples", "Results by sample."),
        Term("samples.sample", "Number of the sample, from 0."),
        Term("samples.directory", "Directory of its tensors; null if they were not kept."),
        Term("samples.outputs", "Measures of the sample's outputs.", is_verbatim=True),
    ),
)
