"""What of manifests for other schedulers is honoured here: the answer of `maitred import --check`."""
