"""Write the parts of docs/ that are made from the program: lint rules, keys, metrics of gates.

    python scripts/make_docs.py           write them
    python scripts/make_docs.py --check   exit 1 where one is not what the program says

A made part stands between `<!-- made: NAME -->` and `<!-- /made -->`; all around it is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from lint_rules_page import rules_markdown
from trex_tui.widgets.actions import keys_table

DOCS = Path(__file__).resolve().parent.parent / "docs"
_MADE = re.compile(r"(<!-- made: (?P<name>[\w ,.-]+) -->\n)(?P<body>.*?)(<!-- /made -->)", re.DOTALL)


def keys_markdown() -> str:
    """Return a table of keys for each place."""
    return "\n".join(_keys_lines()) + "\n\n"


def _keys_lines() -> Iterator[str]:
    last = ""
    for heading, keys, tooltip in keys_table():
        if heading != last:
            yield from ("", f"### {heading}", "", "| keys | |", "|---|---|")
        last = heading
        escaped = keys.replace("|", "\\|")
        yield f"| `{escaped}` | {tooltip} |"


PARTS: dict[str, Callable[[], str]] = {"lint-rules": rules_markdown, "keys": keys_markdown}


def renew(text: str) -> str:
    """Return a document with its made parts as the program is now.

    Raises:
        KeyError: There is no part of such a name.
    """
    return _MADE.sub(lambda found: f"{found[1]}{PARTS[found['name']]()}{found[4]}", text)


def main() -> int:
    """Write the pages, or compare them."""
    is_check = sys.argv[1:] == ["--check"]
    outdated = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := renew(text)) != text:
            outdated.append(page.name)
            if not is_check:
                page.write_text(new, encoding="utf-8")
    if outdated:
        print(", ".join(outdated))
    return int(is_check and bool(outdated))


if __name__ == "__main__":
    sys.exit(main())
