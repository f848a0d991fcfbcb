"""What pytest must leave alone."""

collect_ignore = ["torch_oracle.py"]
"""A script for a process of its own; collecting it would import torch."""
