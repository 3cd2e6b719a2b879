"""Peak memory and time of the loss at Gemma's 262,144-entry vocabulary: chunked, against the plain one.

The plain loss is what a training script writes: logits of all positions through the head, the softcap, float32, and
cross-entropy, left to autograd. Both sides get the same hidden states, weights, targets and coefficients, in a process
of their own each; what is reported is the highest resident memory beyond what these take.

    python tests/bench/loss_memory.py [--positions 3072] [--width 256] [--chunk 1024] [--dtype bfloat16] [--json]

At 3,072 positions the plain loss needs some 13 GB; --positions 512 gives the same picture with 2 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VOCABULARY = 262_144
SOFTCAP = 30.0


def one(kind: str, options: argparse.Namespace) -> dict[str, float]:
    """Loss, gradient norm, peak and seconds of one kind, measured in this process."""
    sys.path.insert(0, str(ROOT))
    import torch

    from finetune.torch_backend.loss import chunked_nll

    torch.manual_seed(0)
    dtype = getattr(torch, options.dtype)
    hidden = torch.randn(options.positions, options.width, dtype=dtype).requires_grad_()
    weight = (torch.randn(VOCABULARY, options.width) * 0.1).to(dtype)
    targets = torch.randint(VOCABULARY, (options.positions,))
    coefficients = torch.full((options.positions,), 1.0 / options.positions, dtype=torch.float64)
    torch.logsumexp(hidden[:8] @ weight[:64].T, 1)  # libraries load what they need
    before, started = _resident(), time.perf_counter()
    if kind == "chunked":
        loss, _ = chunked_nll(hidden, weight, targets, coefficients, softcap=SOFTCAP, chunk=options.chunk, dtype=dtype)
    else:
        logits = torch.tanh((hidden @ weight.T) / SOFTCAP) * SOFTCAP
        loss = torch.nn.functional.cross_entropy(logits.float(), targets)
    loss.backward()
    seconds = time.perf_counter() - started
    norm = float(hidden.grad.float().norm())
    return {
        "loss": float(loss.detach()),
        "gradient": norm,
        "mib": (_status("VmHWM") - before) / 1024,
        "seconds": seconds,
    }


def _resident() -> float:
    """Resident memory of this process now, KiB; the highest value so far is forgotten (Linux alone)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith(name)).split()[1])


def main() -> None:
    """Measure both, each in a process of its own, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=3072)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--chunk", type=int, default=1024)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=["plain", "chunked"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(one(options.only, options)))
        return
    found = {}
    for kind in ("plain", "chunked"):
        command = [sys.executable, __file__, *sys.argv[1:], "--only", kind]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{kind}: ended with {done.returncode} (not enough memory?)\n{done.stderr[-800:]}")
        found[kind] = json.loads(done.stdout)
    if options.json:
        print(json.dumps({"positions": options.positions, "vocabulary": VOCABULARY, **found}, indent=2))
        return
    print(f"{options.positions} positions, {VOCABULARY} entries, width {options.width}, {options.dtype}")
    for kind, row in found.items():
        print(f"{kind:8} {row['mib']:8,.0f} MiB {row['seconds']:7.1f} s   loss {row['loss']:.5f}")
    print(f"memory {found['plain']['mib'] / found['chunked']['mib']:.1f}x less")


if __name__ == "__main__":
    main()
