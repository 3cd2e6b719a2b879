"""Compile designs and simulate them against their models, many in one run of Icarus.

The code that is checked here is the corpus's own, so limits are all it is under; answers of a model go another way
(:mod:`finetune.data.synth.evaluate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from finetune.data.synth.design import Names, Pin
from finetune.data.synth.vectors import Vectors
from verieval.judge import Limits, Toolchain
from verieval.judge.process import Launcher, Step

BATCH = 64
COMPILE_FLAGS = ("-g2012",)
_RESULT = re.compile(r"^design (\d+): (\d+)$", re.MULTILINE)
_MODULE = re.compile(r"\bmodule\s+(\w+)")


@dataclass(frozen=True)
class Trial:
    """A design to check.

    Attributes:
        code: the module.
        names: of its ports; ``module`` is its own.
        vectors: what it is fed and should answer.
    """

    code: str
    names: Names
    vectors: Vectors


@dataclass(frozen=True)
class Outcome:
    """``compiled``, and ``mismatches`` with the model (None where it did not come to that); ``log`` of the tools."""

    compiled: bool
    mismatches: int | None
    log: str = ""

    @property
    def good(self) -> bool:
        """It compiles, and agrees with its model."""
        return self.mismatches == 0


class Checker:
    """Runs Icarus; use it as a context manager. Not thread-safe."""

    def __init__(self, toolchain: Toolchain, cpu: float = 120.0) -> None:
        """Start.

        Args:
            toolchain: compiles and simulates.
            cpu: seconds that one run of a tool may take.
        """
        self.toolchain = toolchain
        self._cpu = cpu
        self._launcher = Launcher(Limits(compile_cpu=cpu, simulate_cpu=cpu))

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self._launcher.close()

    def simulate(self, trials: Sequence[Trial]) -> list[Outcome]:
        """Check trials together; where the compiler refuses them or one has no end, halves are tried, down to it."""
        if not trials:
            return []
        compiled, log, found = self._run(trials)
        if len(found) == len(trials):
            return [Outcome(True, found[number], log if found[number] else "") for number in range(len(trials))]
        if len(trials) == 1:
            return [Outcome(compiled, None, log)]
        half = len(trials) // 2
        return [*self.simulate(trials[:half]), *self.simulate(trials[half:])]

    def compiles(self, codes: Sequence[str]) -> list[str]:
        """What the compiler says of each text; empty where it is content. Several modules of a name are no fault."""
        groups: list[list[int]] = []
        names: list[set[str]] = []
        for number, code in enumerate(codes):
            name = _MODULE.search(code)
            word = name[1] if name else ""
            place = next((k for k, used in enumerate(names) if word not in used), len(groups))
            if place == len(groups):
                groups.append([])
                names.append(set())
            groups[place].append(number)
            names[place].add(word)
        said = [""] * len(codes)
        for group in groups:
            self._compile(codes, group, said)
        return said

    def _compile(self, codes: Sequence[str], group: Sequence[int], said: list[str]) -> None:
        files = {f"c{number}.sv": codes[number].encode() for number in group}
        argv = (*self.toolchain.iverilog, *COMPILE_FLAGS, "-t", "null", *files)
        done = self._launcher.run(files, [Step(argv, self._cpu, "log")])
        log = done.printed["log"]
        if done.steps[0].returncode == 0:
            return
        if len(group) == 1:
            said[group[0]] = log or "the compiler failed"
            return
        half = len(group) // 2
        self._compile(codes, group[:half], said)
        self._compile(codes, group[half:], said)

    def _run(self, trials: Sequence[Trial]) -> tuple[bool, str, dict[int, int]]:
        """Whether they compile, what was printed, and the mismatches of each that came to its end."""
        files: dict[str, bytes] = {}
        for number, trial in enumerate(trials):
            code = re.sub(
                rf"\bmodule\s+{re.escape(trial.names['module'])}\b", f"module design_{number}", trial.code, count=1
            )
            files[f"d{number}.sv"] = code.encode()
            files[f"v{number}.hex"] = trial.vectors.packed().encode()
        files["bench.sv"] = "\n".join(_harness(number, trial) for number, trial in enumerate(trials)).encode()
        sources = [name for name in files if name.endswith(".sv")]
        roots = [word for number in range(len(trials)) for word in ("-s", f"bench_{number}")]
        argv = (*self.toolchain.iverilog, "-g2012", *roots, "-o", "sim", *sources)
        steps = [
            Step(argv, self._cpu, "log", makes="sim"),
            Step((*self.toolchain.vvp, "-n", "sim", "-none"), self._cpu, "out"),
        ]
        done = self._launcher.run(files, steps)
        if len(done.steps) < 2:
            return False, done.printed["log"], {}
        printed = done.printed["out"]
        return True, printed, {int(found[1]): int(found[2]) for found in _RESULT.finditer(printed)}


def _harness(number: int, trial: Trial) -> str:
    vectors = trial.vectors
    ins, outs, count = vectors.in_bits, vectors.out_bits, len(vectors.rows)
    edge = "ck = 1;" if vectors.clocked else ""
    return f"""
module bench_{number};
    reg [{ins + 4 * outs - 1}:0] rows [0:{count - 1}];
    reg [{ins - 1}:0] given; wire [{outs - 1}:0] got; reg [{outs - 1}:0] want0, mask0, want1, mask1;
    reg ck; integer row, bad;
    design_{number} dut ({connect(trial.names, vectors)});
    initial begin
        $readmemh("v{number}.hex", rows); ck = 0; bad = 0;
        for (row = 0; row < {count}; row = row + 1) begin
            {{given, want0, mask0, want1, mask1}} = rows[row];
            #1 if (((got ^ want0) & mask0) !== 0) bad = bad + 1;
            {edge}
            #1 if (((got ^ want1) & mask1) !== 0) bad = bad + 1;
            ck = 0;
            #1;
        end
        $display("design {number}: %0d", bad);
    end
endmodule"""


def connect(names: Names, vectors: Vectors) -> str:
    """Port connections to the clock ``ck`` and to slices of ``given`` and ``got``."""
    parts = [f".{names.clk}(ck)"] if vectors.clocked else []
    return ", ".join([*parts, *_slices(names, vectors.inputs, "given"), *_slices(names, vectors.outputs, "got")])


def _slices(names: Names, pins: Iterable[Pin], bus: str) -> list[str]:
    parts, at = [], sum(pin.width for pin in pins)
    for pin in pins:
        parts.append(f".{names[pin.role]}({bus}[{at - 1}:{at - pin.width}])")
        at -= pin.width
    return parts
