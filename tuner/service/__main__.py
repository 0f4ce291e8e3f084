"""`python -m tuner.service WORDS`: as `tuner serve WORDS`, wherever the command itself lies."""

import sys

from tuner.cli.app import start

if __name__ == "__main__":
    sys.argv[1:1] = ["serve"]
    start()
