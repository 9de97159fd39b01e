"""`python -m actorflow.testing.format_contract NAME`: tries a format of checkpoints that is installed."""

from __future__ import annotations

import sys

from actorflow.engine.formats.installed import find
from actorflow.testing.format_contract import CONTRACT, Subject

if __name__ == "__main__":
    sys.exit(CONTRACT.main("actorflow.testing.format_contract", lambda name: Subject(name, find(name))))
