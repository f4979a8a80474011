"""Who is asking and what may they do: certificates, tokens, identities, RBAC, reviews, audit.

Objects are seen only through `Lookup`, so nothing here knows the store, the wire or other kinds' rules.
The machinery above asks two questions per request: `Authenticator.authenticate` and `Authorizer.decide`.
"""
