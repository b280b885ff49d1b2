"""``python -m karat``."""

from karat.cli.main import main

if __name__ == "__main__":
    main(prog_name="karat")
