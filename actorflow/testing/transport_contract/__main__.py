"""`python -m actorflow.testing.transport_contract NAME`: tries a transport that is installed."""

from __future__ import annotations

import sys

from actorflow.engine.transport.installed import find
from actorflow.testing.transport_contract import CONTRACT

if __name__ == "__main__":
    sys.exit(CONTRACT.main("actorflow.testing.transport_contract", find))
