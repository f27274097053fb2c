"""maitred and kube-scheduler one after the other on the same real API server, and what that server can do."""
