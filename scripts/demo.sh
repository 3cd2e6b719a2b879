#!/usr/bin/env bash
# Scores two recorded models on the project's own tasks and compares them; repeated, it goes on where it stopped.
# Needs `verieval` on PATH (`make demo` sees to it) and Icarus Verilog.  OUT=DIR chooses where the two run folders go.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${OUT:-runs}

say() { printf '\n== %s\n' "$*"; }
step() { say "$*"; "$@"; }

# The tools that only other commands need may be absent; what is wrong with a needed one the next step says.
step verieval doctor || true
step verieval bench check verieval
step verieval run --model replay:examples/completions.jsonl --out "$out/demo-a"
step verieval run --model replay:examples/completions-b.jsonl --out "$out/demo-b"
step verieval compare "$out/demo-a" "$out/demo-b"
say "The runs are in $out/demo-a and $out/demo-b; 'verieval report $out/demo-a' shows the first again."
