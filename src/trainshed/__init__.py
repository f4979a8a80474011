"""Trainshed runs Kubeflow training jobs on one machine, and in front of a cluster without changes."""

__version__ = "0.1.0.dev0"
