#!/usr/bin/env bash
# Runs the model that ships, nano, on 24 designs of the kinds that it was trained for, with parameters that it has never seen, and
# on the smallest of the project's own tasks, which are beyond it. Then scores two sets of answers, on those of the tasks that they
# answer, and compares them. Repeated, it goes on where it stopped.
# Needs `verieval` with torch on PATH (`make demo` sees to it) and Icarus Verilog.  OUT=DIR chooses where the run folders go.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A run is tied to its simulator, tasks and completions, so where one of them changed the demo is another run.
inputs() {
    echo "${VERIEVAL_ICARUS:-}"
    verieval --version
    "${VERIEVAL_ICARUS:+$VERIEVAL_ICARUS/bin/}iverilog" -V 2>/dev/null | sed -n 1p || true
    find tasks examples finetune/nano/model -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 cat
}
out=${OUT:-runs/demo-$(inputs | sha256sum | cut -c 1-8)}

say() { printf '\n== %s\n' "$*"; }
step() { say "$*"; "$@"; }

# Tools that only other commands need may be absent; of one that is needed here, the next step says what to do.
step verieval doctor || true
step verieval bench check verieval --references-only
if [ ! -d "$out/unseen" ]; then
    step python -m finetune.data.synth.evaluate make --out "$out/sets" --count 24 --seed 7
    step python -m finetune.data.synth.evaluate suite "$out/sets/parameters.jsonl" --out "$out/unseen"
fi
step verieval run --model nano --data "$out/unseen" --max-tokens 640 --out "$out/nano"
step verieval run --model nano --tasks level:unit --max-tokens 640 --out "$out/nano-unit"
step verieval score examples/completions.jsonl --benchmark verieval --present-only --out "$out/a"
step verieval score examples/completions-b.jsonl --benchmark verieval --present-only --out "$out/b"
step verieval compare "$out/a" "$out/b"
say "The runs are in $out/nano, nano-unit, a and b; 'verieval report $out/nano' shows the first again."
