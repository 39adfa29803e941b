"""Build backend: hatchling, behind a check of the Python version.

Every pip shows the sentence: up to pip 18 it runs this file, later it imports the module that pyproject.toml names. Without
it an old pip reports versions of hatchling.
"""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - it runs before pip reads requires-python
    sys.exit("trex-tui needs Python 3.10 or later")

from hatchling.build import *  # noqa: F403
