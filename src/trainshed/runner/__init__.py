"""The node agent: pods bound to this machine become processes.

`plan` says what is to run and `engine` who runs it; `sandbox` and `process` are the two engines.
Speaks to the control plane through the client only; imported by compose alone.
"""
