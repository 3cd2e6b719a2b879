"""Protocols: what a model is asked, and how its answers are drawn.

A **preset** joins published sampling figures with a prompt in this project's own words. ``--prompt FILE`` replaces the
prompt, so that a published text can be used as it is. A prompt file is one of two things:

* any file not named ``*.toml``: Jinja text, the user's message;
* a ``.toml`` file with the keys

  - ``user`` (required): Jinja text of the user's message;
  - ``system``: Jinja text of a system turn;
  - ``raw``: Jinja text that a base model continues (default: the task's prompt, then its module header);
  - ``[[examples]]``: in-context examples, tables of plain strings (never rendered, so Verilog's ``{{`` is safe there).
    Templates see them as ``examples``;
  - ``examples_as``: ``"text"`` (default: the templates place them) or ``"turns"`` (each example's ``user`` and
    ``assistant`` become turns before the question).

Templates see ``task`` (see :class:`TaskView`) and ``examples``. An undefined name is an error. One final newline of a
template is dropped; a line that holds only a block tag leaves nothing behind. Verilog's ``{{`` in a template must stand
between ``{% raw %}`` and ``{% endraw %}``. The chat renderer is in :mod:`verieval.chat`.
"""

from __future__ import annotations

import hashlib
import tomllib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verieval.completion import MAX_N, Message, Request, Sampling
from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.task import Benchmark, Port, Task

if TYPE_CHECKING:
    from jinja2 import Template

PROMPT_KEYS = ("system", "user", "raw")
DEFAULT_RAW = (
    "{{ task.prompt | trim }}\n"
    "{% if task.header and not task.header_in_prompt %}\n\n{{ task.header | trim }}\n{% endif %}\n"
)


@dataclass(frozen=True)
class Preset:
    """A named protocol: sampling figures, and the prompt that goes with them.

    Attributes:
        source: where the figures were published.
        sampling: the figures.
        assumed: fields of ``sampling`` that the source does not state; this project chose them.
        prompt: stem of the prompt file in ``verieval/protocols/prompts``.
    """

    name: str
    title: str
    source: str
    sampling: Sampling
    assumed: tuple[str, ...]
    prompt: str


_PRESETS = (
    Preset(
        name="default",
        title="VeriEval: one greedy answer a task",
        source="this project",
        sampling=Sampling(n=1, temperature=0.0, top_p=1.0, max_tokens=2048),
        assumed=(),
        prompt="default",
    ),
    Preset(
        name="verilog-eval-low",
        title="VerilogEval v2, low temperature: n=1, T=0, top_p 0.01",
        source="VerilogEval v2 (arXiv 2408.11053; github.com/NVlabs/verilog-eval)",
        sampling=Sampling(n=1, temperature=0.0, top_p=0.01, max_tokens=1024),
        assumed=("max_tokens",),
        prompt="verilog-eval",
    ),
    Preset(
        name="verilog-eval-high",
        title="VerilogEval v2, high temperature: n=20, T=0.85, top_p 0.95",
        source="VerilogEval v2 (arXiv 2408.11053; github.com/NVlabs/verilog-eval)",
        sampling=Sampling(n=20, temperature=0.85, top_p=0.95, max_tokens=1024),
        assumed=("max_tokens",),
        prompt="verilog-eval",
    ),
    Preset(
        name="h2loop",
        title="h2loop: n=5, T=0.8, top_p 0.95, 1024 new tokens",
        source="h2loop (arXiv 2605.25645)",
        sampling=Sampling(n=5, temperature=0.8, top_p=0.95, max_tokens=1024),
        assumed=(),
        prompt="h2loop",
    ),
    Preset(
        name="turtle",
        title="TuRTLe: n=5, T=0.2, top_p 0.95",
        source="TuRTLe (arXiv 2504.01986; github.com/HPAI-BSC/TuRTLe)",
        sampling=Sampling(n=5, temperature=0.2, top_p=0.95, max_tokens=2048),
        assumed=("max_tokens",),
        prompt="turtle",
    ),
)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _PRESETS}

# What each sampling figure may be: a test, and its words.
_LIMITS: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "n": (lambda n: 1 <= n <= MAX_N, f"from 1 to {MAX_N}"),
    "temperature": (lambda t: 0 <= t < float("inf"), "0 (greedy) or more"),
    "top_p": (lambda p: 0 < p <= 1, "above 0 and at most 1"),
    "top_k": (lambda k: k >= 0, "0 (off) or more"),
    "max_tokens": (lambda m: m >= 1, "at least 1"),
    "seed": (lambda s: 0 <= s < 2**63, "from 0 to 2^63 - 1"),
}


