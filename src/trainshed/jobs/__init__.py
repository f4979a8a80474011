"""What people do with TrainJobs: write one for a script, send it, look at it, follow its logs.

Shared by the command line and the REST backend. Talks to a cluster through the client only; what can be
decided without one (`submission`, `frameworks`, `summary`) is pure.
"""
