"""Objects of operators and of other schedulers.

They are read as far as it takes to know which pods belong together, how many it takes, how they are
suspended, and what pods they will make.

Tenants write these objects, and newer operators may know more than we do. Numbers and lists are bounded here:
an object that is beyond a bound, or of wrong types, is ignored with a warning that names it.
"""
