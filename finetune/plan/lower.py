"""The real training step compiled for TPUs that are not there, in a process of its own.

The compiler is TPU's own (libtpu); it needs neither a TPU nor the weights, only their shapes. What it says of memory is
what it would say on the machine.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from finetune.gemma4 import Gemma4Config
from finetune.recipe import Recipe
from verieval.errors import VerievalError

# Without a TPU the library must not look for one, and it may be loaded by several processes.
ENVIRONMENT = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
NEEDS = "compiling for a TPU needs its compiler: pip install 'verieval[tpu]', or use --no-compile"


class NoCompiler(VerievalError):
    """The TPU's compiler is not installed."""


@dataclass(frozen=True)
class Compiled:
    """What the compiler says of one device, in bytes, and what compiling took.

    Attributes:
        arguments: weights, optimizer state and batch.
        temporaries: activations, gradients and all else that lives within a step.
        peak: the most that lives at one time.
        code: of the program.
        lower_seconds, compile_seconds: of wall time.
        host_bytes: of memory that compiling took here.
    """

    arguments: int
    temporaries: int
    peak: int
    code: int
    lower_seconds: float
    compile_seconds: float
    host_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


# What an exit status of the process means; the last line of its output says the rest.
_REFUSALS = {3: VerievalError, 4: NoCompiler}


def compile_step(config: Gemma4Config, recipe: Recipe, topology: str) -> Compiled:
    """Compile the recipe's step for a topology.

    Args:
        config: of the model.
        recipe: with ``backend = "jax"`` and the mesh in ``[parallel]``, which divides the model.
        topology: a name that the TPU compiler knows.

    Raises:
        NoCompiler: it is not installed.
        VerievalError: it refuses the program (it does not fit, for one), or died.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "finetune.plan.lower"],
        input=pickle.dumps((config, recipe, topology)),
        capture_output=True,
        env={**os.environ, **ENVIRONMENT},
        check=False,
    )
    answer = done.stdout.decode(errors="replace").strip().splitlines()
    if done.returncode == 0 and answer:
        return Compiled(**json.loads(answer[-1]))
    if done.returncode in _REFUSALS and answer:
        raise _REFUSALS[done.returncode](answer[-1])
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else "failed"
    raise VerievalError(
        f"compiling for {topology} {how} ({lines[-1][:300]}); use --no-compile for the arithmetic alone"
    )


def _compile(config: Gemma4Config, recipe: Recipe, topology: str) -> Compiled:
    import jax
    from jax.experimental import topologies

    from finetune.jax_backend.backend import make_compute
    from finetune.jax_backend.sharding import make_mesh
    from finetune.jax_backend.step import Program

    try:
        described = topologies.get_topology_desc(platform="tpu", topology_name=topology)
    except Exception as error:  # noqa: BLE001  the plugin raises what it likes
        said = (str(error).splitlines() or [type(error).__name__])[0][:300]
        raise VerievalError(f"the TPU compiler does not know {topology}: {said}") from None
    mesh = make_mesh(recipe.parallel.fsdp, recipe.parallel.tp, described.devices)
    program = Program(config, recipe.lora, recipe.optim, make_compute(recipe, mesh))
    start = time.monotonic()
    lowered = program.step.lower(*program.shapes(recipe.model.dtype, recipe.train))
    middle = time.monotonic()
    try:
        compiled = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        raise VerievalError(f"the TPU compiler refuses the step: {_reason(str(error))}") from None
    found = compiled.memory_analysis()
    return Compiled(
        arguments=found.argument_size_in_bytes,
        temporaries=found.temp_size_in_bytes,
        peak=found.peak_memory_in_bytes,
        code=found.generated_code_size_in_bytes,
        lower_seconds=round(middle - start, 1),
        compile_seconds=round(time.monotonic() - middle, 1),
        host_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def _reason(text: str) -> str:
    """The sentence on memory, or the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "hbm" in line.lower() or "memory" in line.lower()), lines[0])[:300]


def main() -> int:
    """Read a request from standard input, and write the answer as the last line of standard output."""
    try:
        import libtpu  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        print(NEEDS)
        return 4
    try:
        found = _compile(*pickle.load(sys.stdin.buffer))
    except VerievalError as error:
        print(error)
        return 3
    print(json.dumps(found.to_json()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
