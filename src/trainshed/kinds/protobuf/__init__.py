"""The protobuf numbering of the built-in kinds, one table per API group, and the reader of those tables.

Facts only: which number a field has on the wire, its JSON name and its type. How bytes become objects is
`kube/protobuf.py`; what the fields mean is the schemas' and the rules' business.

A line of a table is `Message: number name type, ...`. `[x]` is a list, `{x}` a map from strings, the name `.`
a member whose fields appear in its parent. `?` marks scalars whose zero JSON shows when somebody set it (Go's
pointers), `!` fields which JSON always shows.
"""
