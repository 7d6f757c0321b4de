"""`python -m deeplake` is the command line."""

from deeplake._cli import main

main()
