"""What is said about a copy: the terminal takes it over OSC 52, and does not tell whether it did."""

from __future__ import annotations

from collections.abc import Mapping

MOST_BYTES = 74_994
"""As much as several terminals take at once: 100 000 bytes of escape sequence, base64 in it."""


def copied_words(what: str, text: str, environ: Mapping[str, str]) -> str:
    """What was copied, and what may keep it from arriving.

    Args:
        what: `name of /conv1`, `3 layers as JSON`.
        text: What was copied.
        environ: The environment, which tells of tmux and screen.
    """
    sentences = [f"Copied the {what}."]
    if environ.get("TMUX"):
        sentences.append("tmux passes it on to the clipboard with: set -g set-clipboard on")
    elif environ.get("STY"):
        sentences.append("GNU screen does not pass it on to the clipboard.")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        sentences.append(f"{size // 1000} kB are more than many terminals take; e exports to a file.")
    return " ".join(sentences)
