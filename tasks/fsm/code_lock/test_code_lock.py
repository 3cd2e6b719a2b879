"""code_lock: attempts right, wrong and cancelled, the two timers to the edge, resets, random and nearly right keys."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst_n": 1, "key_valid": 1, "key": 4, "relock": 1,
    "unlocked": 1, "alarm": 1, "entered": 2, "failures": 2,
}  # fmt: skip
CODE = [2, 7, 2, 5]


class Model:
    """The digits of the attempt, the wrong attempts, and how many edges the door or the alarm still lasts."""

    def __init__(self) -> None:
        self.lock()

    def lock(self) -> None:
        """Locked, with nothing entered."""
        self.digits: list[int] = []
        self.failures = self.open_for = self.alarm_for = 0

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if not i["rst_n"]:
            self.lock()

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if not i["rst_n"]:
            self.lock()
        elif self.alarm_for:
            self.alarm_for -= 1
            if self.alarm_for == 0:
                self.failures = 0
        elif self.open_for:
            self.open_for = 0 if i["relock"] else self.open_for - 1
        elif i["key_valid"]:
            self.take(i["key"])

    def take(self, key: int) -> None:
        """A key while the door is locked."""
        self.digits = [*self.digits, key] if key < 10 else []
        if len(self.digits) == 4:
            if self.digits == CODE:
                self.failures, self.open_for = 0, 8
            else:
                self.failures += 1
                self.alarm_for = 16 if self.failures == 3 else 0
            self.digits = []

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {
            "unlocked": int(self.open_for > 0), "alarm": int(self.alarm_for > 0),
            "entered": len(self.digits), "failures": self.failures,
        }  # fmt: skip


async def begin(dut: Any) -> Lockstep:
    """A lock after its reset, during which keys are ignored."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, key_valid=1, key=2, relock=0)
    await pair.ticks(2)
    await pair.tick(rst_n=1, key_valid=0)
    return pair


async def enter(pair: Lockstep, *keys: int) -> None:
    """Keys in a row, then none."""
    for key in keys:
        await pair.tick(key_valid=1, key=key)
    pair.set(key_valid=0)


@cocotb.test()
async def opening(dut: Any) -> None:
    """The code opens for eight edges, with keys ignored to the last; relock closes at any of them."""
    pair = await begin(dut)
    await enter(pair, *CODE)
    await pair.ticks(10)
    await enter(pair, *CODE, *CODE, *CODE)
    await enter(pair, *CODE)
    await pair.ticks(8, key_valid=1, key=2)
    await pair.tick()
    await enter(pair, 11)
    for edge in range(9):
        await enter(pair, *CODE)
        await pair.ticks(edge)
        await pair.tick(relock=1, key_valid=1, key=2)
        await pair.tick(relock=0, key=12)
        await pair.tick(key_valid=0)


@cocotb.test()
async def attempts(dut: Any) -> None:
    """One wrong digit at each place, gaps, cancels after each digit, relock while locked, every cancel key."""
    pair = await begin(dut)
    for place in range(4):
        for change in (1, 2, 4, 8):
            wrong = list(CODE)
            wrong[place] = wrong[place] ^ change if wrong[place] ^ change < 10 else 9 - wrong[place]
            await enter(pair, *wrong)
            await pair.tick()
            await enter(pair, *CODE)
            await pair.tick(relock=1)
            pair.set(relock=0)
    await enter(pair, 7, 2, 5, 2)
    await enter(pair, *CODE)
    await pair.tick(relock=1)
    for cancel in range(10, 16):
        await enter(pair, *CODE[: cancel % 4], cancel, *CODE)
        await pair.tick(relock=1)
        pair.set(relock=0)
    for digits in range(4):
        await enter(pair, 9, 8, 9, 9)
        await enter(pair, *CODE[:digits], 10)
        for key in CODE:
            await pair.tick(key_valid=0, key=key, relock=1)
            await enter(pair, key)
            await pair.tick()
        await pair.tick(relock=1)
        pair.set(relock=0)
    await enter(pair, *CODE[:2])
    await pair.ticks(20)
    await enter(pair, *CODE[2:])
    await pair.tick()


@cocotb.test()
async def alarms(dut: Any) -> None:
    """Three wrong attempts in a row; keys and relock are ignored for sixteen edges; a right one starts anew."""
    pair = await begin(dut)
    for _ in range(2):
        await enter(pair, 0, 0, 0, 0, 2, 7, 2, 4, 3, 7, 2, 5)
        for edge in range(17):
            await pair.tick(key_valid=1, key=CODE[edge % 4], relock=edge % 2)
        await pair.tick(key_valid=1, key=10, relock=0)
        await enter(pair, 1, 1, 1, 1, 9, 9, 9, 9, *CODE)
        await pair.ticks(9)
        await enter(pair, 5, 2, 7, 2, 2, 2, 7, 5)
        await pair.ticks(2)
        await enter(pair, 2, 7, 7, 5)
        await pair.ticks(18)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges in every situation, with the clock low and high."""
    pair = await begin(dut)
    for before in ([1, 2, 3], [1] * 4 + [2, 7], CODE, [9] * 12):
        await enter(pair, *before)
        await pair.poke(rst_n=0)
        await pair.poke(rst_n=1)
        await enter(pair, *CODE)
        await pair.tick(relock=1)
        await enter(pair, *before[:-1])
        await pair.tick(relock=0, key_valid=1, key=before[-1], high={"rst_n": 0})
        await pair.ticks(2)
        await pair.tick(rst_n=1, key_valid=0)


@cocotb.test()
async def random_keys(dut: Any) -> None:
    """Keys that are mostly the next right one."""
    pair = await begin(dut)
    random = rng("code_lock")
    for _ in range(350):
        key = CODE[len(pair.model.digits)] if random.random() < 0.8 else random.randrange(16)
        await pair.tick(
            key_valid=int(random.random() < 0.8),
            key=key,
            relock=int(random.random() < 0.15),
            rst_n=int(random.random() > 0.005),
        )
