"""The grammar of any Kubernetes object: names, patches, schemas, selectors, faults.

Pure functions over plain dicts; nothing here knows a particular kind, does I/O or keeps state.
Everybody may import this package; it imports nothing of ours.
"""
