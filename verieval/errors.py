"""The errors that a user can cause, each one sentence that says what is wrong and what to do."""

_MOST = 1500  # characters of a sentence


class VerievalError(Exception):
    """Bad input or a missing tool. The command line prints the message alone and exits with status 2.

    A sentence may quote data, which may be of any length: one that nobody would read is cut in its middle.
    """

    def __init__(self, message: str) -> None:
        if len(message) > _MOST:
            message = f"{message[: _MOST // 2]} … {message[-_MOST // 3 :]}"
        super().__init__(message)


class BenchError(VerievalError):
    """A task itself is at fault: its bench, its reference, or what ``task.toml`` says. No candidate is judged by it."""
