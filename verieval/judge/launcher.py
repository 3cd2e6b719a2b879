"""A small process that starts the tools: one a worker, alive as long as its pool.

It runs as a script of its own (``python -I -S launcher.py ROOT``), inside the worker's sandbox where there is one,
imports nothing beside a few modules of the standard library, and so starts a tool in a fraction of a millisecond,
whatever the size of the program that asked. Requests come over standard input and answers go to standard output, each
as the length of a header (eight digits), the header in JSON and the bytes of the files that it announces:

    {"files": [[name, size], ...], "steps": [step, ...], "memory": bytes, "file": bytes, "processes": n or 0}
    step: {"argv": [...], "stdout": file, "stderr": file or null (with stdout), "cpu": s, "wall": s,
           "makes": file or "", "env": [[name, value], ...], "returns": [file, ...]}

    {"steps": [how each ended, ...], "files": [[name, size], ...], "free": bytes, "error": "", "where": "",
     "gone": whether ROOT itself is missing}
    how a step ended: {"returncode": n or null, "signal": n, "killed": "" or "wall", "cpu": s, "wall": s,
                       "maxrss_kib": n}

A request is one job: its files are laid into an empty folder, its steps are run there one after the other until one
fails or does not make the file that it should, and the folder is removed. What the steps printed, and the files that
they return, come back under the names that were given for them; the files have others, which nobody can guess: a step
learns them from ``{secret}`` in the values of its environment.

Limits are set as soft limits of this process for the moment in which it starts the tool, which inherits them: a child
that sets its own limits (``preexec_fn``) costs tens of milliseconds in a large parent. Every command is a session of
its own, and the whole process group is killed when its leader ends. When standard input closes, because the pool
closed it or died, the running command is killed and ROOT is removed.
"""

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import stat
import sys
import time
from typing import Any, BinaryIO

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_OPEN_FILES = 64


def main(root: str) -> None:
    """Serve requests from standard input until it closes, then remove ``root``."""
    # A handler, not SIG_IGN: a handler is reset when the tool is started, an ignored signal would stay ignored there.
    signal.signal(signal.SIGXCPU, lambda *_: None)
    signal.signal(signal.SIGXFSZ, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pool decides what an interrupt means
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Unbuffered input: what is buffered would hide from the poll that a request or the end has come.
    requests = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115  lives as long as the process
    answers = sys.stdout.buffer
    try:
        for number in range(sys.maxsize):
            request = json.loads(_exactly(requests, int(_exactly(requests, 8))))
            texts = [_exactly(requests, size) for _, size in request["files"]]
            answer = _serve(os.path.join(root, str(number)), request, texts)
            if answer is None:
                return
            header, bodies = answer
            text = json.dumps(header).encode()
            answers.write(b"%08d" % len(text) + text)
            for body in bodies:
                answers.write(body)
            answers.flush()
    except (BrokenPipeError, EOFError):
        pass
    finally:
        os.chdir("/")
        shutil.rmtree(root, ignore_errors=True)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    parts = []
    while size > 0:
        chunk = stream.read(size)
        if not chunk:
            raise EOFError
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def _serve(folder: str, request: dict[str, Any], texts: list[bytes]) -> tuple[dict[str, Any], list[bytes]] | None:
    """One job. None when the pool is gone."""
    header: dict[str, Any] = {"steps": [], "files": [], "free": 0, "error": "", "where": "", "gone": False}
    bodies: list[bytes] = []
    try:
        request["secret"] = os.urandom(8).hex()
        os.mkdir(folder)
        os.chdir(folder)
        for (name, _), text in zip(request["files"], texts, strict=True):
            with open(name, "wb") as file:
                file.write(text)
        for step in request["steps"]:
            ended = _run(step, request, folder)
            if ended is None:
                return None
            header["steps"].append(ended)
            for name in (step["stdout"], step["stderr"], *step["returns"]):
                if name is not None:
                    body = _read(_log(request, name))
                    header["files"].append([name, len(body)])
                    bodies.append(body)
            if ended["returncode"] != 0 or (step["makes"] and not os.path.exists(step["makes"])):
                break
    except (OSError, ValueError) as error:
        header["error"] = getattr(error, "strerror", None) or str(error)
        header["where"] = str(getattr(error, "filename", None) or folder)
        header["gone"] = not os.path.isdir(os.path.dirname(folder))
    finally:
        with contextlib.suppress(OSError):
            state = os.statvfs(os.path.dirname(folder))
            header["free"] = state.f_bavail * state.f_frsize
            os.chdir("/")
        _clear(os.path.dirname(folder))
    return header, bodies


def _log(request: dict[str, Any], name: str) -> str:
    """The file behind a stream. Nobody can guess it, so a candidate cannot write into it by its name."""
    return f"{request['secret']}-{name}"


def _read(name: str) -> bytes:
    """What a tool printed, unless the candidate put something else in the file's place."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return b""
    with open(handle, "rb") as file:
        return file.read()


def _clear(root: str) -> None:
    """Nothing that a job left may meet the next one."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _run(step: dict[str, Any], request: dict[str, Any], folder: str) -> dict[str, Any] | None:
    started = time.monotonic()
    pid = _start(step, request, folder)
    killed = _wait(pid, step["wall"])
    _kill_group(pid)  # before the leader is reaped, so that the group's number cannot be another's
    _, status, usage = os.wait4(pid, 0)
    if killed == "orphan":
        return None
    return {
        "returncode": os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "killed": killed,
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": time.monotonic() - started,
        "maxrss_kib": usage.ru_maxrss,
    }


def _start(step: dict[str, Any], request: dict[str, Any], folder: str) -> int:
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, _log(request, step["stdout"]), write, 0o600),
    ]
    if step["stderr"] is None:
        actions.append((os.POSIX_SPAWN_DUP2, 1, 2))
    else:
        actions.append((os.POSIX_SPAWN_OPEN, 2, _log(request, step["stderr"]), write, 0o600))
    limits = {
        resource.RLIMIT_CPU: max(1, int(step["cpu"] + 0.999)),
        resource.RLIMIT_AS: int(request["memory"]),
        resource.RLIMIT_FSIZE: int(request["file"]),
        resource.RLIMIT_NOFILE: _OPEN_FILES,
    }
    if request["processes"]:
        limits[resource.RLIMIT_NPROC] = int(request["processes"])
    before = {which: resource.getrlimit(which) for which in limits}
    try:
        for which, limit in limits.items():
            hard = before[which][1]
            soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(which, (soft, hard))
        argv = step["argv"]
        own = {name: value.replace("{secret}", request["secret"]) for name, value in step["env"]}
        environment = {**_ENVIRONMENT, "TMPDIR": folder, **own}
        return os.posix_spawn(argv[0], argv, environment, file_actions=actions, setsid=True)
    finally:
        for which, held in before.items():
            resource.setrlimit(which, held)


def _wait(pid: int, wall: float) -> str:
    """Until the leader ends (left unreaped), the wall time is over, or the pool is gone."""
    poll = select.poll()
    handle = os.pidfd_open(pid)
    try:
        poll.register(handle, select.POLLIN)
        poll.register(0, select.POLLIN | select.POLLHUP)
        ready = [fd for fd, _ in poll.poll(wall * 1000)]
    finally:
        os.close(handle)
    if handle in ready:
        return ""
    return "orphan" if 0 in ready else "wall"


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
