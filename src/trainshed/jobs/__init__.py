"""What people do with training jobs: write one for a script, apply manifests, look at a job, follow its logs.

Shared by the command line and the REST backend. Talks to a cluster through the client only; what can be
decided without one (`submission`, `dialects`, `frameworks`, `manifests`, `jobkinds`, `summary`) is pure.
"""
