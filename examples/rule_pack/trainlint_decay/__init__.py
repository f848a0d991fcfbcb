"""Rules about weight decay: each module of this package that defines a rule is found through the entry point."""
