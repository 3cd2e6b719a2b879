"""`submit` and `verify` as a user calls them, on tasks with benches in Verilog and with the real judge."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.cli import main
from verieval.completion import Completion
from verieval.judge import Toolchain
from verieval.run.store import completion_row

ROOT = Path(__file__).resolve().parents[2]
DATA = ("--data", VERILOG_BENCHES)
STATED = ("--licence", "MIT", "--contact", "me@example.org", "--model", "toy/model-a")

pytestmark = pytest.mark.usefixtures("toolchain")

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference runs are made once for the tests here."""
    monkeypatch.setenv("VERIEVAL_CACHE", str(tmp_path_factory.getbasetemp() / "submit-cache"))


def invoke(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``run``, scored from a file, and ``bundle.zip``."""
    folder = tmp_path_factory.mktemp("made")
    rows = []
    for task in benchmarks.load("verieval", VERILOG_BENCHES).tasks:
        right = f"```verilog\n{task.reference}\n```\n"
        rows += [Completion(task.id, 0, right), Completion(task.id, 1, right.replace("endmodule", ""))]
    (folder / "rows.jsonl").write_text("".join(json.dumps(completion_row(row)) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIEVAL_CACHE", str(tmp_path_factory.getbasetemp() / "submit-cache"))
        run = folder / "run"
        assert invoke("score", folder / "rows.jsonl", "--benchmark", "verieval", *DATA, "--out", run, "--quiet") == 0
        assert invoke("submit", *DATA, run, "-o", folder / "bundle.zip", *STATED) == 0
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command in this process, in an empty folder; returns status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()

    def run(*words: str | Path) -> tuple[int, str, str]:
        status = invoke(*words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def rewritten(made: Path, target: Path, name: str, old: bytes, new: bytes) -> Path:
    """The bundle with a change in one file; the hashes are left."""
    with zipfile.ZipFile(made / "bundle.zip") as source, zipfile.ZipFile(target, "w") as copy:
        for info in source.infolist():
            data = source.read(info)
            assert info.filename != name or old in data
            copy.writestr(info, data.replace(old, new, 1) if info.filename == name else data)
    return target


# ---- submit -------------------------------------------------------------------------------------------------------


def test_submit_says_where_and_what(made: Path, call: Call) -> None:
    status, out, _ = call("submit", *DATA, made / "run", "-o", "b", *STATED)
    tasks = len(benchmarks.load("verieval", VERILOG_BENCHES).tasks)
    first, second, third = out.splitlines()
    assert status == 0
    assert first == f"toy/model-a on verieval: {tasks} tasks, {2 * tasks} samples"
    assert second == "bundle: b"
    status, out, _ = call("submit", *DATA, made / "run", "-o", "b.zip", *STATED, "--json")
    said = json.loads(out)
    assert third == f"id: {said['id']}"
    assert said["samples"] == 2 * tasks
    assert Path("b.zip").read_bytes() == (made / "bundle.zip").read_bytes()
    assert subprocess.run(["sha256sum", "--quiet", "-c", "manifest.sha256"], cwd="b").returncode == 0


def test_submit_asks_for_what_it_lacks(made: Path, call: Call) -> None:
    status, out, err = call("submit", *DATA, made / "run", "-o", "b.zip")
    assert (status, out) == (2, "")
    assert "(--model)" in err
    assert "(--licence)" in err
    assert "(--contact)" in err
    assert len(err.splitlines()) == 1
    assert not list(Path().iterdir())


def test_submit_takes_a_file_and_options_overrule_it(made: Path, call: Call) -> None:
    Path("about.yaml").write_text("licence: MIT\ncontact: me\nmodel: other\nloss: masked\n")
    assert call("submit", *DATA, made / "run", "-o", "b", "--about", "about.yaml", "--model", "mine")[0] == 0
    said = Path("b/submission.yaml").read_text()
    assert "name: mine\n" in said
    assert "loss: masked\n" in said


@pytest.mark.parametrize("arguments", [("--limit", "3"), ("--tasks", "*_fifo,crc*")])
def test_a_selection_of_tasks_is_no_submission(arguments: tuple[str, ...], made: Path, call: Call) -> None:
    words = ("--benchmark", "verieval", *DATA, "--out", "part", "--quiet")
    assert call("score", made / "rows.jsonl", *words, *arguments)[0] == 0
    status, out, err = call("submit", *DATA, "part", "-o", "b.zip", *STATED)
    assert (status, out) == (2, "")
    assert "cannot be submitted" in err
    assert "tasks" in err
    assert not Path("b.zip").exists()


def test_a_run_that_was_judged_again_is_a_submission(made: Path, call: Call) -> None:
    shutil.copytree(made / "run", "run")
    assert call("score", "run", *DATA, "--reextract", "--quiet")[0] == 0
    assert Path("run/manifest.1.json").exists()
    assert call("submit", *DATA, "run", "-o", "b.zip", *STATED)[0] == 0


@pytest.mark.parametrize("target", ["b.tar.gz", "run/b.zip", "taken"])
def test_submit_refuses_a_target(target: str, made: Path, call: Call) -> None:
    shutil.copytree(made / "run", "run")
    Path("taken").mkdir()
    Path("taken/mine").write_text("x")
    status, _, err = call("submit", *DATA, "run", "-o", target, *STATED)
    assert status == 2
    assert "-o" in err
    assert sorted(path.name for path in Path().iterdir()) == ["run", "taken"]


# ---- verify -------------------------------------------------------------------------------------------------------


def test_verify_says_re_simulated(made: Path, call: Call) -> None:
    status, out, err = call("verify", *DATA, made / "bundle.zip")
    assert status == 0
    assert out.splitlines()[-1] == "tier: re-simulated"
    assert "id: sha256:" in out
    tasks = len(benchmarks.load("verieval", VERILOG_BENCHES).tasks)
    assert f"reported strict: {tasks} of {2 * tasks} samples pass, pass@1 0.5000" in out
    assert f"judged {2 * tasks}/{2 * tasks}" in err


def test_verify_in_json(made: Path, call: Call) -> None:
    status, out, err = call("verify", *DATA, made / "bundle.zip", "--json", "--sample", "20%", "--seed", "4")
    said = json.loads(out)
    assert (status, err) == (0, "")
    assert said["tier"] == "spot-checked"
    assert (said["share"], said["seed"], said["simulated"]) == (0.2, 4, round(0.2 * said["samples"]))
    assert said["reasons"] == []
    assert said["judge"]["toolchain"]["icarus"]


def test_a_spot_check_shows_its_seed(made: Path, call: Call) -> None:
    status, out, _ = call("verify", *DATA, made / "bundle.zip", "--sample", "5%", "--quiet")
    assert status == 0
    assert "(seed " in out
    assert "re-simulated" not in out
    assert out.splitlines()[-1] == "tier: spot-checked"


def test_verify_rejects_with_the_reason(made: Path, call: Call) -> None:
    path = rewritten(made, Path("b.zip"), "report.json", b'"value": 0.5', b'"value": 0.9')
    status, out, err = call("verify", *DATA, path)
    assert (status, err) == (1, "")
    assert out.splitlines() == [
        "tier: rejected",
        "  [hash] report.json: is not the file that manifest.sha256 lists: it was changed",
    ]
    status, out, _ = call("verify", *DATA, path, "--json")
    assert status == 1
    assert [reason["code"] for reason in json.loads(out)["reasons"]] == ["hash"]


def test_a_name_cannot_write_to_the_terminal(made: Path, call: Call) -> None:
    with zipfile.ZipFile(made / "bundle.zip") as source, zipfile.ZipFile("b.zip", "w") as copy:
        for info in source.infolist():
            copy.writestr(info, source.read(info))
        copy.writestr("\x1b]0;owned\x07", b"x")
    status, out, _ = call("verify", *DATA, "b.zip")
    assert status == 1
    assert "\x1b" not in out
    assert "[unsafe_path]" in out


def test_what_this_machine_cannot_tell(made: Path, call: Call, tmp_path: Path) -> None:
    for words, sentence in (
        (("nothing.zip",), "does not exist"),
        ((made / "bundle.zip", "--icarus", tmp_path), "no Icarus Verilog in"),
        ((made / "bundle.zip", "--sample", "0%"), "is not a share"),
        ((made / "bundle.zip", "--sample", "101%"), "is not a share"),
        ((made / "bundle.zip", "--sample", "0.1"), "is not a share"),
        ((made / "bundle.zip", "--seed", "1"), "--sample"),
    ):
        status, out, err = call("verify", *DATA, *words)
        assert (status, out) == (2, ""), words
        assert sentence in err
        assert len(err.splitlines()) == 1


def test_another_icarus_is_refused(made: Path, call: Call, toolchain: Toolchain, icarus12: Toolchain) -> None:
    if toolchain.major == icarus12.major:
        pytest.skip("there is one Icarus Verilog here")
    prefix = Path(icarus12.iverilog[0]).parents[1]
    status, out, err = call("verify", *DATA, made / "bundle.zip", "--icarus", prefix)
    assert (status, out) == (2, "")
    assert f"was judged with Icarus Verilog {toolchain.version}" in err
    assert "--icarus" in err


def test_verify_writes_nothing(made: Path, call: Call) -> None:
    before = (made / "bundle.zip").read_bytes()
    assert call("verify", *DATA, made / "bundle.zip", "--sample", "5%", "--quiet")[0] == 0
    assert not list(Path().iterdir())
    assert (made / "bundle.zip").read_bytes() == before


def test_verify_can_be_stopped(made: Path, tmp_path: Path) -> None:
    program = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program += "runpy.run_module('verieval', run_name='__main__', alter_sys=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "verify", *map(str, DATA), str(made / "bundle.zip"), "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "VERIEVAL_CACHE": str(tmp_path / "cache")},
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode in (130, 0)  # 0 where the machine was quicker
    assert process.returncode == 0 or "nothing was decided" in err or "interrupted" in err
    assert process.returncode == 0 or "tier" not in out


@pytest.mark.parametrize("command", ["submit", "verify"])
def test_help(command: str, call: Call) -> None:
    status, out, _ = call(command, "--help")
    assert status == 0
    assert "bundle" in out.lower()
