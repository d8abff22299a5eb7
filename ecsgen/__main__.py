"""`python -m ecsgen`: the command line."""

import sys

if __name__ == "__main__":
    try:
        from ecsgen.cli import main
    except ModuleNotFoundError as error:  # a checkout may be run without what it needs
        if error.name is None or error.name.partition(".")[0] == "ecsgen":
            raise
        print(f"Error: ecsgen needs {error.name}: pip install ecsgen", file=sys.stderr)
        sys.exit(2)
    main()
