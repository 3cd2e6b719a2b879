"""Judging: from a completion to a verdict, through extraction, compilation and simulation."""

from verieval.judge.limits import Limits
from verieval.judge.pool import JudgePool
from verieval.judge.toolchain import Toolchain, find_toolchain

__all__ = ["JudgePool", "Limits", "Toolchain", "find_toolchain"]
