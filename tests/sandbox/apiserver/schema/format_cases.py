"""Texts that the real server takes for one of a format, and texts that it does not."""

UUID = "123e4567-e89b-12d3-a456-426614174000"
DAY = "2024-01-01"

WELL_FORMED: dict[str, list[str]] = {
    "byte": ["YQ==", "YWJj", "YWJjYQ=="],
    "cidr": ["1.2.3.4/24", "::/64"],
    "date": [DAY, "2024-02-29"],
    "date-time": [f"{DAY}T00:00:00Z", f"{DAY}t23:59:59z", f"{DAY}T00:00:00.123+01:00"],
    "duration": ["0", "1s", "-1h30m", "1.5h", ".5s", "1µs", "3 weeks"],
    "email": ["a@b", "a.b@c.d"],
    "hostname": ["a", "my-host.example.com", f"{'a' * 63}.com"],
    "ipv4": ["1.2.3.4"],
    "ipv6": ["::", "::1"],
    "k8s-long-name": ["a.b", "a" * 64],
    "k8s-short-name": ["a", "a-1"],
    "password": ["", "x"],
    "uri": ["/a", "a:b", "mailto:x@y", "http://[::1]:80/", "http://u:p@h/"],
    "uuid": [UUID, UUID.replace("-", "").upper()],
    "odd": ["anything"],
}
ILL_FORMED: dict[str, list[str]] = {
    "byte": ["", "YQ", "YW_j", "Y Q==", "YWJj\n"],
    "cidr": ["1.2.3.4", "1.2.3.4/33", "/8", "::/129", "1.2.3.4/"],
    "date": ["", "x", "2024-1-1", "2024-02-30", "10000-01-01"],
    "date-time": ["", DAY, f"{DAY}T00:00:00", f"{DAY} 00:00:00Z", f"{DAY}T24:00:00Z", "2024-13-01T00:00:00Z"],
    "duration": ["", "x", "1", ".", "5 foo"],
    "email": ["a", "@b", "a@", "a@b@c"],
    "hostname": ["", "-a", "a_b", "a" * 64],
    "ipv4": ["", "1.2.3", "256.1.1.1", "::1", " 1.2.3.4"],
    "ipv6": ["", "1.2.3.4", "1::2::3"],
    "k8s-long-name": ["", "A", "a..b", "a" * 254],
    "k8s-short-name": ["", "A", "a-", "a.b", "a" * 64],
    "uri": ["", "a"],
    "uuid": ["", "x", UUID[:-1]],
}
