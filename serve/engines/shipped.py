"""Models that come with the package: asked for by name, found where the package lies."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

# nano: docs/nano.md says what it is for.
SHIPPED = ("nano",)


def shipped_folder(model: str) -> Path | None:
    """Folder of the model that ships under this name; None for any other, and where a folder here has the name."""
    if model not in SHIPPED or Path(model).exists():
        return None
    return Path(str(resources.files("finetune") / model / "model"))
