"""VeriEval: evaluation of Verilog code generation whose every number can be traced to its cause.

Importing this package imports nothing heavy: torch, jax and transformers are reached only by the engines in
``serve`` and the trainers in ``finetune``, and only when they are used.
"""

__version__ = "0.1.0"
