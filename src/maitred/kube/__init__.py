"""The only package that speaks HTTP to an API server: connections, discovery, watches and writes."""