@dataclass(frozen=True)
class PromptTemplate:
    """A prompt file, read and taken apart.

    Attributes:
        name: the preset prompt's stem, or the file as the user named it.
        text: the file's text; ``sha256`` is the hash of its bytes and stands in the manifest.
        user, system, raw: Jinja sources of the parts.
        examples: in-context examples; ``turns`` makes them turns of the conversation.
    """

    name: str
    text: str
    sha256: str
    user: str
    system: str | None = None
    raw: str = DEFAULT_RAW
    examples: tuple[Mapping[str, str], ...] = ()
    turns: bool = False


@dataclass(frozen=True)
class TaskView:
    """What a template may know of a task: the question, never its reference or its bench.

    ``header_in_prompt`` is true where the published prompt already ends with the module header.
    """

    id: str
    prompt: str
    module: str
    header: str | None
    header_in_prompt: bool
    ports: tuple[Port, ...]
    benchmark: str


def preset(name: str) -> Preset:
    """The preset ``name``.

    Raises:
        VerievalError: there is none of this name.
    """
    if name not in PRESETS:
        raise VerievalError(f"there is no protocol {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def override(sampling: Sampling, **options: float | int | None) -> Sampling:
    """``sampling`` with the options that are not None in the place of its own fields (``n``, ``temperature``, …).

    Raises:
        VerievalError: a figure is outside its range.
    """
    changed = replace(sampling, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]
    for item in fields(changed):
        value = getattr(changed, item.name)
        allowed, words = _LIMITS[item.name]
        if not allowed(value):
            raise VerievalError(f"{item.name.replace('_', '-')} must be {words}, not {value}")
    return changed


def preset_prompt(name: str) -> PromptTemplate:
    """The prompt of preset ``name``, in this project's own words.

    Raises:
        VerievalError: there is no such preset.
    """
    stem = preset(name).prompt
    data = (resources.files("verieval") / "protocols" / "prompts" / f"{stem}.toml").read_bytes()
    return _parse(stem, data, toml=True)


def load_prompt(path: Path) -> PromptTemplate:
    """Read a prompt file (see the module's docstring for its two forms), and compile its templates.

    Raises:
        VerievalError: it cannot be read, or it has an unknown key or a syntax error (with its line).
    """
    data = read_file(path, name=f"the prompt file {path}")
    template = _parse(str(path), data, toml=path.suffix.lower() == ".toml")
    for key in PROMPT_KEYS:
        _compiled(template, key)
    return template


def render(template: PromptTemplate, task: Task, benchmark: str = "") -> tuple[Message, ...]:
    """The conversation that asks a chat model for ``task``.

    Raises:
        VerievalError: a template uses an undefined name or fails otherwise (with its line).
    """
    system = () if template.system is None else (Message("system", _render(template, "system", task, benchmark)),)
    shown = template.examples if template.turns else ()
    turns = [
        turn
        for example in shown
        for turn in (Message("user", example["user"]), Message("assistant", example["assistant"]))
    ]
    return (*system, *turns, Message("user", _render(template, "user", task, benchmark)))


def raw_prompt(template: PromptTemplate, task: Task, benchmark: str = "") -> str:
    """The text that a base model (no chat template) continues: by default the prompt, then the module header.

    Raises:
        VerievalError: as :func:`render`.
    """
    return _render(template, "raw", task, benchmark)


def request_seed(seed: int, task_id: str, sample: int) -> int:
    """A seed in [0, 2^63) for one completion. It does not change when other tasks or samples join the run."""
    digest = hashlib.sha256(f"{seed}\0{task_id}\0{sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def build_requests(
    benchmark: Benchmark,
    template: PromptTemplate,
    sampling: Sampling,
    *,
    tasks: Sequence[Task] | None = None,
    raw: bool = False,
) -> list[Request]:
    """The run's requests in their fixed order: task by task, and within a task sample by sample.

    Args:
        benchmark: where the tasks come from; its name is visible to the template.
        template: the prompt.
        sampling: gives the number of samples and the run's seed.
        tasks: the tasks to ask, in order (default: all of the benchmark).
        raw: also give the text for a base model, which then takes the place of the conversation.

    Raises:
        VerievalError: as :func:`render`.
    """
    requests: list[Request] = []
    for task in benchmark.tasks if tasks is None else tasks:
        messages = render(template, task, benchmark.full_name)
        text = raw_prompt(template, task, benchmark.full_name) if raw else None
        requests.extend(
            Request(task.id, sample, messages, request_seed(sampling.seed, task.id, sample), raw=text)
            for sample in range(sampling.n)
        )
    return requests


def training_differences(
    model: Mapping[str, Any], template: PromptTemplate, messages: Sequence[Message] = ()
) -> tuple[str, ...]:
    """Sentences on how the evaluation's prompt differs from the one that the checkpoint was trained with.

    Args:
        model: the manifest's section of that name, as an engine describes it: ``training`` carries what the
            checkpoint's ``training.json`` says, and ``chat`` the chat template in use.
        template: of the prompt.
        messages: of one request, whose system turn is compared; empty where the model is asked with raw text.
    """
    training = model.get("training") or {}
    trained = {"prompt": training.get("prompt_sha256"), "chat template": training.get("chat_template_sha256")}
    used = {"prompt": template.sha256, "chat template": (model.get("chat") or {}).get("sha256")}
    found = [
        f"the {what} (sha256 {used[what] or 'none'}) is not the one that the model was trained with (sha256 {sha256})"
        for what, sha256 in trained.items()
        if sha256 and sha256 != used[what]
    ]
    systems = training.get("system_sha256")
    if messages and isinstance(systems, list):
        said = system_sha256(messages)
        if said not in systems:
            known = "none" if systems == [""] else f"{len(systems)}, see its training.json"
            found.append(
                f"the system turn ({f'sha256 {said}' if said else 'none'}) is not among those that the model was "
                f"trained with ({known})"
            )
    return tuple(found)


def system_sha256(messages: Sequence[Message]) -> str:
    """Hash of the system turn's text without white space around it; empty where there is no such turn."""
    texts = [message.content.strip() for message in messages if message.role == "system"]
    return hashlib.sha256(texts[0].encode()).hexdigest() if texts and texts[0] else ""


def _parse(name: str, data: bytes, *, toml: bool) -> PromptTemplate:
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        table = tomllib.loads(text) if toml else {"user": text}
    except UnicodeDecodeError as error:
        raise VerievalError(f"the prompt {name} is not UTF-8 text (byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"the prompt {name} is not valid TOML: {error}") from error
    unknown = sorted(set(table) - {*PROMPT_KEYS, "examples", "examples_as"})
    if unknown:
        raise VerievalError(f"the prompt {name} has the unknown key {unknown[0]!r}: see the keys in verieval.protocol")
    parts = {key: table[key] for key in PROMPT_KEYS if key in table}
    wrong = [key for key, value in parts.items() if not isinstance(value, str)]
    if wrong or not str(parts.get("user", "")).strip():
        raise VerievalError(f"the prompt {name} needs {wrong[0] if wrong else 'user'!r} as a text that is not empty")
    examples, turns = _examples(name, table)
    return PromptTemplate(name, text, sha256, examples=examples, turns=turns, **parts)


def _examples(name: str, table: Mapping[str, Any]) -> tuple[tuple[Mapping[str, str], ...], bool]:
    examples, placed = table.get("examples", []), table.get("examples_as", "text")
    if placed not in ("text", "turns"):
        raise VerievalError(f"the prompt {name} needs 'text' or 'turns' for examples_as, not {placed!r}")
    needed = {"user", "assistant"} if placed == "turns" else set()
    for number, example in enumerate(examples if isinstance(examples, list) else [None], 1):
        if not isinstance(example, dict) or not all(isinstance(value, str) for value in example.values()):
            raise VerievalError(f"the prompt {name} needs [[examples]] to be tables of texts (number {number} is not)")
        if not needed <= set(example):
            raise VerievalError(f"the prompt {name} needs 'user' and 'assistant' in example {number} for turns")
    # An example that reaches no prompt would stand in the manifest's hash and not in the question.
    if examples and placed == "text" and not any("examples" in str(table.get(key, "")) for key in PROMPT_KEYS):
        raise VerievalError(f"the prompt {name} has examples that no template uses: set examples_as = 'turns'")
    return tuple(examples), placed == "turns"


def _render(template: PromptTemplate, key: str, task: Task, benchmark: str) -> str:
    header = task.header
    contained = header is not None and task.prompt.rstrip().endswith(header.rstrip())
    view = TaskView(task.id, task.prompt, task.module, header, contained, task.ports, benchmark)
    compiled = _compiled(template, key)
    try:
        return compiled.render(task=view, examples=template.examples)
    except Exception as error:  # a template is a program: it can fail with any exception
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
        raise VerievalError(f"{_place(template, key, lines[-1] if lines else None)}: {_said(error)}") from error


def _compiled(template: PromptTemplate, key: str) -> Template:
    from jinja2 import TemplateSyntaxError

    try:
        return _compile(getattr(template, key) or "")
    except TemplateSyntaxError as error:
        hint = "; Verilog's {{ must stand between {% raw %} and {% endraw %}"
        raise VerievalError(f"{_place(template, key, error.lineno)}: {error.message}{hint}") from error
    except Exception as error:  # nesting, numbers and sizes that Jinja or Python itself cannot compile
        raise VerievalError(f"{_place(template, key, None)} cannot be compiled: {_said(error)}") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _place(template: PromptTemplate, key: str, line: int | None) -> str:
    part = f", key {key!r}" if template.name.endswith(".toml") else ""
    return f"the prompt {template.name}{part}{f', line {line}' if line else ''}"


@lru_cache(maxsize=64)
def _compile(source: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source)
