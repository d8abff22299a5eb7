"""`python -m ecsgen`: the command line."""

from ecsgen.cli import main

if __name__ == "__main__":
    main()
