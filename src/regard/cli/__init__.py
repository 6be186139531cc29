"""The command line: one thin command a file. Nothing here imports torch before a command needs it."""

from regard.cli.app import main

__all__ = ["main"]
