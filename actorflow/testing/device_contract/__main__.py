"""`python -m actorflow.testing.device_contract NAME`: tries a type of device that is installed."""

from __future__ import annotations

import sys

from actorflow.engine.device.installed import find
from actorflow.testing.device_contract import CONTRACT

if __name__ == "__main__":
    sys.exit(CONTRACT.main("actorflow.testing.device_contract", find))
