"""What the sandbox can bear: its API server alone, beside a real one, and `maitred up` as a whole."""
