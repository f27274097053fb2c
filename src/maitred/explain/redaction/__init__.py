"""What people are told who may look into some namespaces only.

Their questions are answered from a situation that is built for them (`situation.as_seen_by`). Objects of
their own namespaces are in it as they are. Of everything else there are new objects, built field by field
from what is listed here: a field that a struct gets tomorrow is not in it until somebody lists it. Names
become numbers (`aliases`), and any other word that a stranger wrote is told only if it is one of the
cluster's own words or one that the reader has used too (`vocabulary`). All of this happens before anything is
worked out, so no answer can tell what is not in the situation, and the decision is the same for everybody.
"""
