"""Runs: the manifest that explains one, the files that hold it, and the pipeline that makes it."""

from verieval.run.store import RunData, read_run

__all__ = ["RunData", "read_run"]
