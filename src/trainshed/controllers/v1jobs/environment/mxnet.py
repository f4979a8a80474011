"""MXNet: `MX_CONFIG` with the whole job, and the same in the words of ps-lite and BytePS."""

from __future__ import annotations

import json

from trainshed.controllers.v1jobs.environment.member import Member
from trainshed.kinds.core.environment import variable
from trainshed.kube.objects import Object, text

_TUNER_KEY = "tuner-server-key"


def variables(member: Member) -> list[Object]:
    has_scheduler = member.count("Scheduler") > 0
    identity = [variable("DMLC_WORKER_ID", member.index)] if member.is_worker else []
    return [
        variable("MX_CONFIG", _config(member)),
        variable("DMLC_PS_ROOT_PORT", _port(member, "Scheduler") if has_scheduler else 0),
        variable("DMLC_PS_ROOT_URI", member.host("Scheduler") if has_scheduler else ""),
        variable("DMLC_NUM_SERVER", member.count("Server")),
        variable("DMLC_NUM_WORKER", member.count("Worker")),
        variable("DMLC_ROLE", member.replica.label),
        variable("DMLC_USE_KUBERNETES", 1),
        *identity,
    ]


def _config(member: Member) -> str:
    everybody = member.once("everybody", lambda member: _written(_everybody(member)))
    task = _written({"type": member.replica.label, "index": member.index})
    return f'{everybody[:-1]},"task":{task}}}'


def _written(value: Object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _everybody(member: Member) -> Object:
    ordered = sorted(member.replicas, key=lambda replica: replica.label)
    return {
        "cluster": {
            one.label: [
                {"url": member.host(one.type, index), "port": _port(member, one.type)}
                for index in range(one.count)
            ]
            for one in ordered
        },
        "labels": {one.label: text(one.template, "metadata", "annotations", _TUNER_KEY) for one in ordered},
    }


def _port(member: Member, type: str) -> int:
    return member.port(type, "failed to found the port")
