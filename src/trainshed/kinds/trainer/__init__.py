"""trainer.kubeflow.org: the runtimes that come with every installation, and what its webhooks check.

Pure, like all kinds. The CRDs' schemas are generated in `kinds.schemas`.
"""
