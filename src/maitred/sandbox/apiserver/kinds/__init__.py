"""What is particular to each kind: its defaults, its rules, and what of it may change."""
