"""`python -m actorflow` is the command `actorflow`."""

import sys

from actorflow.cli.main import main

sys.exit(main())
