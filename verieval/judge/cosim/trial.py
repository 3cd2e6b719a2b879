"""Simulate candidates of one task with its cocotb test, together where that is sound and alone where it is not.

Together they take one start of Python. A batch only ever gives results that a candidate alone would have: whatever
goes wrong in it (a text that does not compile, a simulation that hangs or dies, a results file that is not as it should
be) is traced to the candidate in question, which is judged alone, and the others are judged again without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from verieval.errors import BenchError, VerievalError
from verieval.judge.cosim.batch import Batch, Slot, cocotb_bench, inner, make_batch, stands_alone
from verieval.judge.cosim.python import INSIDE, RESULTS, STAND_INS, Python
from verieval.judge.cosim.results import TEST_US, SlotResult, read_failure, read_results
from verieval.judge.cosim.shadow import REFERENCE, can_be_shadowed, make_shadows
from verieval.judge.cosim.simulators import Simulator
from verieval.judge.icarus import Trial, compile_alone, compiler_end, cut
from verieval.judge.process import Done, Launcher, Lost, ProcessResult, Step
from verieval.judge.rules import BenchReport, OfficialVerdict
from verieval.task import CocotbBench, Port, SourceFile, Task

SIZE = 20  # candidates simulated together
PROGRESS = "progress"
_READY = "ready"  # its first line, unless something is wrong with the bench
_PATIENCE = 0.5  # CPU seconds without a sign of the test after which a batch hangs
_FAILED = OfficialVerdict(False, "failed")
_PASSED = OfficialVerdict(True, "passed")


@dataclass(frozen=True)
class Cosimulator:
    """What every trial with cocotb has in common.

    Attributes:
        engine: what simulates.
        python: what it loads.
        secret: hexadecimal digits in the names around the candidates.
    """

    engine: Simulator
    python: Python
    secret: str


def run_together(launcher: Launcher, simulator: Cosimulator, task: Task, sources: Sequence[str]) -> list[Trial | None]:
    """Trials of several candidates, in order; None for each that has to be judged alone.

    Raises:
        BenchError: the task's bench can test no candidate.
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: the launcher or a tool was killed from outside.
    """
    trials: list[Trial | None] = [None] * len(sources)
    left = [number for number, source in enumerate(sources) if not stands_alone(source)]
    comparable = simulator.engine.four_state and can_be_shadowed(task.reference or "")
    beside = comparable
    # Every round takes a candidate out, or is the last of its kind.
    while len(left) > 1:
        shadows = [number for number in left if can_be_shadowed(sources[number])] if beside else []
        some = shadows if len(shadows) > 1 else left
        make = make_shadows if len(shadows) > 1 else make_batch
        batch = make(task, [sources[number] for number in some], simulator.secret)
        done = _run(launcher, simulator, batch, _batch_seconds(launcher, batch))
        _refuse_bench(launcher, simulator, batch, done)
        if len(done.steps) < 2:
            broken = {some[place] for place in _broken(launcher, simulator, batch, done)}
            left = [number for number in left if number not in broken]
            if not broken and not batch.shadows:
                break  # only together they do not compile
            beside = beside and bool(broken)
            continue
        found = _told(done, batch) if batch.shadows else dict(enumerate(_results(done, batch) or ()))
        for place, result in found.items():
            trials[some[place]] = _trial(done, batch, result, share=len(some))
        if found:
            left = [number for number in left if trials[number] is None]
            # After a simulation that has died, whoever is left may be compared once more, without those who are not.
            beside = beside and not _ended(done)
        elif batch.shadows:
            beside = False
        else:
            left.remove(some[_suspect(done, batch)])
            beside = comparable
    return trials


def _ended(done: Done) -> bool:
    return done.steps[1].returncode == 0 and not done.steps[1].killed


def _told(done: Done, batch: Batch) -> dict[int, SlotResult]:
    """Results of candidates beside the reference, by number: each process of the simulation has told of its own."""
    found: dict[int, SlotResult] = {}
    slots = {slot.name: slot for slot in batch.slots}
    for line in done.printed.get(PROGRESS, "").splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue  # cut off
        if failure := read_failure(told["results"], list(slots)):
            if not told["followed"]:
                return {}  # the reference itself has failed
            result = _in_slot(failure[1], slots[failure[0]])
        elif whole := read_results(told["results"], list(slots)):
            result = _merged(whole, batch)[0]
        else:
            continue
        found.update(dict.fromkeys(told["members"], replace(result, tests=told["tests"])))
    return found


def run_alone(
    launcher: Launcher, simulator: Cosimulator, task: Task, source: str, *, slack: float = 1.0, cpu: float | None = None
) -> Trial:
    """The trial of one candidate.

    Args:
        launcher: where it runs.
        simulator: with what.
        task: the task.
        source: the candidate's text.
        slack: CPU limits are multiplied by this.
        cpu: CPU seconds of the simulation; None for the limit of the launcher.

    Raises:
        BenchError: the task's bench can test no candidate.
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: the launcher or a tool was killed from outside.
    """
    batch = make_batch(task, [source], simulator.secret)
    done = _run(launcher, simulator, batch, cpu or launcher.limits.simulate_cpu * slack, slack=slack)
    _refuse_bench(launcher, simulator, batch, done)
    return _trial_alone(launcher, simulator, batch, done)


def _trial_alone(launcher: Launcher, simulator: Cosimulator, batch: Batch, done: Done) -> Trial:
    if len(done.steps) == 2:
        results = _results(done, batch)
        return _trial(done, batch, results[0] if results else None)
    return _not_compiled(launcher, simulator, batch, done)


def _refuse_bench(launcher: Launcher, simulator: Cosimulator, batch: Batch, done: Done) -> None:
    """Raise where a simulation did not come to its tests, and would not without a candidate either.

    A candidate could keep a bench from being imported (it may take all the memory that there is), so that nothing is
    believed of a bench before it was tried on an empty root module.

    Raises:
        BenchError: the bench can test no candidate.
    """
    if len(done.steps) < 2 or _fault(done) is None:
        return
    task = batch.task
    root = f"module {batch.top};\n  reg idle;\nendmodule\n"  # Verilator hides a module with nothing inside
    empty = Batch(task, (), simulator.secret, batch.top, {}, root, (), {})
    done = _run(launcher, simulator, empty, launcher.limits.simulate_cpu)
    fault = _fault(done) if len(done.steps) == 2 and done.steps[1].killed != "wall" else None
    if fault is not None:
        raise BenchError(f"the bench of {task.id} {fault}")


def _fault(done: Done) -> str | None:
    """What the harness says of the test module before the first test; None where it is ready."""
    first = done.printed.get(PROGRESS, "").partition("\n")[0]
    if first == _READY:
        return None
    try:
        return str(json.loads(first)["fault"])
    except (ValueError, TypeError, KeyError):
        return "cannot be imported: the simulation ends before that is done"


def compile_only(launcher: Launcher, simulator: Cosimulator, task: Task, source: str, *, slack: float = 1.0) -> Trial:
    """What the compiler says of a candidate that must not be simulated. Raises as :func:`run_alone` does."""
    batch = make_batch(task, [source], simulator.secret)
    compiler, _ = _steps(launcher, simulator, batch, 1.0, slack)
    done = launcher.run(_files(simulator.engine, batch), [compiler])
    if done.steps[0].returncode == 0:
        return replace(_NOTHING, compile=done.steps[0], compiled=True)
    return _not_compiled(launcher, simulator, batch, done)


def probe(launcher: Launcher, simulator: Cosimulator) -> None:
    """Run a test that must pass, so that a broken installation of cocotb is not taken for broken candidates.

    Raises:
        VerievalError: it does not, or not within the limits.
        Lost: a tool was killed from outside.
    """
    test = (
        "import cocotb\nfrom cocotb.triggers import Timer\n\n\n@cocotb.test()\nasync def follows(dut):\n"
        "    for bit in (0, 1):\n        dut.a.value = bit\n        await Timer(1, unit='ns')\n"
        "        assert str(dut.b.value) == str(1 - bit)\n"
    )
    module = "module probe(input wire a, output wire b);\nassign b = ~a;\nendmodule\n"
    bench = CocotbBench((SourceFile("test_probe.py", test),))
    ports = (Port("a", "input", 1), Port("b", "output", 1))
    task = Task(id="probe", prompt="", module="probe", ports=ports, reference=module, oracle=bench)
    batch = make_batch(task, [module], simulator.secret)
    trial = _trial_alone(launcher, simulator, batch, _run(launcher, simulator, batch, launcher.limits.simulate_cpu))
    if trial.report is None or not trial.report.clean:
        words = (trial.tests.message if trial.tests else "") or trial.last_log.strip().rpartition("\n")[2]
        raise VerievalError(
            f"cocotb {simulator.python.version} fails with {simulator.engine.name} on a one-line module, so the "
            f"installation is broken or the limits are too small: {words or 'it says nothing'}"
        )


_NOTHING = Trial(ProcessResult(None, 0, "", 0.0, 0.0, 0), "", False, _FAILED, None)


def _run(launcher: Launcher, simulator: Cosimulator, batch: Batch, seconds: float, *, slack: float = 1.0) -> Done:
    return launcher.run(_files(simulator.engine, batch), _steps(launcher, simulator, batch, seconds, slack))


def _files(engine: Simulator, batch: Batch) -> dict[str, bytes]:
    bench = cocotb_bench(batch.task)
    ports = [port.name for port in batch.task.ports]
    about = {
        "module": bench.module,
        "inner": inner(batch.secret),
        "slots": [[slot.name, ports] for slot in batch.slots],
        "timeout_us": TEST_US,
        "shadows": batch.shadows,
        "secret": batch.secret,
        "patience": _PATIENCE if len(batch.files) > 1 else 0,
    }
    texts = {
        "slots.sv": batch.wrapper,
        "batch.json": json.dumps(about),
        **{f"verieval_{name}.py": path.read_text() for name, path in INSIDE.items()},
        **STAND_INS,
        **{source.name: source.text for source in bench.sources},
        **batch.files,
    }
    return {**engine.files(), **{name: text.encode("utf-8", "replace") for name, text in texts.items()}}


def _steps(launcher: Launcher, simulator: Cosimulator, batch: Batch, seconds: float, slack: float) -> tuple[Step, Step]:
    engine, python = simulator.engine, simulator.python
    environment = {**python.environment(batch.top), "VERIEVAL_PROGRESS": "{secret}-" + PROGRESS}
    return (
        engine.compiler(batch, launcher.limits.compile_cpu * slack * engine.compile_factor),
        Step(engine.run(python), seconds, env=tuple(environment.items()), returns=(RESULTS, PROGRESS)),
    )


def _batch_seconds(launcher: Launcher, batch: Batch) -> float:
    """CPU seconds after which something must be wrong in a batch; a slot takes a few hundredths of a second."""
    return min(launcher.limits.simulate_cpu, 5 + 0.5 * len(batch.slots))


def _broken(launcher: Launcher, simulator: Cosimulator, batch: Batch, done: Done) -> list[int]:
    """Places of candidates that do not compile by themselves; of those that the compiler complains of, if there are."""
    files = [name for name in batch.files if name != REFERENCE]
    log = done.printed.get("compile.log", "")
    blamed = [place for place, name in enumerate(files) if f"{name}:" in log]
    for places in (blamed, range(len(files))):
        broken = [place for place in places if not _compiles(launcher, simulator, batch.task, batch.sources[place])]
        if broken:
            return broken
    return []


def _compiles(launcher: Launcher, simulator: Cosimulator, task: Task, source: str) -> bool:
    return compile_only(launcher, simulator, task, source).compiled


def _results(done: Done, batch: Batch) -> list[SlotResult] | None:
    """Results by candidate, of its first slot that failed or else of all together; None where there are none."""
    if not _ended(done):
        return None
    found = read_results(done.printed.get(RESULTS, ""), [slot.name for slot in batch.slots])
    return _merged(found, batch) if found else None


def _merged(found: Mapping[str, SlotResult], batch: Batch) -> list[SlotResult]:
    merged: dict[int, SlotResult] = {}
    for slot in batch.slots:
        result = _in_slot(found[slot.name], slot)
        before = merged.get(slot.candidate)
        if before is None:
            merged[slot.candidate] = result
        else:
            chosen = before if before.failed else result
            merged[slot.candidate] = replace(chosen, tests=before.tests + result.tests)
    return [merged[number] for number in sorted(merged)]


def _in_slot(result: SlotResult, slot: Slot) -> SlotResult:
    """A failure is told with the parameters with which it happened."""
    if not result.failed or not slot.parameters:
        return result
    values = ", ".join(f"{name}={value}" for name, value in slot.parameters.items())
    return replace(result, message=f"{result.message} [{values}]")


def _suspect(done: Done, batch: Batch) -> int:
    """The candidate whose slot was at work when the simulation went wrong; the first where nobody was."""
    begun = done.printed.get(PROGRESS, "").split()
    owners: Mapping[str, int] = {slot.name: slot.candidate for slot in batch.slots}
    return next((owners[name] for name in reversed(begun) if name in owners), 0)


def _trial(done: Done, batch: Batch, result: SlotResult | None, *, share: int = 1) -> Trial:
    """The trial of one candidate, with its share of the time."""
    compiled, ran = (replace(step, cpu=step.cpu / share) for step in done.steps)
    failed = 0 if result is None or not result.failed else 1
    if result is not None and result.failed:
        result = replace(result, message=batch.restore(result.message))
    report = BenchReport(0, False) if result is None else BenchReport(1, not failed, failed, result.tests)
    return replace(
        _NOTHING,
        compile=compiled,
        compile_log=cut(batch.restore(done.printed.get("compile.log", ""))),
        compiled=True,
        official=_PASSED if report.clean else _FAILED,
        report=report,
        simulate=ran,
        output=cut(batch.restore(done.printed.get("stdout", ""))),
        tests=result,
    )


def _not_compiled(launcher: Launcher, simulator: Cosimulator, batch: Batch, done: Done) -> Trial:
    log = batch.restore(done.printed.get("compile.log", ""))
    compiled = compiler_end(done.steps[0], log)
    trial = replace(_NOTHING, compile=compiled, compile_log=cut(log))
    if compiled.signal:
        return trial
    flags = cocotb_bench(batch.task).compile_flags
    (source,) = batch.sources
    alone, alone_log = compile_alone(launcher, simulator.engine.toolchain, flags, batch.task.module, source)
    return replace(trial, alone=alone, alone_log=cut(alone_log))


__all__ = ["SIZE", "Cosimulator", "Lost", "compile_only", "probe", "run_alone", "run_together"]
