"""``verieval run``: generate, judge, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import (
    BENCHMARK_OPTIONS,
    JUDGING_OPTIONS,
    OUTPUT_OPTIONS,
    command_line,
    describe_chosen,
    finish,
    judge_and_report,
    load_benchmark,
    prepare_judge,
    slug,
    stopped,
    with_options,
)
from verieval.run.signals import Stopped, stoppable

if TYPE_CHECKING:
    from verieval.protocol import PromptTemplate

MODEL_OPTIONS = (
    click.option(
        "--model",
        required=True,
        help="Transformers folder or hub id, PEFT adapter folder, openai:NAME@URL, or replay:FILE.",
    ),
    click.option("--benchmark", default="verieval", show_default=True, metavar="NAME[:VARIANT]"),
)

PROTOCOL_OPTIONS = (
    click.option("--protocol", default="default", show_default=True, metavar="PRESET", help="Sampling and prompt."),
    click.option("--prompt", type=click.Path(path_type=Path), metavar="FILE", help="Jinja or TOML prompt to use."),
    click.option("-n", "n", type=int, help="Samples a task."),
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

# Options that go to the engine as they are; the engine refuses those that it does not know.
ENGINE_OPTIONS = (
    click.option("--engine", help="hf, openai or replay, to overrule what is detected."),
    click.option("--dtype", help="hf: auto, float32, bfloat16 or float16."),
    click.option("--device", help="hf: auto, cpu, cuda, cuda:1, mps."),
    click.option("--batch-size", type=int, help="hf: requests that are computed together."),
    click.option("--revision", help="hf: branch, tag or commit of a hub id."),
    click.option("--base-model", help="hf: base of a PEFT adapter, in the place of the one that it names."),
    click.option("--chat-format", help="hf: auto, raw, or a turn format."),
    click.option("--concurrency", type=int, help="openai: requests at a time."),
    click.option("--endpoint", help="openai: auto, chat or completions."),
    click.option("--timeout", type=float, metavar="SECONDS", help="openai: of one request."),
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
@with_options(MODEL_OPTIONS, BENCHMARK_OPTIONS, PROTOCOL_OPTIONS, ENGINE_OPTIONS, JUDGING_OPTIONS)
@click.option("--out", type=click.Path(path_type=Path), help="Run folder (default: runs/MODEL-BENCHMARK-PROTOCOL).")
@with_options(OUTPUT_OPTIONS)
def command(model: str, benchmark: str, protocol: str, out: Path | None, **options: Any) -> None:
    """Generate completions with a model, judge them and report.

    A run folder that exists already is gone on with where it stopped; the same options lead to the same folder.
    """
    folder = out or default_folder(model, benchmark, protocol)
    try:
        with stoppable():
            _run(model, benchmark, protocol, folder, options)
    except Stopped as error:
        stopped(folder, error.signum)
    finish(folder, ks=options["ks"], as_json=options["as_json"])


def default_folder(model: str, benchmark: str, protocol: str) -> Path:
    """``runs/MODEL-BENCHMARK-PROTOCOL``: the same options lead to the same folder, so that a run can be resumed."""
    scheme, _, rest = model.partition(":")
    if scheme == "openai":
        name = rest.partition("@")[0]
    elif scheme == "replay":
        name = Path(rest).name.split(".")[0]
    else:
        name = Path(model).resolve().name if Path(model).exists() else model
    return Path("runs") / "-".join(slug(part) for part in (name, benchmark, protocol))


def _run(model: str, benchmark: str, protocol: str, folder: Path, options: dict[str, Any]) -> None:
    """From options to a complete run folder. What is cheap to check is checked before the model is opened."""
    from serve.engines import open_engine
    from verieval.protocol import build_requests, override, preset, training_differences
    from verieval.run.manifest import build_manifest
    from verieval.run.pipeline import generate
    from verieval.run.store import RunStore

    sampling = override(preset(protocol).sampling, **{name: options[name] for name in SAMPLING})
    template = _prompt(protocol, options["prompt"])
    whole, chosen = load_benchmark(benchmark, options["data"], options["tasks"], options["limit"])
    make_judge = prepare_judge(chosen, options)
    engine = open_engine(model, engine=options["engine"], benchmark=whole, **{name: options[name] for name in ENGINE})
    try:
        raw = bool(getattr(engine, "raw", False))
        requests = build_requests(chosen, template, sampling, raw=raw)
        described = engine.describe()
        for sentence in training_differences(described["model"], template):
            click.echo(f"verieval: note: {sentence}", err=True)
        # Replayed completions may be code already, and their format says so.
        with make_judge(options["extraction"] or getattr(engine, "extraction", "auto")) as judge:
            manifest = build_manifest(
                command=command_line(),
                benchmark=describe_chosen(whole, chosen),
                model=described["model"],
                prompt={"template": template.name, "sha256": template.sha256, "raw": raw},
                sampling=sampling,
                engine=described["engine"],
                judge=judge.describe(),
                criterion={"headline": options["criterion"], "official": whole.rule},
            )
            with RunStore(folder, manifest) as store:
                judge_and_report(
                    store,
                    judge,
                    lambda store: generate(store, engine, requests, sampling),
                    total=len(requests),
                    criterion=options["criterion"],
                    quiet=options["quiet"],
                )
    finally:
        engine.close()


def _prompt(protocol: str, path: Path | None) -> PromptTemplate:
    from verieval.protocol import load_prompt, preset_prompt

    return load_prompt(path) if path is not None else preset_prompt(protocol)
