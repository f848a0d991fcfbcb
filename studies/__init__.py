"""Small experiments behind the numbers in the rules: ``python -m studies NAME``. Not part of the installed package."""
