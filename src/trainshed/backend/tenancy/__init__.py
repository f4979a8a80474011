"""Tenants: a namespace each, with an account, rights, a quota and limits, and tokens that can be taken back.

`objects` and `roles` say what belongs to a tenant (pure); `signup`, `reading`, `changing`, `accounts` and
`tokens` act on it, always as the caller: Kubernetes decides who may. Only `routes` may import this.
"""
