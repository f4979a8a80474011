"""The controllers, one folder each: from what is observed to what is wanted (`desired`) and said (`status`).

Those two are pure; `reconcile` reads the caches, calls them and writes through the world it is given.
Controllers do not import each other: they meet in the objects on the server, as they would on a cluster.
Imported by compose only.
"""
