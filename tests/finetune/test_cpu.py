"""What is said where bfloat16 is slow."""

from __future__ import annotations

import pytest

from finetune.cpu import bfloat16_note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse avx2 f16c\n", True),
        ("flags\t\t: fpu avx512f avx512_bf16\n", False),
        ("flags\t\t: fpu amx_bf16 amx_tile\nbugs\t: x\n", False),
        ("Features\t: fp asimd sha3 i8mm bf16\n", False),
        ("Features\t: fp asimd\n", True),
        ("nothing of the kind\n", False),
        (None, False),
    ],
)
def test_a_cpu_without_units(tmp_path, text, said):
    info = tmp_path / "cpuinfo"
    if text is not None:
        info.write_text(text)
    note = bfloat16_note(info)
    assert bool(note) is said
    assert not said or "compute_dtype=float32" in note[0]
