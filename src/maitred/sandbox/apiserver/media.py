"""The media types in which bodies come and go."""

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
OBJECTS = (JSON, YAML, PROTOBUF)
CUSTOM_OBJECTS = (JSON, YAML)
"""Nobody has made messages of custom kinds."""

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY)
"""Only kinds that the server was built with say how their lists merge."""
