"""What happened: verdicts, waits, receipts, and what devices were used for. No decision reads it."""
