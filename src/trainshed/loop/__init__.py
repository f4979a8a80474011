"""The reconcile engine: watched caches, queues of keys, workers, events, leader election.

Knows objects, keys and outcomes, but no kind; what is to be done for a key is a controller's business.
Talks to the server through `client` only. Imported by controllers, the runner and compose.
"""
