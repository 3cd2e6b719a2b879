"""The command line as a program: help without imports, errors as sentences, exit statuses."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import shlex
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest

from verieval import cli
from verieval.cli import COMMANDS, Entry, main

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "jax", "numpy", "pandas", "pyslang", "rich", "httpx", "jinja2", "cocotb")
HERE = [name for name, entry in COMMANDS.items() if importlib.util.find_spec(entry.module)]


def verieval(*words: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "verieval", *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **env},
    )


def imported_by(*words: str) -> set[str]:
    """Modules that are loaded when a command has printed its help."""
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    code += f"from verieval.cli import main; main({list(words)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    return set(done.stderr.split())


def test_help_imports_no_command_and_nothing_heavy() -> None:
    loaded = imported_by("--help")
    ours = {name for name in loaded if name.split(".")[0] in ("verieval", "serve", "finetune")}
    assert ours == {"verieval", "verieval.cli", "verieval.errors"}
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("name", HERE)
def test_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    assert not imported_by(name, "--help") & set(HEAVY)


def test_help_is_quick() -> None:
    """CPU time, which is the wall time of a machine with nothing else to do; the best of three."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert verieval("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3


def test_every_command_of_the_table_is_there_and_in_the_help() -> None:
    text = verieval("--help").stdout
    assert set(HERE) == set(COMMANDS)
    for name, entry in COMMANDS.items():
        assert f"  {name} " in text
        assert entry.help.split()[0] in text


@pytest.mark.parametrize("words", [(), ("bench",)])
def test_a_group_alone_is_its_help(words: tuple[str, ...]) -> None:
    alone, asked = verieval(*words), verieval(*words, "--help")
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, asked.stdout, "")


def test_version() -> None:
    from verieval import __version__

    assert verieval("--version").stdout == f"verieval {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    text = verieval("completion", shell).stdout
    assert f"_VERIEVAL_COMPLETE={shell}_complete" in text


