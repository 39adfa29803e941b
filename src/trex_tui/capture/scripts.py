"""Scripts for the machine that measures, local or remote: POSIX sh only, each on one line.

busybox rejects `kill -s TERM -- -1`, though POSIX allows it, hence `kill -TERM -1`; ksh adds 256 to a signal, others 128. The
first argument of every script is a random word that marks its own output: no program can print it by chance or by intent.

A capture over ssh owns one directory there, as long as `KEEP` runs. Every other script enters it first and writes below `.`
only, so that nothing is created again after `KEEP` has deleted it.
"""

from __future__ import annotations

from typing import Final

_END: Final = (
    # Ends a group (or a process, without setsid): SIGTERM first, SIGKILL after $g tenths of a second.
    'end() { kill -TERM "$1" 2>/dev/null || return 1; n=0; '
    'while kill -0 "$1" 2>/dev/null && [ "$n" -lt "$g" ]; do '
    "n=$((n + 1)); sleep 0.1 2>/dev/null || { sleep 1; n=$((n + 9)); }; done; "
    'kill -KILL "$1" 2>/dev/null; }; '
)
KEEP: Final = (
    # word grace name. Makes the directory and prints its path; deletes everything when its input ends. Directories of
    # keepers that were killed are deleted first.
    "umask 077; trap '' HUP INT TERM PIPE QUIT; t=$1 g=$2; "
    + _END
    + 'case ${TMPDIR-} in /*) d=$TMPDIR;; *) d=/tmp;; esac; h=$(uname -n); for x in "$d"/trex-tui.*; do k= o=; '
    '[ ! -h "$x" ] && [ -f "$x/keeper" ] && read -r k o 2>/dev/null <"$x/keeper" && [ -n "$k" ] && [ "$o" = "$h" ] && '
    '! kill -0 "$k" 2>/dev/null && rm -rf "$x" 2>/dev/null; done; d=$d/trex-tui.$3; mkdir "$d" && '
    'printf "%s %s\\n" "$$" "$h" >"$d/keeper" || exit 1; '
    'printf "%s\\n%s\\n%s\\n" "$t" "$d" "$t"; exec >/dev/null 2>&1; while read -r x; do :; done; '
    ': >"$d/over"; if [ -f "$d/pid" ] && read -r p <"$d/pid"; then end "$p"; fi; '
    'n=0; while rm -rf "$d"; [ -e "$d" ] && [ "$n" -lt 20 ]; do n=$((n + 1)); sleep 1; done; [ ! -e "$d" ]'
)
_ENTER: Final = (
    # Enters the directory $2, unless its keeper has gone.
    'cd "$2" && [ ! -e over ] || { echo "$2 was deleted: the connection that keeps it was lost" >&2; exit 1; }; '
)
RUN: Final = (
    # word directory grace command…. Output of the command as one stream, without messages of the shell (`Killed`). The
    # end of the input ends the command. The last line is `word exit-code left`; left is 1 if children remained, which are
    # ended. There is no last line if the connection that holds the directory was lost.
    "umask 077; " + _ENTER + "t=$1 g=$3; shift 3; " + _END + "exec 3<&0 </dev/null 2>/dev/null; "
    'if command -v setsid >/dev/null; then setsid "$@" 3<&- 2>&1 & p=$! e=-$p; else "$@" 3<&- 2>&1 & p=$! e=$p; fi; '
    '{ printf "%s\\n" "$e" >pid && [ ! -e over ]; } || { end "$e" || end "$p"; exit 1; }; '
    '( while read -r x <&3; do :; done; end "$e" || end "$p" ) >/dev/null 2>&1 & w=$!; exec 3<&-; '
    'wait "$p"; r=$?; [ "$r" -lt 256 ] || r=$((r - 128)); kill -KILL "$w" 2>/dev/null; wait "$w" 2>/dev/null; l=0; '
    'if kill -0 "$e" 2>/dev/null; then l=1; end "$e"; fi; rm -f pid; '
    '[ -e keeper ] && [ ! -e over ] || exit 1; printf "%s %s %s\\n" "$t" "$r" "$l"; exit 0'
)
MAKE: Final = (
    # word directory folder…: makes the folders in it; prints the free space there.
    "umask 077; " + _ENTER + 'shift 2; for f in "$@"; do mkdir -p "./$f" || exit 1; done; '
    "df -Pk . 2>/dev/null; exit 0"
)
SEND: Final = (
    # word directory folder file: writes standard input there; prints its size.
    "umask 077; " + _ENTER + 'mkdir -p "./$3" && cat >"./$3/$4" && wc -c <"./$3/$4"'
)
FETCH: Final = (
    # word file…: for each its size and its bytes, or `-`.
    'shift; for f in "$@"; do if [ -f "$f" ]; then wc -c <"$f" && cat "$f" || exit 1; else echo -; fi; done'
)
ENGINE: Final = (
    # word file bytes: size, the digest if a program there computes it, and the head of an engine.
    '[ -f "$2" ] || { echo -; exit 0; }; wc -c <"$2"; '
    'h=$({ sha256sum <"$2" || shasum -a 256 <"$2" || openssl dgst -sha256 -r <"$2"; } 2>/dev/null); '
    'echo "${h%% *}."; dd if="$2" bs="$3" count=1 2>/dev/null'
)
_WITHIN: Final = (
    'within() { s=$1; shift; if command -v timeout >/dev/null; then timeout -s KILL "$s" "$@"; '
    'else "$@"; fi </dev/null 2>&1; }; '
)
FIND: Final = (
    # word given others. For each trtexec up to the first that responds as such: `word by`, its path, `word help`, its
    # output, `word code`, its exit code. If `others` is not empty also those that come after it, which are not run: `word
    # other`, the path.
    _WITHIN + "t=$1 f=$2 l=${3-} u=; "
    'try() { [ -f "$1" ] && [ -x "$1" ] || return 0; if [ -n "$u" ]; then '
    '[ "$1" -ef "$u" ] 2>/dev/null || printf "\\n%s other\\n%s\\n" "$t" "$1"; return 0; fi; '
    'printf "\\n%s %s\\n%s\\n%s help\\n" "$t" "$2" "$1" "$t"; '
    'o=$(within 120 "$1" --help); c=$?; printf "%s\\n\\n%s code\\n%s\\n" "$o" "$t" "$c"; '
    "case $o in *'&&&& '*) u=$1; [ -n \"$l\" ] || exit 0;; esac; }; "
    'if [ -n "$f" ] || [ -n "${TRTEXEC-}" ]; then b=--trtexec; [ -n "$f" ] || { b=\'$TRTEXEC\'; f=$TRTEXEC; }; '
    "case $f in '~'/*) f=$HOME/${f#??};; /*) ;; */*) f=$PWD/$f;; "
    '*) if [ -e "$f" ]; then f=$PWD/$f; else f=$(command -v "$f"); fi;; esac; '
    '[ ! -d "$f" ] || if [ -e "$f/tensorrt_rtx" ] && [ ! -e "$f/trtexec" ]; then f=$f/tensorrt_rtx; else f=$f/trtexec; fi; '
    'try "$f" "$b"; [ -n "$u" ] || exit 0; fi; '
    'p=$(command -v trtexec); case $p in /*) try "$p" PATH;; esac; '
    "for x in /usr/src/tensorrt/bin /opt/tensorrt/bin /usr/local/tensorrt/bin /workspace/tensorrt/bin "
    '"${TENSORRT_ROOT:-/nowhere}/bin" "${TRT_ROOT:-/nowhere}/bin" "${TENSORRT_DIR:-/nowhere}/bin"; '
    'do try "$x/trtexec" "$x"; done; '
    # The newest first: by the numbers in the name, since 10.16 comes after 8.6.
    'for x in /usr/local/TensorRT-*/bin /opt/TensorRT-*/bin "$HOME"/TensorRT-*/bin; do '
    'v=${x%/bin}; [ ! -f "$x/trtexec" ] || printf "%s.0.0.0 %s\\n" "${v##*/TensorRT-}" "$x"; done | '
    'sort -t. -k1,1nr -k2,2nr -k3,3nr | { while read -r v x; do try "$x/trtexec" "$x"; done; '
    'p=$(command -v tensorrt_rtx); case $p in /*) try "$p" PATH;; esac; '
    'for x in /usr/local/TensorRT-RTX-*/bin /opt/TensorRT-RTX-*/bin "$HOME"/TensorRT-RTX-*/bin; do '
    'try "$x/tensorrt_rtx" "$x"; done; }; exit 0'
)
PROBE: Final = (
    # word root environment directory all-fields group…: `word kind name`, then the text. `environment` is not empty if the
    # part for doctor is wanted; without a directory that is the one of temporary files, where a capture over ssh works.
    # Programs that this script uses are found whatever PATH is; programs that it searches for only on PATH, and in $2.
    _WITHIN + "t=$1 r=${2%/} e=$3 d=$4 q=$5; shift 5; p=$PATH; PATH=$PATH:/usr/bin:/bin; "
    'say() { printf "\\n%s %s\\n" "$t" "$*"; }; where() { PATH=$p${2-} command -v "$1"; }; '
    # `word kind name`, the exit code, and the output of the program.
    'answer() { say "$1"; shift; o=$(within 10 "$@"); c=$?; printf "%s\\n%s\\n" "$c" "$o"; }; '
    "say uname release; uname -r; say uname machine; uname -m; "
    '( cd "$r/" && for f in .dockerenv run/.containerenv proc/1/cgroup etc/nv_tegra_release proc/device-tree/compatible '
    "proc/device-tree/model proc/meminfo sys/class/devfreq/*/device/of_node/name sys/class/devfreq/*/cur_freq "
    "sys/class/devfreq/*/min_freq sys/class/devfreq/*/max_freq sys/class/devfreq/*/governor "
    "sys/class/thermal/thermal_zone*/type sys/class/thermal/thermal_zone*/temp sys/class/hwmon/hwmon*/name "
    "sys/class/hwmon/hwmon*/oc*_event_cnt proc/self/status proc/uptime; "
    'do [ -f "$f" ] && [ -r "$f" ] && { say file "$f"; cat "$f" 2>/dev/null; }; done ); '
    'say program nvidia-smi; if x=$(where nvidia-smi); then printf %s "$x"; '
    'smi() { answer "smi $1" "$x" "--query-gpu=$1" --format=csv,noheader,nounits; }; '
    'smi "$q"; case $c in 0|14) ;; *) for g in "$@"; do smi "$g"; done;; esac; fi; '
    'if x=$(where nvpmodel ":$r/usr/sbin"); then say program nvpmodel; printf %s "$x"; answer nvpmodel "$x" -q; fi; '
    '[ -n "$e" ] || exit 0; ( cd "$r/" || exit; '
    'for f in dev/nvidiactl dev/nvidia0 dev/nvmap dev/dxg; do if [ -e "$f" ] || [ -h "$f" ]; then '
    'say device "/$f"; [ ! -r "$f" ] || echo r; [ ! -w "$f" ] || echo w; fi; done; '
    "for f in etc/systemd/system/default.target usr/lib/systemd/system/default.target; do "
    '[ ! -h "$f" ] || { say link "$f"; readlink "$f"; }; done ); '
    'say program tegrastats; where tegrastats ":$r/usr/bin"; '
    'if x=$(where dpkg-query); then say program dpkg-query; printf %s "$x"; '
    'answer dpkg-query "$x" -W -f="\\${Package} \\${Version}\\n" "libnvinfer*"; fi; '
    'say env LD_LIBRARY_PATH; printf "%s\\n" "${LD_LIBRARY_PATH-}"; '
    '[ -n "$d" ] || case ${TMPDIR-} in /*) d=$TMPDIR;; *) d=/tmp;; esac; say disk wanted; printf %s "$d"; '
    'while [ ! -e "$d" ] && [ ! -h "$d" ]; do d=${d%/*}; d=${d:-/}; done; say disk existing; printf %s "$d"; '
    'if [ -d "$d" ]; then say disk directory; [ ! -w "$d" ] || [ ! -x "$d" ] || say disk writable; fi; '
    'answer df df -Pk "$d"; exit 0'
)
SMI: Final = (
    # word argument…: `word`, the variables that choose GPUs, the path of nvidia-smi (empty: not found), and its output.
    _WITHIN
    + 't=$1; shift; printf "\\n%s\\n%s\\n%s\\n%s\\n" "$t" "${CUDA_VISIBLE_DEVICES-}" "${CUDA_DEVICE_ORDER-}" '
    '"$(command -v nvidia-smi)"; [ "$#" = 0 ] || within 30 nvidia-smi "$@"; exit 0'
)
HOLD: Final = (
    # word gpu option value said restore…. Changes a setting and prints the answer between two lines `word`; if it contains
    # `said`, the setting is restored when the input ends: then the answer, and `word code`. The inner process does all this;
    # the outer one restores if the inner one is killed. Both ignore signals, as nvidia-smi does then.
    "trap '' HUP INT TERM PIPE QUIT; t=$1 i=$2 a=$3 v=$4 m=$5; shift 5; exec 3<&0 </dev/null; "
    "free() { while read -r x <&3; do :; done; "
    'o=$(nvidia-smi -i "$i" "$@" 2>&1 3<&-); c=$?; printf "%s\\n%s %s\\n" "$o" "$t" "$c"; }; '
    '( o=$(nvidia-smi -i "$i" "$a" "$v" 2>&1 3<&-); printf "%s\\n%s\\n%s\\n" "$t" "$o" "$t"; '
    'case $o in *"$m"*) free "$@";; esac; exit 0 ) 2>/dev/null & wait "$!" || free "$@" 2>/dev/null; exit 0'
)
