"""Resource limits of the compiler and the simulator."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from verieval.errors import VerievalError

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits for one candidate. Verdicts depend on CPU time, never on how busy the machine is.

    Attributes:
        compile_cpu, simulate_cpu: CPU seconds of each process; the simulator's default is the 30 s that
            VerilogEval's own flow allows (there as wall time).
        wall_factor: the wall backstop as a multiple of the CPU limit, for a process that sleeps instead of computing.
        memory_mib: address space of each process.
        output_mib: size of any file that it writes, its standard output included.
    """

    compile_cpu: float = 30.0
    simulate_cpu: float = 30.0
    wall_factor: float = 10.0
    memory_mib: int = 2048
    output_mib: int = 64

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise VerievalError(f"the limit {name} must be positive, not {value}")

    @classmethod
    def from_options(cls, **options: float | None) -> Limits:
        """Defaults with every option that is not None put in its place."""
        given = {name: value for name, value in options.items() if value is not None}
        return replace(cls(), **given)  # type: ignore[arg-type]

    def describe(self) -> dict[str, float]:
        """Manifest section ``limits``."""
        return asdict(self)
