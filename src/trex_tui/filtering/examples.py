"""The language by example: what the help of the explorer and of `trex-tui layers` shows."""

from __future__ import annotations

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("conv -relu", "names with conv and without relu, in any case"),
    ("kind:gemm,convolution pct>2", "one of these kinds, and more than 2 % of the time"),
    ("(bound:launch or ms<10us) not stream:0", "and is what stands between; or; not; parentheses"),
    ('name~"layer1\\..*conv" io>=4Mi', "a regular expression; sizes in k M G Ki Mi Gi, times in us ms s"),
    ("tactic:*xmma* weights:none", "* stands for any text; none for a missing value, * alone for any value"),
    ('"a (b)" precision!=int8', "quotes take text as it is; comparisons are : = != < <= > >= ~"),
)
"""Expression, and what it says. The first four are the most telling."""
