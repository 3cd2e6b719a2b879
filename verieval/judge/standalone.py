"""The second opinion on names that a dot follows: Icarus elaborates the candidate alone.

A dotted name whose beginning is nowhere in the candidate is looked for in what instantiates it, up to the root. The
policy refuses such names by their text; which branches of a generate construct are there, though, follows from constant
expressions, and on some of these pyslang and Icarus differ. Alone there is nothing above the candidate to be found, so
that a name that would leave it makes the compiler fail. Few honest candidates have a dot in a name, so this costs
nothing on average.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from verieval.judge.icarus import compile_alone
from verieval.judge.policy import Ruling
from verieval.judge.process import Launcher
from verieval.judge.toolchain import Toolchain

_LINE = re.compile(r"^[^:\n]*:(\d+): (?:error: )?(.*)$", re.MULTILINE)


def confirm(ruling: Ruling, launcher: Launcher, toolchain: Toolchain, flags: Sequence[str], module: str) -> Ruling:
    """The ruling, or a refusal where Icarus cannot elaborate what was admitted without anything around it.

    Args:
        ruling: the policy's.
        launcher: where the compiler runs.
        toolchain: the compiler.
        flags: its flags, as with the bench.
        module: the target.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: the launcher or a tool was killed from outside.
    """
    if ruling.outcome or not ruling.dotted:
        return ruling
    result, log = compile_alone(launcher, toolchain, flags, module, ruling.source)
    if result.returncode == 0:
        return ruling
    match = _LINE.search(log)
    said = match[2].strip()[:120] if match else "it says nothing"
    # Where it does not compile with the bench either, that is what the verdict will say.
    return Ruling(
        "elaboration" if result.signal else "not_self_contained",
        int(match[1]) if match else 0,
        f"Icarus does not elaborate it by itself ({said})",
        certain=False,
    )
