"""How fast maitred is, beside what bare arrays and a bare parser take for the same work in the same run."""
