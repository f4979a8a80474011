"""Names of what a JobSet makes: Jobs, host names of pods, and the domain they meet in."""

from __future__ import annotations

from trainshed.kube.objects import Object, text


def job_name(jobset: str, replicated_job: str, index: int) -> str:
    return f"{jobset}-{replicated_job}-{index}"


def host_name(jobset: str, replicated_job: str, index: int, pod: int) -> str:
    return f"{job_name(jobset, replicated_job, index)}-{pod}"


def subdomain(jobset: Object) -> str:
    """Also the name of the headless Service. Not a default of the schema: `generateName` has no name yet."""
    return text(jobset, "spec", "network", "subdomain") or text(jobset, "metadata", "name")
