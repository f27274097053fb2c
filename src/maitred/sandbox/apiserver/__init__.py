"""A small Kubernetes API server in this process, on loopback, that kubectl and any other client can use."""
