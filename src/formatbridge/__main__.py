"""``python -m formatbridge``."""

import sys

from formatbridge.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
