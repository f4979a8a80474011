"""JobSet → Jobs, a headless Service and volume claims, as JobSet 0.12 does it.

One policy is one file: success, failure, dependencies, startup, suspension, ttl, placement, claims. All are
pure; `desired` asks them in upstream's order and gathers a Plan, `reconcile` carries it out.
Imported by compose.
"""
