"""What pytest must leave alone."""

collect_ignore = ["torch_oracle.py", "small_torch.py"]
"""Scripts for a process of their own: one imports torch, one takes its place."""
