"""kubeflow.org/v1beta1: what Katib's webhooks fill into Experiments and refuse of them.

Pure, like all kinds. Trials and Suggestions have no webhooks upstream; controllers write them.
"""
