"""Rows a second from a file to tokens and roles, against transformers' own masks, in one run.

The peer is what a careful user would write: ``apply_chat_template`` with ``return_assistant_tokens_mask`` on a template
with generation marks, row by row. Rows have CodeV-R1's lengths in tokens of a small byte-level tokenizer. CPU time is
given beside wall time, for a machine that others use too.

    python tests/bench/tokens.py [--rows 4000] [--json]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import tempfile
import time
from pathlib import Path

from finetune.data.dataset import load_dataset
from finetune.plan.lengths import draw_lengths
from tests.finetune.test_dataset import recipe
from tests.finetune.test_tokens import MARKED, WORDS
from tests.small_tokenizers import small_tokenizer

TEXTS = (
    "Implement a counter with an enable and a synchronous reset.\n",
    "always @(posedge clk) begin if (rst) q <= 0; else q <= q + 1; end\n",
    "assign out = (a & b) | (~a ^ b);\n",
)


def write(path: Path, count: int) -> list[dict[str, str]]:
    """Rows in CodeV-R1's layout; a token of the small tokenizer is about 1.6 characters."""
    draw = random.Random(0)
    rows = []
    for length in draw_lengths(count):
        text = "".join(draw.choice(TEXTS) for _ in range(length // 20 + 1))[: round(1.6 * length)]
        cut = len(text) // 4
        response = f"<think>{text[cut:]}</think>\n<answer>module m; endmodule</answer>"
        rows.append({"system": "You reason.", "prompt": text[:cut] or "x", "response": response})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def timed(action: object) -> tuple[object, float, float]:
    """Result, wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()  # type: ignore[operator]
    return result, time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure both and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tokenizer = small_tokenizer("chatml", split=WORDS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        rows = write(path, options.rows)
        whole = recipe({"path": str(path), "layout": "codev-r1"}, max_tokens=4096, reasoning="keep")
        whole = dataclasses.replace(whole, model=dataclasses.replace(whole.model, chat_format="chatml"))
        data, wall, cpu = timed(lambda: load_dataset(whole, tokenizer))

    def peer() -> int:
        tokens = 0
        for row in rows:
            turns = [("system", row["system"]), ("user", row["prompt"]), ("assistant", row["response"])]
            done = tokenizer.apply_chat_template(
                [{"role": role, "content": content} for role, content in turns],
                chat_template=MARKED["chatml"], tokenize=True, return_dict=True, return_assistant_tokens_mask=True,
            )  # fmt: skip
            tokens += len(done["input_ids"])
        return tokens

    tokens, peer_wall, peer_cpu = timed(peer)
    ours = sum(len(row) for row in data.train)  # type: ignore[attr-defined]
    found = {
        "rows": options.rows,
        "mean_tokens": round(ours / options.rows),
        "rows_per_second": {"verieval": round(options.rows / wall), "transformers": round(options.rows / peer_wall)},
        "rows_per_cpu_second": {"verieval": round(options.rows / cpu), "transformers": round(options.rows / peer_cpu)},
        "tokens": {"verieval": ours, "transformers": tokens},
    }
    print(json.dumps(found, indent=2) if options.json else "\n".join(f"{key}: {value}" for key, value in found.items()))


if __name__ == "__main__":
    main()
