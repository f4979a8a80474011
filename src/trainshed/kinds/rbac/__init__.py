"""The rbac.authorization.k8s.io group: roles and bindings as objects. Who may do what, the server decides."""
