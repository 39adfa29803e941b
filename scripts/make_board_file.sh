#!/bin/sh
# Makes trex-tui as a single file for any machine with Python 3.10 or later, with pip and shiv:
#
#   scripts/make_board_file.sh dist/trex_tui-*.whl trex-tui.pyz
#
# Without numpy, pandas and networkx, which are compiled and 177 MB: see docs/jetson.md for what needs them.
set -eu
wheel=$1
out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install --quiet --no-deps --target "$work/site" "$wheel"
# Pure wheels alone, those for Python 3.10 too, which needs tomli.
python3 - "$work/site" >"$work/requirements.txt" <<'END'
import pathlib, re, sys

(metadata,) = pathlib.Path(sys.argv[1]).glob("trex_tui-*.dist-info/METADATA")
for line in metadata.read_text(encoding="utf-8").splitlines():
    if line.startswith("Requires-Dist: ") and "extra ==" not in line:
        requirement = line.removeprefix("Requires-Dist: ").partition(";")[0].strip()
        if re.match(r"[\w-]+", requirement)[0] not in ("numpy", "pandas", "networkx"):
            print(requirement)
END
python3 -m pip install --quiet --target "$work/site" --only-binary=:all: --platform any --implementation py \
    --python-version 3.10 --requirement "$work/requirements.txt"
shiv --console-script trex-tui --compressed --python '/usr/bin/env python3' --site-packages "$work/site" --output-file "$out"
