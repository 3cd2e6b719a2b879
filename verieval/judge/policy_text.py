"""The text that a candidate with directives is judged by: macros expanded, directives gone, lines where they were.

The preprocessor that expands it is pyslang's, and the same text is then both checked and compiled, so that no second
preprocessor can read anything else from it. White space comes back as spaces and line ends only, comments not at all.
"""

from __future__ import annotations

import re
from typing import Any

from verieval.judge.policy_words import refuse_escaped

MAX_TEXT = 1 << 20  # characters, before and after expansion; a macro bomb ends here
MAX_DEPTH = 1024  # of nested constructs; a chain of as many `else if` counts too
_PREDEFINED = ("__ICARUS__=1",)
_FOREIGN = ("__slang__", "__slang_major__", "__slang_minor__")
_IN_STRING = re.compile(r"\\(?:\r\n|(?s:.))|`")


class TooLarge(Exception):
    """A text that is too long or too deep; the message says what."""


def options(module: str) -> Any:
    """The settings of pyslang for one candidate: Icarus's language, ``module`` the only root, no file to include."""
    from pyslang import Bag, LanguageVersion, ast, parsing

    compilation = ast.CompilationOptions()
    compilation.topModules = {module}
    flags = ast.CompilationFlags
    compilation.flags = (
        flags.AllowUseBeforeDeclare  # as Icarus 11 and 12 do
        | flags.AllowHierarchicalConst
        | flags.RelaxEnumConversions
        | flags.RelaxStringConversions
    )
    compilation.languageVersion = LanguageVersion.v1800_2017
    compilation.maxInstanceArray = 4096
    compilation.maxGenerateSteps = 20_000
    compilation.maxInstanceDepth = 64
    compilation.maxConstexprSteps = 500_000
    compilation.typoCorrectionLimit = 0
    preprocessor = parsing.PreprocessorOptions()
    preprocessor.languageVersion = LanguageVersion.v1800_2017
    preprocessor.predefines = list(_PREDEFINED)
    preprocessor.undefines = list(_FOREIGN)
    preprocessor.maxIncludeDepth = 0
    lexer = parsing.LexerOptions()
    lexer.languageVersion = LanguageVersion.v1800_2017
    parser = parsing.ParserOptions()
    parser.languageVersion = LanguageVersion.v1800_2017
    parser.maxRecursionDepth = MAX_DEPTH
    return Bag([compilation, preprocessor, lexer, parser])


def parse(text: str, bag: Any) -> Any:
    """A syntax tree with a source manager of its own.

    Raises:
        TooLarge: constructs are nested too deeply.
    """
    from pyslang import SourceManager, syntax

    try:
        return syntax.SyntaxTree.fromText(text, SourceManager(), "candidate.sv", "candidate.sv", bag)
    except RuntimeError as error:  # without a message: all that the parser ever throws
        raise TooLarge(f"constructs are nested more than {MAX_DEPTH} deep") from error


def expand(tree: Any) -> tuple[str, str]:
    """The text that the preprocessor made, and why it cannot be written down (empty if it can).

    Raises:
        TooLarge: it passes :data:`MAX_TEXT`.
    """
    from pyslang import ast, parsing

    writer = _Writer(tree.sourceManager)
    token_type, interrupt = parsing.Token, ast.VisitAction.Interrupt

    def write(node: Any) -> Any:
        if isinstance(node, token_type):
            writer.add(node)
            if writer.length > MAX_TEXT:
                return interrupt
        return None

    tree.root.visit(write)
    if writer.length > MAX_TEXT:
        raise TooLarge(f"macros expand it to more than {MAX_TEXT} characters")
    return writer.text(), writer.trouble


class _Writer:
    def __init__(self, manager: Any) -> None:
        from pyslang import parsing, syntax

        self._manager = manager
        self._directive = parsing.TriviaKind.Directive
        self._time_scale = syntax.SyntaxKind.TimeScaleDirective
        self._reset = syntax.SyntaxKind.ResetAllDirective
        self._string = parsing.TokenKind.StringLiteral
        self._parts: list[str] = []
        self._line = 1
        self._last_end: int | None = None
        self.length = 0
        self.trouble = ""

    def add(self, token: Any) -> None:
        raw = token.rawText
        for trivia in token.trivia:
            if trivia.kind == self._directive:
                node = trivia.syntax()
                if node.kind == self._time_scale:
                    self._add_time_scale(node)
                elif node.kind == self._reset:  # the policy allows it before any module: so far there is nothing else
                    self._parts, self._line = [], 1
        if not raw:
            return
        if token.kind == self._string:
            raw = _IN_STRING.sub(_without_backtick, raw)
        elif raw.startswith("\\"):
            why = refuse_escaped(raw)
            self.trouble = self.trouble or (f"the escaped name {raw[:60]}: {why}" if why else "")
        elif "`" in raw:
            self.trouble = self.trouble or "a backtick is left where macros are expanded"
        manager, location = self._manager, token.location
        in_macro = manager.isMacroLoc(location)
        where = manager.getFullyExpandedLoc(location) if in_macro else location
        line = manager.getLineNumber(where)
        joined = not in_macro and self._last_end == location.offset
        gap = "\n" * (line - self._line) if line > self._line else "" if joined else " "
        self._line = max(line, self._line) + raw.count("\n")
        self._last_end = None if in_macro or raw.startswith("\\") else location.offset + len(token.rawText.encode())
        self._put(gap + raw)

    def text(self) -> str:
        return "".join(self._parts) + "\n"

    def _add_time_scale(self, node: Any) -> None:
        line = self._manager.getLineNumber(self._manager.getFullyExpandedLoc(node.sourceRange.start))
        words = [node.timeUnit.rawText, node.timePrecision.rawText]
        self._put("\n" * max(1, line - self._line) + f"`timescale {words[0]} / {words[1]}\n")
        self._line = max(line, self._line + 1) + 1
        self._last_end = None

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)


def _without_backtick(match: re.Match[str]) -> str:
    r"""A backtick in a string as its octal escape; line continuations vanish, as the standard says they do."""
    piece = match[0]
    if piece in ("`", "\\`"):
        return "\\140"
    return "" if piece[1:] in ("\n", "\r\n", "\r") else piece
