"""`python -m tvls` is the `tvls` command."""

import sys

from tvls.cli import main

sys.exit(main())
