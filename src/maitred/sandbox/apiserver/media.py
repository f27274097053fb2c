"""The media types in which bodies come and go."""

JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
OBJECTS = (JSON, PROTOBUF)
CUSTOM_OBJECTS = (JSON,)
"""Nobody has made messages of custom kinds."""

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
"""As JSON, which is what clients send under this name."""
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY)
"""Only kinds that the server was built with say how their lists merge."""
