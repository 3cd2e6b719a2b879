"""The errors that a user can cause, each one sentence that says what is wrong and what to do."""


class VerievalError(Exception):
    """Bad input or a missing tool. The command line prints the message alone and exits with status 2."""
