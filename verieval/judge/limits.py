"""Resource limits of the compiler and the simulator."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from verieval.errors import VerievalError

MIB = 1 << 20

# What the kernel's own limits can hold with room to spare; nobody waits a day for one sample.
_LARGEST = {
    "compile_cpu": 86_400,
    "simulate_cpu": 86_400,
    "wall_factor": 1_000,
    "memory_mib": 1 << 24,
    "output_mib": 1 << 24,
    "work_mib": 1 << 24,
    "mismatch_samples": 1 << 31,
}


@dataclass(frozen=True)
class Limits:
    """Limits for one candidate. Verdicts depend on CPU time, never on how busy the machine is.

    Attributes:
        compile_cpu, simulate_cpu: CPU seconds of each process; the simulator's default is the 30 s that
            VerilogEval's own flow allows (there as wall time).
        wall_factor: the wall backstop as a multiple of the CPU limit, for a process that sleeps instead of computing.
        memory_mib: address space of each process.
        output_mib: size of any file that it writes, its standard output included.
        work_mib: size of the work folder inside a sandbox.
        mismatch_samples: a simulation that has mismatched is ended once it has compared this many samples; what it
            counts then are the mismatches among those. That does not change a verdict, and saves two fifths of the
            simulation time of VerilogEval v2.
    """

    compile_cpu: float = 30.0
    simulate_cpu: float = 30.0
    wall_factor: float = 10.0
    memory_mib: int = 2048
    output_mib: int = 64
    work_mib: int = 256
    mismatch_samples: int = 1000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value <= _LARGEST[name]:
                raise VerievalError(f"the limit {name} must be above 0 and at most {_LARGEST[name]}, not {value}")

    @classmethod
    def from_options(cls, **options: float | None) -> Limits:
        """Defaults with every option that is not None put in its place."""
        given = {name: value for name, value in options.items() if value is not None}
        return replace(cls(), **given)  # type: ignore[arg-type]

    def describe(self) -> dict[str, float]:
        """Manifest section ``limits``."""
        return asdict(self)
