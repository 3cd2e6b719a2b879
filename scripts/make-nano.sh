#!/usr/bin/env bash
# Makes nano again: the synthetic corpus, the training, and what the result is worth; see docs/nano.md.
#
#   scripts/make-nano.sh           everything; goes on where it was stopped
#
# Needs `make setup` and Icarus Verilog. ROWS, SEED, JOBS and OUT change what they say. With VERIEVAL_DATA set, rows that
# overlap VerilogEval and RTLLM are left out of the corpus too, as they were for the weights that ship.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rows=${ROWS:-66000}
seed=${SEED:-0}
jobs=${JOBS:-$(nproc)}
out=${OUT:-build/nano}
python=${PYTHON:-.venv/bin/python}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$jobs} OMP_WAIT_POLICY=passive

say() { printf '\n== %s\n' "$*"; }
step() { say "$*"; "$@"; }

overlap=(--overlap verieval)
for name in verilog-eval:spec-to-rtl verilog-eval-v1:human rtllm; do
    [ -d "${VERIEVAL_DATA:-/nonexistent}/${name%%:*}" ] && overlap+=(--overlap "$name")
done

corpus=$out/corpus.jsonl.gz
[ -f "$corpus" ] || step "$python" -m finetune.data.synth --rows "$rows" --seed "$seed" --jobs "$jobs" \
    "${overlap[@]}" --out "$corpus"
step "$python" -m verieval train nano --set "data.sources=[{path='$corpus', layout='prompt-completion', licence='Apache-2.0'}]" \
    --out "$out/train"

# What it is worth: unseen pairs of each split, then the project's own tasks.
[ -d "$out/sets" ] || step "$python" -m finetune.data.synth.evaluate make --out "$out/sets" --count 244 --seed "$seed"
for split in train parameters wording names; do
    suite=$out/suites/$split
    [ -d "$suite" ] || step "$python" -m finetune.data.synth.evaluate suite "$out/sets/$split.jsonl" --out "$suite"
    step "$python" -m verieval run --model "$out/train/model" --benchmark verieval --data "$suite" --max-tokens 640 \
        --jobs "$jobs" --out "$out/runs/$split"
done
step "$python" -m verieval run --model "$out/train/model" --benchmark verieval --max-tokens 768 --jobs "$jobs" \
    --out "$out/runs/verieval"
say "The model is in $out/train/model; copy its files to finetune/nano/model to ship them."
