"""What devices were used for, and what that cost: pure functions of what the ledger has."""
