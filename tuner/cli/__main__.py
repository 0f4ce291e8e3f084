"""`python -m tuner.cli WORDS`: as `tuner WORDS`, wherever the command itself lies."""

from tuner.cli import main

if __name__ == "__main__":
    main()
