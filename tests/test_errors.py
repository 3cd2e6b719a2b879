"""A sentence that quotes data stays one that somebody reads."""

from __future__ import annotations

from verieval.errors import VerievalError


def test_a_sentence_is_cut_in_its_middle() -> None:
    said = str(VerievalError(f"the verdict on {'x' * 20_000} is for a task that the manifest does not list"))
    assert said.startswith("the verdict on xxx")
    assert said.endswith("xxx is for a task that the manifest does not list")
    assert "x … x" in said
    assert len(said) < 1300
    assert str(VerievalError("short")) == "short"
