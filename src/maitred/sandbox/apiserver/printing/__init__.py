"""Tables for people, as `kubectl get` shows them."""
