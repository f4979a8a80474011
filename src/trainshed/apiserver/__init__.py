"""The Kubernetes API on the wire: routes, verbs, watches, discovery, access.

Everything a client can observe is decided here or below. Only `compose` imports it;
controllers, CLI and backend reach it through `client` as they would reach a real cluster.
"""
