"""What each route does, in a few words: the headlines of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUMMARIES: Final[Mapping[str, str]] = {
    "GET /healthz": "Tell whether the service runs",
    "GET /readyz": "Tell whether the service can work",
    "GET /metrics": "Read metrics",
    "GET /api/whoami": "Tell who I am",
    "POST /api/trainjob/create": "Create a job",
    "POST /api/trainjob/upload": "Create a job from a zip",
    "POST /api/trainjob/preview": "Preview a job",
    "POST /api/convert": "Convert manifests of older kinds",
    "GET /api/trainjob": "List jobs",
    "GET /api/trainjob/{name}": "Show all about a job",
    "DELETE /api/trainjob/{name}": "Delete a job",
    "GET /api/trainjob/{name}/status": "Get the state of a job",
    "GET /api/trainjob/{name}/status/stream": "Follow the state of a job",
    "GET /api/trainjob/{name}/logs": "Read logs",
    "GET /api/trainjob/{name}/logs/download": "Download logs",
    "GET /api/trainjob/{name}/logs/stream": "Follow logs",
    "POST /api/trainjob/{name}/suspend": "Suspend a job",
    "POST /api/trainjob/{name}/resume": "Resume a job",
    "POST /api/trainjob/{name}/rerun": "Run a job again",
    "GET /api/runtimes": "List runtimes",
    "GET /api/runtimes/{name}": "Show a runtime",
    "GET /api/presets": "List presets",
    "GET /api/history": "List jobs that have ended",
    "GET /api/history/{uid}": "Show a job that has ended",
    "GET /api/history/{uid}/logs": "Read logs of a job that has ended",
    "POST /api/tenants": "Sign up a tenant",
    "GET /api/tenants": "List tenants",
    "GET /api/tenants/{tenant}": "Show a tenant",
    "PATCH /api/tenants/{tenant}": "Change a tenant",
    "DELETE /api/tenants/{tenant}": "Delete a tenant",
    "POST /api/tenants/{tenant}/tokens": "Issue a token",
    "GET /api/tenants/{tenant}/tokens": "List tokens",
    "DELETE /api/tenants/{tenant}/tokens/{id}": "Revoke a token",
    "DELETE /api/tenants/{tenant}/tokens": "Revoke all tokens",
}
