"""Lines of a job's containers, wherever they are: asked of the Kubernetes API or read from kept files.

`marks`, `runs` decide; `lines`, `attic` read. Knows nothing of routes, followers or the history.
"""
