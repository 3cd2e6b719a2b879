"""What a CVDP harness asks of its container, read without running anything; what is not here is said.

Upstream starts each service of ``docker-compose.yml`` in the folder ``/code/rundir`` and wants exit status 0 of all.
Here the services' pytest commands are run in a sandbox that shows the same folders. That takes the open simulator's
image without additions, Icarus, and no Python package beside cocotb and pytest; a harness that asks for more raises
:class:`NotHere`, so that its problem is listed instead of failed.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

# Images with Icarus and cocotb, under the names that upstream has used.
_IMAGES = re.compile(r"__OSS_SIM_IMAGE__|nvidia/cvdp-sim(:\S+)?|ghcr\.io/hdl/sim/osvb(:\S+)?")
_COMMERCIAL = "__VERIF_EDA_IMAGE__"
_PACKAGES = frozenset({"cocotb", "cocotb_tools", "pytest", "find_libpython"})
_COCOTB_1 = frozenset({"cocotb.runner", "cocotb.result", "cocotb.binary", "cocotb.decorators", "cocotb.log.SimLog"})
# Programs that a harness may call and that are not here.
_PROGRAMS = frozenset(
    {
        "yosys", "verilator", "sby", "openroad", "sta", "nextpnr", "xrun", "xmvlog", "irun", "imc", "jg", "vcs", "urg",
        "vsim", "vlog", "qverilog", "dc_shell", "genus", "spyglass", "slang", "verible-verilog-lint", "gcc", "make",
    }
)  # fmt: skip
_SERVICE_KEYS = frozenset(
    {"image", "build", "volumes", "env_file", "environment", "command", "working_dir", "container_name"}
)


class NotHere(Exception):
    """A problem cannot be judged here; the text says why."""


@dataclass(frozen=True)
class Service:
    """One run of pytest: its arguments, and its environment."""

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def services(harness: Mapping[str, str]) -> tuple[Service, ...]:
    """The services of a harness.

    Args:
        harness: its files.

    Raises:
        NotHere: it asks for more than there is.
    """
    import yaml

    try:
        table = yaml.safe_load(harness.get("docker-compose.yml", ""))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that is none, lists in lists
        raise NotHere("its docker-compose.yml cannot be read") from error
    found = table.get("services") if isinstance(table, dict) else None
    if not isinstance(found, dict) or not found:
        raise NotHere("it has no harness")
    done = tuple(_service(service, harness) for service in found.values())
    if len({service.environment for service in done}) != 1:
        raise NotHere("its services have different environments")
    return done


def _service(service: Any, harness: Mapping[str, str]) -> Service:
    if not isinstance(service, dict):
        raise NotHere("its docker-compose.yml cannot be read")
    _refuse_image(service, harness)
    if service.get("networks") or (unknown := sorted(map(str, set(service) - _SERVICE_KEYS))):
        raise NotHere(f"its container uses {'a network' if service.get('networks') else unknown[0]}")
    if service.get("working_dir", "/code/rundir") != "/code/rundir":
        raise NotHere(f"its container works in {service['working_dir']}")
    for volume in _list(service.get("volumes")):
        source, _, rest = str(volume).partition(":")
        place = rest.partition(":")[0].rstrip("/")
        # Upstream ignores what a harness mounts under /code.
        if not place.startswith("/code") and (place != "/src" or PurePosixPath(source) != PurePosixPath("src")):
            raise NotHere(f"its container mounts {volume}")
    environment = _environment(service, harness)
    values = dict(environment)
    if values.get("SIM", "icarus").lower() != "icarus":
        raise NotHere(f"it is simulated with {values['SIM']}")
    if values.get("TOPLEVEL_LANG", "verilog").lower() != "verilog":
        raise NotHere(f"it is written in {values['TOPLEVEL_LANG']}")
    return Service(_arguments(service.get("command")), environment)


def _refuse_image(service: Mapping[str, Any], harness: Mapping[str, str]) -> None:
    image = str(service.get("image", ""))
    steps: list[str] = []
    if "build" in service:
        build = service["build"]
        named = build.get("dockerfile", "Dockerfile") if isinstance(build, dict) else "Dockerfile"
        lines = [line.strip() for line in harness.get(str(named).removeprefix("./"), "").splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        image = next((line.split()[1] for line in lines if line.upper().startswith("FROM ")), "")
        steps = [line for line in lines if line.split()[0].upper() not in ("FROM", "WORKDIR", "CMD", "LABEL")]
    if image == _COMMERCIAL:
        raise NotHere("it needs a commercial simulator")
    if not _IMAGES.fullmatch(image):
        raise NotHere(f"it needs the container image {image or 'that it does not name'}")
    if steps:
        raise NotHere(f"its container image has additions ({steps[0][:60]})")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _environment(service: Mapping[str, Any], harness: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    values: dict[str, str] = {}
    for name in _list(service.get("env_file")):
        for line in harness.get(str(PurePosixPath(str(name))), "").splitlines():
            key, equals, value = line.partition("=")
            if equals and not key.lstrip().startswith("#"):
                values[key.strip()] = _unquoted(value.strip())
    given = service.get("environment") or {}
    pairs = given.items() if isinstance(given, dict) else (str(item).partition("=")[::2] for item in _list(given))
    values |= {str(key): "" if value is None else str(value) for key, value in pairs}
    if odd := [key for key, value in values.items() if not key or "=" in key or "\0" in key + value]:
        raise NotHere(f"its environment has a variable that no process can have ({odd[0][:40]!r})")
    return tuple(values.items())


def _unquoted(value: str) -> str:
    """As compose reads a line of an environment file: quotes around a value, or a comment after it, are no part."""
    if value[:1] in ("'", '"') and value.find(value[0], 1) > 0:
        return value[1 : value.find(value[0], 1)]
    return re.split(r"\s#", value, maxsplit=1)[0].strip()


def _arguments(command: Any) -> tuple[str, ...]:
    """Arguments of pytest; a shell around it is taken off where it adds nothing."""
    try:
        words = [str(word) for word in command] if isinstance(command, list) else shlex.split(str(command or ""))
        if len(words) == 3 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1] == "-c":
            words = shlex.split(words[2])
    except ValueError:
        words = []
    if words[:3] in (["python3", "-m", "pytest"], ["python", "-m", "pytest"]):
        words = words[2:]
    if words[:1] != ["pytest"] or any(re.search(r"[;&|<>$`\0]", word) for word in words):
        raise NotHere(f"its command is no run of pytest ({' '.join(words)[:60] or 'none'})")
    return tuple(words[1:])


def refuse_python(harness: Mapping[str, str]) -> None:
    """Look at what the harness's Python imports and calls.

    Raises:
        NotHere: some of it is not here.
    """
    files = {name: text for name, text in harness.items() if name.endswith(".py") and name.startswith("src/")}
    own = {PurePosixPath(name).parts[1].removesuffix(".py") for name in files}
    for name, text in files.items():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise NotHere(f"its {name} is not valid Python ({type(error).__name__})") from error
        imported = list(_imported(tree))
        for module in imported:
            if module in _COCOTB_1:
                raise NotHere(f"it is written for cocotb 1 (its {name} imports {module})")
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names | _PACKAGES | own:
                raise NotHere(f"it needs the Python package {top} (in {name})")
        if {"subprocess", "os"} & set(imported):
            for program in _called(tree):
                raise NotHere(f"it calls {program} (in {name})")


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
            if node.module.startswith("cocotb"):
                yield from (name for alias in node.names if (name := f"{node.module}.{alias.name}") in _COCOTB_1)


def _called(tree: ast.AST) -> Iterator[str]:
    """Programs that stand at the beginning of a text, as a command does, outside a question for the environment."""
    asked = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.getenv", "os.environ.get", "getenv")
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in asked:
            word = (node.value.split() or [""])[0]
            if word in _PROGRAMS:
                yield word
