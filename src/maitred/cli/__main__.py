"""`python -m maitred.cli`, for where the script is not on the path."""

from maitred.cli import main

main()
