"""Models against values that are known otherwise."""

from __future__ import annotations

from finetune.data.synth.design import Reset, signed
from finetune.data.synth.families.adders import Saturating
from finetune.data.synth.families.codes import Gray
from finetune.data.synth.families.machines import SequenceDetector
from finetune.data.synth.families.memory import Fifo
from finetune.data.synth.families.phases import TimedStates
from finetune.data.synth.families.shift import Lfsr

RESET = Reset("async", low=True)


def test_gray_code_changes_one_bit_at_a_time_and_comes_back() -> None:
    there, back = Gray(5, back=False), Gray(5, back=True)
    codes = [there.outs({}, {"a": value})["y"] for value in range(32)]
    assert sorted(code for code in codes if code is not None) == list(range(32))
    for value, code in enumerate(codes):
        assert code is not None
        after = codes[(value + 1) % 32]
        assert after is not None
        assert (code ^ after).bit_count() == 1
        assert back.outs({}, {"a": code}) == {"y": value}


def test_primitive_taps_give_the_longest_sequence() -> None:
    # x^4 + x^3 + 1 and, for the Galois form, its mask 1001b: 15 states (any table of primitive polynomials).
    for family in (Lfsr(RESET, 4, False, (3, 2), 1, False), Lfsr(RESET, 4, True, (3, 0), 1, False)):
        state, seen = family.start(), []
        for _ in range(15):
            seen.append(state["q"])
            state = family.step(state, {})
        assert sorted(seen) == list(range(1, 16))
        assert state == family.start()


def test_signed_saturation_at_both_ends() -> None:
    family = Saturating(8, "signed_add", True)
    for a, b, y, clipped in ((100, 27, 127, 0), (100, 28, 127, 1), (-100, -28, -128, 0), (-100, -29, -128, 1)):
        got = family.outs({}, {"a": a & 255, "b": b & 255})
        assert got["y"] is not None
        assert (signed(got["y"], 8), got["f"]) == (y, clipped)


def _found(family: SequenceDetector, stream: str) -> str:
    state, seen = family.start(), ""
    for bit in stream:
        seen += str(family.outs(state, {"x": int(bit)})["y"])
        state = family.step(state, {"x": int(bit)})
    return seen


def test_overlap_of_sequences() -> None:
    assert _found(SequenceDetector(RESET, (1, 0, 1), True, False, False), "10101") == "00101"
    assert _found(SequenceDetector(RESET, (1, 0, 1), False, False, False), "10101") == "00100"
    assert _found(SequenceDetector(RESET, (1, 0, 1), True, True, False), "101010") == "000101"


def test_queue_keeps_order_and_ignores_what_does_not_fit() -> None:
    family = Fifo(RESET, 8, 1, True)
    state = family.start()
    for word in (1, 2, 3):
        state = family.step(state, {"push": 1, "pop": 0, "d": word})
    assert family.outs(state, {}) == {"q": 1, "empty": 0, "full": 1, "n": 2}
    state = family.step(state, {"push": 1, "pop": 1, "d": 4})  # full before the edge: only the pop counts
    assert family.outs(state, {}) == {"q": 2, "empty": 0, "full": 0, "n": 1}


def test_phases_last_as_long_as_they_say() -> None:
    family = TimedStates(RESET, 0, (2, 1, 3))
    state, seen = family.start(), []
    for _ in range(7):
        seen.append(family.outs(state, {})["y"])
        state = family.step(state, {})
    assert seen == [1, 1, 2, 4, 4, 4, 1]
