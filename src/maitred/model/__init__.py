"""The nouns: Kubernetes objects as lean frozen structs, and what they mean to a scheduler. No I/O."""
