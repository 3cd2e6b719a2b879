"""``verieval run``: generate, judge, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from verieval.cli.common import (
    BENCHMARK_OPTIONS,
    EXAMINE_OPTIONS,
    JUDGING_OPTIONS,
    MAX_SECONDS,
    OUTPUT_OPTIONS,
    PROOF_OPTIONS,
    command_line,
    describe_chosen,
    describe_criterion,
    finish,
    judge_and_report,
    load_benchmark,
    note,
    prepare_examining,
    prepare_judge,
    refuse_benches,
    seek_tools,
    slug,
    stopped,
    with_options,
)
from verieval.completion import MAX_N
from verieval.errors import VerievalError
from verieval.run.signals import Stopped, stoppable

if TYPE_CHECKING:
    from verieval.completion import Engine, Request, Sampling
    from verieval.task import Benchmark

MODEL_OPTIONS = (
    click.option(
        "--model",
        required=True,
        help="Transformers folder or hub id, PEFT adapter folder, nano, openai:NAME@URL, or replay:FILE.",
    ),
    click.option("--benchmark", default="verieval", show_default=True, metavar="NAME[:VARIANT]"),
)


def _complete_protocol(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The presets, for the shell; imported only when it asks."""
    from verieval.protocol import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def _parse_timeout(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Seconds; ``nan`` and ``inf`` are floats too, and no time-out."""
    if value is not None and not 0 < value <= MAX_SECONDS:
        raise click.BadParameter(f"{value} is not a number of seconds above 0, up to {MAX_SECONDS}", ctx, param)
    return value


PROTOCOL_OPTIONS = (
    click.option(
        "--protocol",
        metavar="PRESET",
        shell_complete=_complete_protocol,
        help="Sampling and prompt (default: the preset 'default').",
    ),
    click.option("--prompt", type=click.Path(path_type=Path), metavar="FILE", help="Jinja or TOML prompt to use."),
    click.option(
        "-n", "n", type=click.IntRange(1, MAX_N), help="Samples a task (default: the protocol's; of replay:FILE, all)."
    ),
    click.option("--temperature", type=float),
    click.option("--top-p", type=float),
    click.option("--top-k", type=int),
    click.option("--max-tokens", type=int, help="New tokens a completion."),
    click.option("--seed", type=int),
    click.option(
        "--extraction",
        type=click.Choice(["auto", "verbatim"]),
        help="How code is taken out of a completion (default: auto; verbatim where code is replayed).",
    ),
)
SAMPLING = ("n", "temperature", "top_p", "top_k", "max_tokens", "seed")
PROTOCOL = ("protocol", "prompt", *SAMPLING)
DEFAULT_PROTOCOL = "default"

# Options that go to the engine as they are; the engine refuses those that it does not know.
ENGINE_OPTIONS = (
    click.option("--engine", help="hf, jax, openai or replay, to overrule what is detected."),
    click.option("--dtype", help="hf: auto, float32, bfloat16 or float16; jax: not float16."),
    click.option("--device", help="hf: auto, cpu, cuda, cuda:1, mps."),
    click.option("--batch-size", type=int, help="hf, jax: requests that are computed together."),
    click.option("--revision", help="hf: branch, tag or commit of a hub id."),
    click.option("--base-model", help="hf: base of a PEFT adapter, in the place of the one that it names."),
    click.option("--chat-format", help="hf: auto, raw, or a turn format."),
    click.option("--concurrency", type=int, help="openai: requests at a time."),
    click.option(
        "--endpoint", type=click.Choice(["chat", "completions"]), help="openai: which of its endpoints (default: chat)."
    ),
    click.option("--timeout", type=float, callback=_parse_timeout, metavar="SECONDS", help="openai: of one request."),
    click.option("--retries", type=int, help="openai: tries after the first one."),
    click.option("--token-field", help="openai: name of the field that limits new tokens."),
)
ENGINE = (
    "dtype",
    "device",
    "batch_size",
    "revision",
    "base_model",
    "chat_format",
    "concurrency",
    "endpoint",
    "timeout",
    "retries",
    "token_field",
)


@click.command("run")
@with_options(
    MODEL_OPTIONS, BENCHMARK_OPTIONS, PROTOCOL_OPTIONS, ENGINE_OPTIONS, JUDGING_OPTIONS, EXAMINE_OPTIONS, PROOF_OPTIONS
)
@click.option("--out", type=click.Path(path_type=Path), help="Run folder (default: runs/MODEL-BENCHMARK-PROTOCOL).")
@with_options(OUTPUT_OPTIONS)
def command(model: str, benchmark: str, out: Path | None, **options: Any) -> None:
    """Generate completions with a model, judge them and report.

    A run folder that exists already is gone on with where it stopped; the same options lead to the same folder.
    """
    folder = out or default_folder(model, benchmark, options["protocol"])
    try:
        with stoppable() as check:
            _run(model, benchmark, folder, options, check)
    except Stopped as error:
        stopped(folder, error.signum)
    finish(folder, options)


def default_folder(model: str, benchmark: str, protocol: str | None) -> Path:
    """``runs/MODEL-BENCHMARK-PROTOCOL``, or ``runs/MODEL-BENCHMARK`` for a replay, which follows no protocol.

    The same options lead to the same folder, so that a run can be resumed.
    """
    scheme, _, rest = model.partition(":")
    if scheme == "openai":
        name = rest.partition("@")[0]
    elif scheme == "replay":
        name = Path(rest).name.split(".")[0]
    else:
        name = Path(model).resolve().name if Path(model).exists() else model
    parts = [name, benchmark] if scheme == "replay" else [name, benchmark, protocol or DEFAULT_PROTOCOL]
    return Path("runs") / "-".join(slug(part) for part in parts)


@dataclass(frozen=True)
class Asked:
    """What the engine is asked for, and what the manifest says of it.

    Attributes:
        prompt, drawn: manifest sections ``prompt`` and ``sampling``.
        total: number of completions that there will be.
        extraction: the mode that fits them.
        source: manifest section of completions that were made before.
    """

    requests: Sequence[Request]
    sampling: Sampling
    prompt: dict[str, Any]
    drawn: dict[str, Any]
    total: int
    extraction: str = "auto"
    source: dict[str, Any] | None = None


# From an engine, its description and the tasks.
Ask: TypeAlias = "Callable[[Engine, dict[str, Any], Benchmark], Asked]"


def _run(model: str, benchmark: str, folder: Path, options: dict[str, Any], check: Callable[[], None]) -> None:
    """From options to a complete run folder. What is cheap to check is checked before the model is opened."""
    from serve.engines import detect, open_engine
    from verieval.run.manifest import build_manifest
    from verieval.run.pipeline import generate
    from verieval.run.store import RunStore

    kind = options["engine"] or detect(model)
    beyond = prepare_examining(options)
    ask = _replay(options) if kind == "replay" else _generate(options)
    tools = seek_tools(options)
    whole, chosen = load_benchmark(benchmark, options["data"], options["tasks"], options["limit"])
    refuse_benches(chosen)
    make_judge = prepare_judge(chosen, tools, options)
    engine = open_engine(model, engine=kind, benchmark=whole, **{name: options[name] for name in ENGINE})
    try:
        described = engine.describe()  # once: it hashes a checkpoint
        asked = ask(engine, described, chosen)
        with make_judge(options["extraction"] or asked.extraction) as judge:
            manifest = build_manifest(
                command=command_line(),
                benchmark=describe_chosen(whole, chosen),
                model=described["model"],
                prompt=asked.prompt,
                sampling=asked.drawn,
                engine=described["engine"],
                judge=judge.describe(),
                criterion=describe_criterion(whole, options),
                source=asked.source,
            )
            with RunStore(folder, manifest) as store:
                judge_and_report(
                    store,
                    judge,
                    lambda store: generate(store, engine, asked.requests, asked.sampling),
                    total=asked.total,
                    generating=asked.source is None,
                    options=options,
                    check=check,
                )
        beyond(folder, whole, check)
    finally:
        engine.close()


def _generate(options: dict[str, Any]) -> Ask:
    """Check what the options say of the protocol; the result asks the engine by it."""
    from verieval.protocol import build_requests, load_prompt, override, preset, preset_prompt, training_differences

    protocol = options["protocol"] or DEFAULT_PROTOCOL
    sampling = override(preset(protocol).sampling, **{name: options[name] for name in SAMPLING})
    template = load_prompt(options["prompt"]) if options["prompt"] is not None else preset_prompt(protocol)

    def ask(engine: Engine, described: dict[str, Any], chosen: Benchmark) -> Asked:
        requests = build_requests(chosen, template, sampling, raw=engine.raw)
        for sentence in training_differences(described["model"], template, requests[0].messages if requests else ()):
            note(sentence)
        prompt = {"template": template.name, "sha256": template.sha256, "raw": engine.raw}
        return Asked(requests, sampling, prompt, asdict(sampling), len(requests))

    return ask


def _replay(options: dict[str, Any]) -> Ask:
    """Refuse what would be a false record of completions that exist already; the result asks for those."""
    from serve.engines.replay import ReplayEngine
    from verieval.completion import Request, Sampling

    for name in PROTOCOL:
        if name != "n" and options[name] is not None:
            raise VerievalError(
                f"the option {name.replace('_', '-')} does not apply to completions that exist already: leave it out"
            )

    def ask(engine: Engine, described: dict[str, Any], chosen: Benchmark) -> Asked:
        assert isinstance(engine, ReplayEngine)
        reading = engine.reading
        rows = reading.rows_of(chosen)
        n = options["n"] or reading.default_n(rows)
        used = sum(row.sample < n for row in rows)
        if used < len(rows):
            unused = f"-n {n} leaves {len(rows) - used} of {len(rows)} completions unused"
            note(f"{unused}; leave it out to judge all of them")
        made = reading.origin
        made["sampling"].pop("n_by_task", None)
        requests = [Request(task.id, sample, (), 0) for task in chosen.tasks for sample in range(n)]
        return Asked(
            requests,
            Sampling(n=n),
            made["prompt"],
            {**made["sampling"], "n": n},
            used,
            reading.extraction,
            reading.describe(),
        )

    return ask