def test_completion_answers() -> None:
    def complete(line: str) -> list[str]:
        env = {"_VERIEVAL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        return [row.split(",")[1] for row in verieval(**env).stdout.splitlines()]

    assert complete("verieval co") == ["compare", "convert", "completion"]
    assert "--benchmark" in complete("verieval run --be")
    assert complete("verieval run --protocol verilog") == ["verilog-eval-low", "verilog-eval-high"]


def test_the_completion_script_is_valid_bash(tmp_path: Path) -> None:
    (tmp_path / "c").write_text(verieval("completion", "bash").stdout)
    assert subprocess.run(["bash", "-n", str(tmp_path / "c")]).returncode == 0


def test_options_of_a_fixed_choice_are_the_engine_s_own() -> None:
    from serve.engines.openai import ENDPOINTS
    from verieval.cli.run import command

    (endpoint,) = (option.type for option in command.params if option.name == "endpoint")
    assert isinstance(endpoint, click.Choice)
    assert list(endpoint.choices) == list(ENDPOINTS)


def test_the_judge_s_own_limits_are_the_ones_in_the_help() -> None:
    from verieval.judge import Limits

    words = " ".join(verieval("run", "--help").stdout.split())
    assert Limits().compile_cpu == Limits().simulate_cpu == 30
    assert (
        "in whole seconds (default: 30). Where the benchmark's own rule ends a simulation sooner, that holds" in words
    )


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    assert isinstance(caught.value.code, int)
    return caught.value.code


# ---- errors -------------------------------------------------------------------------------------------------------

ROW = json.dumps({"task_id": "wrap_counter", "sample": 0, "text": "module m; endmodule"}) + "\n"

# Words of the command line, what stands in the sentence. `f.jsonl` holds one good row, `dir` is an empty folder.
BAD = [
    (["frobnicate"], "No such command 'frobnicate'"),
    (["run"], "Missing option '--model'"),
    (["run", "--model", "no/such/folder"], "no such folder"),
    (["run", "--model", "dir"], "holds neither config.json nor adapter_config.json"),
    (["run", "--model", "replay:missing.jsonl"], "does not exist"),
    (["run", "--model", "replay:f.jsonl", "--benchmark", "nonsense"], "There is no benchmark 'nonsense'"),
    (["run", "--model", "replay:f.jsonl", "--benchmark", "rtllm", "--data", "dir"], "clone"),
    (["run", "--model", "openai:m@http://localhost:9", "--protocol", "nonsense"], "there is no protocol 'nonsense'"),
    (
        ["run", "--model", "openai:m@http://localhost:9", "--prompt", "missing.j2"],
        "prompt file missing.j2 cannot be read",
    ),
    (["run", "--model", "openai:m@http://localhost:9", "--prompt", "bad.j2"], "line 2"),
    (["run", "--model", "replay:f.jsonl", "--tasks", "nothing*"], "matches 'nothing*'"),
    (["run", "--model", "replay:f.jsonl", "--tasks", ""], "--tasks is empty"),
    (["run", "--model", "replay:f.jsonl", "--limit", "0"], "'--limit': 0 is not in the range"),
    (["run", "--model", "replay:f.jsonl", "-n", "0"], "'-n': 0 is not in the range"),
    (["run", "--model", "replay:f.jsonl", "-n", "many"], "'many' is not a valid integer"),
    (["run", "--model", "replay:f.jsonl", "-n", "10000000"], "'-n': 10000000 is not in the range 1<=x<=10000"),
    (["run", "--model", ""], "--model is empty"),
    (["run", "--model", "openai:x@http://[bad"], "no valid host"),
    (["run", "--model", "openai:m@http://localhost:9", "--timeout", "nan"], "nan is not a number of seconds"),
    (["run", "--model", "openai:m@http://localhost:9", "--timeout", "inf"], "inf is not a number of seconds"),
    (["run", "--model", "replay:f.jsonl", "--ks", "9" * 5000], "is not a list of positive numbers"),
    (["score", "f.jsonl", "--benchmark", "verieval", "-n", "10000000"], "'-n': 10000000 is not in the range"),
    (["score", "evil.jsonl", "--benchmark", "verieval"], "(a\\n\\x1b[31mb)"),
    (["run", "--model", "openai:m@http://localhost:9", "--temperature", "-1"], "temperature must be"),
    (["run", "--model", "openai:m@http://localhost:9", "--temperature", "nan"], "temperature must be"),
    (["run", "--model", "openai:m@http://localhost:9", "--top-p", "1.5"], "top-p must be"),
    (["run", "--model", "openai:m@http://localhost:9", "--seed", "-3"], "seed must be"),
    (["run", "--model", "replay:f.jsonl", "--jobs", "0"], "'--jobs': 0 is not in the range"),
    (["run", "--model", "replay:f.jsonl", "--executor", "ray"], "'ray' is not 'local'"),
    (["run", "--model", "replay:f.jsonl", "--engine", "warp"], "there is no engine 'warp'"),
    (["run", "--model", "replay:f.jsonl", "--dtype", "bf16"], "does not apply to the replay engine"),
    (
        ["run", "--model", "replay:f.jsonl", "--protocol", "default"],
        "protocol does not apply to completions that exist",
    ),
    (["run", "--model", "replay:f.jsonl", "--prompt", "bad.j2"], "prompt does not apply to completions that exist"),
    (["run", "--model", "replay:f.jsonl", "--temperature", "0"], "temperature does not apply to completions"),
    (["run", "--model", "replay:f.jsonl", "--top-p", "1"], "top-p does not apply to completions that exist"),
    (["run", "--model", "replay:f.jsonl", "--top-k", "0"], "top-k does not apply to completions that exist"),
    (["run", "--model", "replay:f.jsonl", "--max-tokens", "9"], "max-tokens does not apply to completions that exist"),
    (["run", "--model", "f.jsonl", "--engine", "replay", "--seed", "0"], "seed does not apply to completions"),
    (["run", "--model", "replay:f.jsonl", "--tasks", "sat_addsub"], "no completion of the chosen tasks"),
    (["run", "--model", "openai:m@http://localhost:9", "--endpoint", "auto"], "'auto' is not one of 'chat'"),
    (["run", "--model", "replay:f.jsonl", "--icarus", "dir"], "no Icarus Verilog in dir"),
    (["run", "--model", "replay:f.jsonl", "--cpu-limit", "0"], "'--cpu-limit': 0 is not in the range"),
    (["run", "--model", "replay:f.jsonl", "--cpu-limit", "0.5"], "'0.5' is not a valid integer"),
    (["run", "--model", "replay:f.jsonl", "--cpu-limit", "nan"], "'nan' is not a valid integer"),
    (["run", "--model", "replay:f.jsonl", "--ks", "1,zero"], "not a list of positive numbers"),
    (["run", "--model", "replay:f.jsonl", "--criterion", "lenient"], "'lenient' is not one of"),
    (["run", "--model", "replay:f.jsonl", "--out", "f.jsonl"], "a file is in the way"),
    (["run", "--model", "replay:f.jsonl", "--out", "full"], "not empty and not a run folder"),
    (["run", "--model", "replay:f.jsonl", "--out", "/proc/nowhere"], "no such file or directory"),
    (["score", "f.jsonl"], "--benchmark is needed"),
    (["score", "missing.jsonl", "--benchmark", "verieval"], "does not exist"),
    (["score", "torn.jsonl", "--benchmark", "verieval"], "torn.jsonl:2: this line is not JSON"),
    (["score", "unknown.jsonl", "--benchmark", "verieval"], "no task of unknown.jsonl is in verieval (other)"),
    (["score", "empty.jsonl", "--benchmark", "verieval"], "is empty"),
    (["score", "dir", "--benchmark", "verieval"], "neither completions.jsonl nor"),
    (["score", "f.jsonl", "--benchmark", "verieval", "-n", "0"], "'-n': 0 is not in the range"),
    (["score", "f.jsonl", "--benchmark", "verieval", "--unequal-n"], "add --present-only"),
    (["score", "f.jsonl", "--benchmark", "verieval", "--reextract"], "needs a run folder"),
    (["score", "f.jsonl", "--benchmark", "verieval", "--reextract", "--out", "x"], "leave out --out"),
    (["score", "f.jsonl", "--benchmark", "verieval", "--tasks", "sat_addsub"], "no completion of the chosen tasks"),
    (["report", "dir"], "not a run folder"),
    (["report", "f.jsonl"], "is a file, not a run folder"),
    (["report", "missing"], "not a run folder"),
    (["compare", "dir", "dir"], "not a run folder"),
    (["compare", "dir", "dir", "--ks", "0"], "'0' is not a list of positive numbers"),
    (["completion", "powershell"], "'powershell' is not one of"),
    (["bench", "show", "verieval", "no_such_task"], "has no task 'no_such_task'"),
]


@pytest.fixture(scope="module")
def bad_inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    (folder / "f.jsonl").write_text(ROW)
    (folder / "torn.jsonl").write_text(ROW + ROW[:20])
    (folder / "unknown.jsonl").write_text(ROW.replace("wrap_counter", "other"))
    (folder / "empty.jsonl").write_text("")
    (folder / "evil.jsonl").write_text(ROW.replace("wrap_counter", "a\\n\\u001b[31mb"))
    (folder / "bad.j2").write_text("fine\n{% if %}\n")
    (folder / "dir").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "thesis.tex").write_text("")
    return folder


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize(("words", "sentence"), BAD, ids=[" ".join(words)[-60:] for words, _ in BAD])
def test_bad_input_is_one_sentence_and_status_2(
    bad_inputs: Path,
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = sorted(str(path) for path in bad_inputs.rglob("*"))
    monkeypatch.chdir(bad_inputs)
    monkeypatch.delenv("VERIEVAL_DATA", raising=False)
    assert call(*words) == 2
    said, error = capsys.readouterr()
    assert error.startswith("verieval: error: ")
    assert error.count("\n") == 1
    assert sentence in error
    assert said == ""
    left = [path for path in sorted(str(path) for path in bad_inputs.rglob("*")) if path not in before]
    assert [path for path in left if not path.endswith(".lock")] == []


def explode() -> None:
    raise ZeroDivisionError("an unforeseen thing\nwith a second line")


def full() -> None:
    raise OSError(28, "No space left on device", "/some/where/completions.jsonl")


def give_up() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that fail in ways that no input brings about."""
    for function in (explode, full, give_up):
        module = types.ModuleType(f"verieval_test_{function.__name__}")
        module.command = click.command(function.__name__)(function)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.COMMANDS, function.__name__, Entry(module.__name__, ""))


@pytest.mark.usefixtures("faulty")
def test_a_bug_is_a_sentence_with_the_traceback_in_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VERIEVAL_DEBUG", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert call("explode") == 70
    said = capsys.readouterr().err
    assert said.startswith("verieval: internal error: ZeroDivisionError: an unforeseen thing; this is a bug")
    assert said.count("\n") == 1
    (file,) = tmp_path.iterdir()
    assert str(file) in said
    assert "explode" in file.read_text()


@pytest.mark.usefixtures("faulty")
def test_debugging_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIEVAL_DEBUG", "1")
    assert call("explode") == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.usefixtures("faulty")
def test_a_full_disk_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("full") == 2
    assert capsys.readouterr().err == (
        "verieval: error: no space left on device (/some/where/completions.jsonl); "
        "free some space and run the same command again\n"
    )


@pytest.mark.usefixtures("faulty")
def test_an_interrupt_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("give_up") == 130
    assert "interrupted; what had been written stays" in capsys.readouterr().err


def test_output_that_cannot_be_written_is_a_sentence() -> None:
    with Path("/dev/full").open("w") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "verieval", "--help"], stdout=stream, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
    assert done.returncode == 2
    assert done.stderr.startswith("verieval: error: no space left on device")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "verieval", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() in (0, 1)
    process.stderr.close()


def closed(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program with standard streams that the shell closed."""
    line = shlex.join([sys.executable, "-m", "verieval", *words])
    return subprocess.run(["bash", "-c", f"{line} {redirection}"], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(redirection: str) -> None:
    done = closed(redirection, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    done = closed(redirection, "report", "missing")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_file_never_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """Else what a simulator prints would end in a file of the run."""
    code = (
        "import sys, os, subprocess; from verieval import cli\n"
        "cli._open_closed_streams()\n"
        "with open(sys.argv[1], 'w') as file: subprocess.run(['echo', 'lost'])\n"
    )
    line = shlex.join([sys.executable, "-c", code, str(tmp_path / "f")])
    assert subprocess.run(["bash", "-c", f"{line} >&-"], cwd=ROOT).returncode == 0
    assert (tmp_path / "f").read_text() == ""


def test_a_report_that_cannot_be_written_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = {
        "schema": 1,
        "benchmark": {"name": "toy", "variant": "", "commit": None, "sha256": "ab", "tasks": ["t"], "errata": []},
        "sampling": {"n": 1},
        "criterion": {"headline": "strict"},
        **{section: {} for section in ("model", "prompt", "extraction", "engine", "toolchain")},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "report.json").mkdir()  # root may write to any folder, but not in the place of one
    assert call("report", str(tmp_path), "--json") == 0
    said, error = capsys.readouterr()
    assert json.loads(said)["missing"] == {"t": 1}
    assert error.startswith("verieval: note: report.json was not written: is a directory")
    assert error.count("\n") == 1
