"""`python -m deeplake` is the command line."""

from deeplake._cli.main import main

main()
