"""The command line, `tuner`."""


def main() -> None:
    """Run the command line and exit with its code."""
    # Imported here and not above, so that importing the package stays quick.
    from tuner.cli.app import start

    start()
