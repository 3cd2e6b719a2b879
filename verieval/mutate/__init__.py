"""Mutants of a design: its text with one fault, made at a place that the syntax tree names.

They measure a bench: one that passes a mutant which behaves otherwise than the design does not look at what the fault
changed. Everything but the place of the fault stays as it was, comments and layout included, and the same text always
gives the same mutants.
"""

from __future__ import annotations

from verieval.mutate.make import MUTATE_VERSION, mutants
from verieval.mutate.mutant import KINDS, Edit, Mutant, Mutants, changed_lines, make_mutant, sample

__all__ = ["KINDS", "MUTATE_VERSION", "Edit", "Mutant", "Mutants", "changed_lines", "make_mutant", "mutants", "sample"]
