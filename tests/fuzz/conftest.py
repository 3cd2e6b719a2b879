"""Makes the modules beside the tests importable, and the made-up run of ``tests/run``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "run"):
    sys.path.insert(0, str(folder))
