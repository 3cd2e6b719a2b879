"""The chat renderer: conversation turns to the text that a model reads. Evaluation and training both use it.

A chat template is Jinja text in the dialect that transformers gives its templates (``messages``,
``add_generation_prompt``, the special tokens by name, ``raise_exception``, ``{% generation %}`` blocks), so a
checkpoint's own template and the formats kept in ``verieval/protocols/chat`` go through the same code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from verieval.completion import Message
from verieval.errors import VerievalError

if TYPE_CHECKING:
    from jinja2 import Template

CHAT_FORMATS = ("gemma4", "chatml", "llama3")

# The day that a template is told when it asks for today's date: a prompt must not change overnight.
TEMPLATE_DATE = date(2025, 1, 1)

# Tokens that end a turn, over all families. An engine stops at every one that is a single token of its vocabulary.
TURN_ENDS = ("<turn|>", "<end_of_turn>", "<|im_end|>", "<|eot_id|>")


def chat_template(name: str) -> str:
    """Jinja text of the turn format ``name``, one of :data:`CHAT_FORMATS`.

    Raises:
        VerievalError: there is no such format.
    """
    if name not in CHAT_FORMATS:
        raise VerievalError(f"there is no chat format {name!r}: choose one of {', '.join(CHAT_FORMATS)}")
    return (resources.files("verieval") / "protocols" / "chat" / f"{name}.j2").read_text(encoding="utf-8")


def render_chat(
    messages: Sequence[Message],
    template: str,
    *,
    add_generation_prompt: bool,
    tokens: Mapping[str, str] | None = None,
) -> str:
    """Render ``messages`` with a chat template.

    Args:
        messages: turns in order; a system turn comes first if there is one.
        template: Jinja text, a checkpoint's own or :func:`chat_template`'s.
        add_generation_prompt: end with the opening of the assistant's turn.
        tokens: special tokens by the name that templates use (``bos_token``, ``eos_token``, …). The formats of this
            project know their own ``bos_token`` where none is given.

    Raises:
        VerievalError: the template cannot be compiled, or it refuses the conversation.
    """
    variables: dict[str, Any] = {**(tokens or {}), "add_generation_prompt": add_generation_prompt}
    variables["messages"] = [{"role": message.role, "content": message.content} for message in messages]
    # Templates of transformers test these two for None.
    variables.update(tools=None, documents=None)
    try:
        return _compile(template).render(variables)
    except VerievalError:
        raise
    except Exception as error:  # a template is a program: it can fail with any exception
        said = " ".join(str(error).split())
        raise VerievalError(f"the chat template cannot render this conversation: {said}") from error


@lru_cache(maxsize=16)
def _compile(template: str) -> Template:
    from jinja2 import TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_generation_extension(), "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals.update(raise_exception=_raise_exception(), strftime_now=_strftime_now)
    try:
        return environment.from_string(template)
    except TemplateSyntaxError as error:
        raise VerievalError(f"the chat template has a syntax error in line {error.lineno}: {error.message}") from error


def _generation_extension() -> type[Any]:
    """The tag ``{% generation %}``, with which templates mark what the assistant says: here only its content counts."""
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.parser import Parser

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012 (Jinja declares it on the instance)

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    return Generation


def _raise_exception() -> Callable[[str], None]:
    from jinja2 import TemplateError

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    return raise_exception


def _strftime_now(pattern: str) -> str:
    return TEMPLATE_DATE.strftime(pattern)


def _to_json(value: object, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    # Jinja's own filter escapes HTML, which would change code.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)
