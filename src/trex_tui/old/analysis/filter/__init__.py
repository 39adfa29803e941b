r"""The filter language: one line of text that selects layers, in the explorer and on the command line.

    conv -reformat                     names have the word `conv`, and not `reformat`
    kind:gemm,convolution ms>50us      columns: any of several values; numbers with units
    tactic:xmma name=/fc/Gemm          a part of free text; the whole text
    (bound:bandwidth or roof<20) name~"layer1\..*conv"

`parser` turns text into expressions, `selection` finds the layers, `completion` suggests what to type next. The parser is
written by hand: with lark, `layers --filter` would start 48 ms later (36 ms for the import, 12 ms for the grammar); `parser`
takes 2 ms.
"""

from trex_tui.old.analysis.filter.parser import (
    MOST_CHARACTERS,
    Expression,
    FilterColumn,
    FilterError,
    format_indices,
    format_operand,
    join_filters,
    parse,
    parse_with,
    unparse,
)
from trex_tui.old.analysis.filter.selection import (
    EXAMPLES,
    Completion,
    complete,
    describe_no_match,
    filter_engines,
    filter_layers,
    plain_value,
    select,
    select_rows,
)

__all__ = [
    "EXAMPLES",
    "MOST_CHARACTERS",
    "Completion",
    "Expression",
    "FilterColumn",
    "FilterError",
    "complete",
    "describe_no_match",
    "filter_engines",
    "filter_layers",
    "format_indices",
    "format_operand",
    "join_filters",
    "parse",
    "parse_with",
    "plain_value",
    "select",
    "select_rows",
    "unparse",
]
