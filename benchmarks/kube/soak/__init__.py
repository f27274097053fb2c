"""Hours of mixed priorities on a real server, with kube-scheduler on the same nodes, under the laws."""
