"""Which of several processes this one is, from the environment alone: before a backend is opened."""

from __future__ import annotations

import os

COORDINATOR, NUMBER, RANK = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"


def is_first() -> bool:
    """Whether this process writes and speaks: torchrun's RANK is 0, or with JAX's coordinator JAX_PROCESS_ID is."""
    name = RANK if os.environ.get(COORDINATOR) else "RANK"
    return int(os.environ.get(name) or "0") == 0
