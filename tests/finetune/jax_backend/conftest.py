from __future__ import annotations

import os
import sys

import pytest

# Before jax is imported: meshes need devices, and a CPU can be several.
if "jax" not in sys.modules:
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_force_host_platform_device_count" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=4".strip()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("torch")
pytest.importorskip("transformers")
