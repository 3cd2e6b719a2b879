"""Which of this project's prompts made the users' turns: found in the rows, so that nobody has to declare it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from verieval import protocol
from verieval.completion import Message

# A prompt with less fixed text than this is recognised by nothing.
LEAST = 40
_FIRST_TAG, _LAST_TAG = re.compile(r"\{[{%#].*", re.DOTALL), re.compile(r".*[}%#]\}", re.DOTALL)


@dataclass(frozen=True)
class Prompt:
    """A prompt of this project: its hash, and the text that every user's turn made by it begins and ends with."""

    sha256: str
    start: str
    end: str


class PromptFinder:
    """Sees all conversations of a training, and knows at the end which prompt made every one of them."""

    def __init__(self) -> None:
        self._left: Sequence[Prompt] = shipped_prompts()
        self._seen = False

    def see(self, messages: Sequence[Message]) -> None:
        """Look at one conversation; its last user's turn is the question."""
        asked = [message.content.strip() for message in messages if message.role == "user"]
        text = asked[-1] if asked else ""
        self._seen = True
        self._left = [prompt for prompt in self._left if text.startswith(prompt.start) and text.endswith(prompt.end)]

    @property
    def sha256(self) -> str | None:
        """Hash of the prompt (as a run's manifest has it); None where none made all the turns."""
        return self._left[0].sha256 if self._seen and self._left else None


@lru_cache(maxsize=1)
def shipped_prompts() -> tuple[Prompt, ...]:
    """The prompts of all presets, those with more fixed text first."""
    found = set()
    for name in protocol.PRESETS:
        template = protocol.preset_prompt(name)
        start, end = _FIRST_TAG.sub("", template.user).strip(), _LAST_TAG.sub("", template.user).strip()
        if len(start) + len(end) >= LEAST:
            found.add(Prompt(template.sha256, start, end))
    return tuple(sorted(found, key=lambda prompt: (-len(prompt.start) - len(prompt.end), prompt.sha256)))
