"""`python -m actorflow.testing.transport_contract NAME`: tries a transport that is installed."""

from __future__ import annotations

import argparse
import sys

import anyio

from actorflow.errors import OpError
from actorflow.testing.transport_contract import Broken, check
from actorflow.transport.installed import find


def main() -> int:
    """0 where all rules are kept, else 1."""
    parser = argparse.ArgumentParser(prog="python -m actorflow.testing.transport_contract", description=main.__doc__)
    parser.add_argument("name", help="the name of a transport that is installed")
    name = parser.parse_args().name
    try:
        count = anyio.run(check, find(name))
    except (Broken, OpError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The transport {name} keeps all rules ({count} trials).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
