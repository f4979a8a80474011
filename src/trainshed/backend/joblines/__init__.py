"""Lines of a job's containers, wherever they are: asked of the Kubernetes API or read from kept files.

`runs` decides; `lines`, `attic` read. Knows nothing of routes, followers or the history.
"""
