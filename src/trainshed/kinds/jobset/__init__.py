"""jobset.x-k8s.io: what the webhooks of JobSet 0.12 fill in and refuse.

Pure, like all kinds. The CRD's schema is generated in `kinds.schemas`, with most defaults in it.
"""
