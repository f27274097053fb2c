"""Long-running loops that join what `kube` sees and does to what `decide` decides."""
