"""Makes `python -m tuner.cli ARGUMENTS` do what `tuner ARGUMENTS` does, also where `tuner` is not on the PATH."""

from tuner.cli import main

if __name__ == "__main__":
    main()
