"""`python -m ecsgen`, and the installed `ecsgen`: the command line."""

import sys


def main() -> None:
    """Run a command; `ecsgen.cli` is imported here, so that Ctrl-C during the import is handled."""
    try:
        from ecsgen import cli

        cli.main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:  # a checkout may be run without what it needs
        package = (error.name or "ecsgen").partition(".")[0]
        if package == "ecsgen":
            raise
        print(f"Error: ecsgen needs {package}: pip install ecsgen", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
