"""Small asyncio tools: named guarded tasks, clocks, bounded waits.

Knows nothing of Kubernetes and imports nothing of ours.
"""
