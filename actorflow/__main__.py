"""`python -m actorflow` is the command `actorflow`."""

import sys

from actorflow.frontends.cli.main import main

sys.exit(main())
