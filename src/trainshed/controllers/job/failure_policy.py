"""podFailurePolicy: what the way a pod failed means for its Job. The first rule that fits decides."""

from __future__ import annotations

from dataclasses import dataclass

from trainshed.controllers.job.specs import ExitCodes, FailurePolicy, FailureRule, PodCondition
from trainshed.kube.objects import Object, dig


@dataclass(frozen=True, slots=True)
class Match:
    """The action of the rule that fits, and its reason in words where it ends the Job."""

    action: str = "Count"
    message: str = ""

    @property
    def counts(self) -> bool:
        return self.action != "Ignore"

    @property
    def fails_job(self) -> bool:
        return self.action == "FailJob"

    @property
    def fails_index(self) -> bool:
        return self.action == "FailIndex"


COUNTED = Match()


def match(policy: FailurePolicy | None, pod: Object) -> Match:
    for index, rule in enumerate(policy.rules if policy else ()):
        why = _why(rule, pod)
        if why:
            return Match(rule.action, f"{why} matching {rule.action} rule at index {index}")
    return COUNTED


def _why(rule: FailureRule, pod: Object) -> str:
    """How the rule fits the pod, in upstream's words; empty when it does not."""
    who = f"{dig(pod, 'metadata', 'namespace')}/{dig(pod, 'metadata', 'name')}"
    if rule.on_exit_codes is not None:
        return _exited(rule.on_exit_codes, pod, who)
    for condition in dig(pod, "status", "conditions") or ():
        if PodCondition(condition.get("type"), condition.get("status")) in (rule.on_pod_conditions or ()):
            return f"Pod {who} has condition {condition.get('type')}"
    return ""


def _exited(codes: ExitCodes, pod: Object, who: str) -> str:
    """Success never fits; containers are asked before those that only prepare."""
    for kind in ("containerStatuses", "initContainerStatuses"):
        for status in dig(pod, "status", kind) or ():
            code = dig(status, "state", "terminated", "exitCode")
            named = codes.container_name in (None, status.get("name"))
            if code and named and _fits(codes, code):
                return f"Container {status.get('name')} for pod {who} failed with exit code {code}"
    return ""


def _fits(codes: ExitCodes, code: int) -> bool:
    match codes.operator:
        case "In":
            return code in codes.values
        case "NotIn":
            return code not in codes.values
        case _:
            return False
