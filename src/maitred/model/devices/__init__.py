"""Devices as `resource.k8s.io` describes them: classes, what drivers publish, what pods claim."""
