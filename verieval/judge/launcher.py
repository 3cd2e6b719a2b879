"""A small process that starts the tools: one a worker, alive as long as its pool.

It runs as a script of its own (``python -I -S launcher.py ROOT``), imports nothing beside a few modules of the
standard library, and so starts a tool in a fraction of a millisecond, whatever the size of the program that asked.
Requests and answers are JSON lines over standard input and output. Each request is one command:

    {"argv": [...], "cwd": dir, "env": {...}, "stdout": file, "stderr": file or null (with stdout),
     "cpu": s, "wall": s, "memory": bytes, "file": bytes}

    {"returncode": n or null, "signal": n, "killed": "" or "wall", "cpu": s, "wall": s, "maxrss_kib": n, "error": ""}

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
import sys
import time
from typing import Any

_HELD = (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE)


def main(root: str) -> None:
    """Serve requests from standard input until it closes, then remove ``root``."""
    # A handler, not SIG_IGN: a handler is reset when the tool is started, an ignored signal would stay ignored there.
    signal.signal(signal.SIGXCPU, lambda *_: None)
    signal.signal(signal.SIGXFSZ, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pool decides what an interrupt means
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        for line in sys.stdin:
            answer = _serve(json.loads(line))
            if answer is None:
                return
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:
        pass
    finally:
        os.chdir("/")
        shutil.rmtree(root, ignore_errors=True)


def _serve(request: dict[str, Any]) -> dict[str, Any] | None:
    started = time.monotonic()
    try:
        pid = _start(request)
    except (OSError, ValueError) as error:
        return {
            "returncode": None,
            "signal": 0,
            "killed": "",
            "cpu": 0.0,
            "wall": 0.0,
            "maxrss_kib": 0,
            "error": str(error),
        }
    killed = _wait(pid, request["wall"])
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
        "error": "",
    }


def _start(request: dict[str, Any]) -> int:
    os.chdir(request["cwd"])
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    if request["stderr"] is None:
        actions.append((os.POSIX_SPAWN_DUP2, 1, 2))
    else:
        actions.append((os.POSIX_SPAWN_OPEN, 2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    limits = (max(1, int(request["cpu"] + 0.999)), int(request["memory"]), int(request["file"]))
    before = [resource.getrlimit(which) for which in _HELD]
    try:
        for which, (_, hard), limit in zip(_HELD, before, limits, strict=True):
            soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(which, (soft, hard))
        argv = request["argv"]
        return os.posix_spawn(argv[0], argv, request["env"], file_actions=actions, setsid=True)
    finally:
        for which, held in zip(_HELD, before, strict=True):
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
