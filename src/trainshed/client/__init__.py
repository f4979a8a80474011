"""The one Kubernetes client: kubeconfig, pure request building, watches that resume, typed errors.

Assumes nothing about the other side: our server or any cluster, the kubeconfig decides.
"""
