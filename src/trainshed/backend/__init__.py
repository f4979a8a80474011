"""The REST backend: training code and a few numbers in; ConfigMaps and a TrainJob out, for many tenants.

A client of the Kubernetes API only, so it serves the embedded control plane and any cluster alike. Whoever
calls is passed on: Kubernetes authorizes every read and write by the caller's own token.
"""
