"""Tenants: what a sign-up makes, what it promises, and what it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack

import httpx
import pytest

from tests import waits
from tests.backend import bodies, people, service
from tests.backend.people import Person
from tests.backend.service import Backend
from tests.builders import a_config_map, a_namespace, a_secret, a_train_job
from trainshed.client.client import Client
from trainshed.kube.faults import Forbidden
from trainshed.kube.objects import JSON, Object

BY_THE_CONTROLLER = [
    ("configmaps", "runtime-snapshot"),
    ("configmaps", "mpi-hostfile"),
    ("secrets", "mpi-ssh-auth"),
]


@pytest.fixture
def ann(backend: Backend, namespace: str) -> Iterator[Person]:
    with people.person(backend, namespace) as found:
        yield found


class TestSignUp:
    async def test_it_makes_everything_a_tenant_needs(self, backend: Backend, namespace: str) -> None:
        quota = {"cpu": 4, "memory": "8Gi", "gpus": 1, "pods": 10, "jobs": 5, "other": {"secrets": "20"}}
        made = people.signed_up(backend, namespace, description="vision", quota=quota)
        assert (made["name"], made["namespace"], made["state"]) == (namespace, namespace, "ready")
        assert made["description"] == "vision"
        assert made["quota"]["cpu"]["hard"] == "4"
        assert made["quota"]["jobs"] == {"hard": "5", "used": "0"}
        assert made["quota"]["secrets"]["hard"] == "20"
        async with backend.client(namespace) as client:
            labels = (await client.get("namespaces", namespace))["metadata"]["labels"]
            assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
            for kind, name in (
                ("serviceaccounts", "tenant"), ("resourcequotas", "tenant"), ("limitranges", "tenant"),
                ("rolebindings.rbac.authorization.k8s.io", "trainshed-tenant"),
            ):  # fmt: skip
                assert await client.find(kind, name)
            shared = await client.get(
                "clusterrolebindings.rbac.authorization.k8s.io", f"trainshed-tenant-{namespace}"
            )
            assert shared["subjects"][0]["namespace"] == namespace

    def test_doing_it_again_changes_nothing(self, backend: Backend, namespace: str) -> None:
        first = people.signed_up(backend, namespace, quota={"cpu": 4})
        again = people.signed_up(backend, namespace, quota={"cpu": "4000m"})
        assert (again["created_at"], again["quota"]["cpu"]["hard"]) == (first["created_at"], "4")

    @pytest.mark.parametrize(
        ("field", "other"),
        [
            ("quota", {"cpu": 5}),
            ("limits", {"default_cpu": "250m", "max_cpu": "2"}),
            ("limits", {"default_cpu": "1"}),
            ("limits", {"default_cpu": "250m", "max_cpu": "3"}),
            ("description", "audio"),
        ],
    )
    def test_something_else_is_no_repetition(
        self, backend: Backend, namespace: str, field: str, other: JSON
    ) -> None:
        limits = {"default_cpu": "250m", "max_cpu": "3", "max_memory": "4Gi"}
        first = {"quota": {"cpu": 4}, "limits": limits, "description": "vision"}
        made = people.signed_up(backend, namespace, **first)
        assert people.signed_up(backend, namespace, **first)["limits"] == made["limits"]
        with backend.rest() as admin:
            answer = admin.post("/api/tenants", json={"name": namespace, **first, field: other})
            told = service.problem(answer, 409, "conflict")
            assert (told["field"], "PATCH" in told["hint"]) == (field, True)
            service.ok(admin.patch(f"/api/tenants/{namespace}", json={field: other}))

    async def test_many_at_once_make_one_tenant(self, backend: Backend, namespace: str) -> None:
        async with backend.rest_async() as admin:
            answers = await asyncio.gather(
                *(admin.post("/api/tenants", json={"name": namespace}) for _ in range(8))
            )
        assert [answer.status_code for answer in answers] == [200] * 8
        with backend.rest() as rest:
            assert service.ok(rest.get(f"/api/tenants/{namespace}"))["state"] == "ready"

    async def test_a_namespace_of_somebody_else_stays_theirs(self, backend: Backend, namespace: str) -> None:
        async with backend.client(namespace) as client:
            await client.create(a_namespace(namespace))
            with backend.rest() as admin:
                answer = admin.post("/api/tenants", json={"name": namespace})
                assert service.problem(answer, 409, "conflict")["field"] == "name"
                service.problem(admin.get(f"/api/tenants/{namespace}"), 404, "not_found")
                service.problem(admin.delete(f"/api/tenants/{namespace}"), 404, "not_found")
                service.problem(admin.delete("/api/tenants/kube-system"), 404, "not_found")
            assert await client.find("serviceaccounts", "tenant") is None

    async def test_a_refused_step_leaves_nothing(self, backend: Backend, namespace: str) -> None:
        quota = {"other": {"no-such-thing": "1"}}
        with backend.rest() as admin:
            answer = admin.post("/api/tenants", json={"name": namespace, "quota": quota})
            service.problem(answer, 422, "invalid")
        async with backend.client(namespace) as client:
            await waits.until_gone(client, "namespaces", namespace)
            binding = f"trainshed-tenant-{namespace}"
            assert await client.find("clusterrolebindings.rbac.authorization.k8s.io", binding) is None

    async def test_one_that_was_interrupted_is_finished_by_the_next(
        self, backend: Backend, namespace: str
    ) -> None:
        labels = {"app.kubernetes.io/managed-by": "trainshed", "trainshed.dev/tenant": namespace}
        begun = a_namespace(namespace, labels=labels, annotations={"trainshed.dev/sign-up": "killed"})
        async with backend.client(namespace) as client:
            await client.create(begun)
        with backend.rest() as admin:
            assert service.ok(admin.get(f"/api/tenants/{namespace}"))["state"] == "incomplete"
        assert people.signed_up(backend, namespace)["state"] == "ready"
        people.issued(backend, namespace)

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"name": "Not A Name"}, "name"),
            ({"name": "../kube-system"}, "name"),
            ({"name": ""}, "name"),
            ({"name": "a" * 64}, "name"),
            ({"name": "fine", "quota": {"cpu": "lots"}}, "quota.cpu"),
            ({"name": "fine", "quota": {"gpus": -1}}, "quota.gpus"),
            ({"name": "fine", "surprise": 1}, "surprise"),
        ],
    )
    def test_what_cannot_be_is_refused_by_the_field(self, backend: Backend, body: Object, field: str) -> None:
        with backend.rest() as admin:
            found = service.problem(admin.post("/api/tenants", json=body), 422, "invalid")
        assert str(found["field"]).startswith(field)


class TestRights:
    def test_a_tenant_sees_itself_and_nobody_else(self, backend: Backend, ann: Person) -> None:
        people.signed_up(backend, f"{ann.name}-b")
        with ann.rest() as rest, backend.rest() as admin:
            assert [found["name"] for found in service.ok(rest.get("/api/tenants"))["tenants"]] == [ann.name]
            assert service.ok(rest.get(f"/api/tenants/{ann.name}"))["name"] == ann.name
            service.problem(rest.get(f"/api/tenants/{ann.name}-b"), 403, "forbidden")
            names = {found["name"] for found in service.ok(admin.get("/api/tenants"))["tenants"]}
            assert {ann.name, f"{ann.name}-b"} <= names

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/api/tenants", {"name": "mine-too"}),
            ("PATCH", "/api/tenants/{me}", {"quota": {"cpu": 1000}}),
            ("PATCH", "/api/tenants/{me}", {"description": "grand"}),
            ("PATCH", "/api/tenants/{me}", {"limits": {"max_cpu": None, "default_cpu": "100"}}),
            ("DELETE", "/api/tenants/{me}", None),
            ("DELETE", "/api/tenants/{me}/tokens", None),
        ],
    )
    def test_a_tenant_cannot_change_what_bounds_it(
        self, ann: Person, method: str, path: str, body: JSON
    ) -> None:
        with ann.rest() as rest:
            answer = rest.request(method, path.format(me=ann.name), json=body)
            service.problem(answer, 403, "forbidden")
            assert service.ok(rest.get(f"/api/tenants/{ann.name}"))["quota"]["cpu"]["hard"] == "32"

    def test_a_tenant_runs_jobs_and_reads_them(self, backend: Backend, ann: Person) -> None:
        with ann.rest() as rest:
            made = service.ok(rest.post("/api/trainjob/create", json=bodies.small(ann.name)))
            name = made["trainjob_name"]
            assert service.ok(rest.get(f"/api/trainjob/{name}/status"))["trainjob_name"] == name
            assert service.ok(rest.get(f"/api/tenants/{ann.name}"))["quota"]["jobs"]["used"] == "1"
            service.ok(rest.delete(f"/api/trainjob/{name}"))

    async def test_a_job_cannot_reach_its_host(self, backend: Backend, ann: Person) -> None:
        """The job is taken, as on a cluster; its pods are refused, and the job says why."""
        volume = {"name": "root", "hostPath": {"path": "/"}}
        override = {"targetJobs": [{"name": "node"}], "spec": {"volumes": [volume]}}
        async with backend.client(ann.name) as client:
            await client.create(a_train_job("reach", {"podTemplateOverrides": [override]}))

            def is_refused(job: Object) -> bool:
                told = [condition["message"] for condition in job.get("status", {}).get("conditions", [])]
                return any(
                    'violates PodSecurity "baseline:latest": hostPath volumes' in text for text in told
                )

            await waits.until(client, "trainjobs.trainer.kubeflow.org", "reach", is_refused)
            assert (await client.list("pods")).items == []


class TestLimits:
    def test_an_administrator_changes_some_and_keeps_the_others(
        self, backend: Backend, namespace: str
    ) -> None:
        people.signed_up(backend, namespace, limits={"max_cpu": "4", "max_memory": "8Gi"})
        with backend.rest() as admin:
            for change in (
                {"max_cpu": "2", "default_cpu": 1},
                {"max_memory": None},
                {"default_memory": "2Gi"},
            ):
                found = service.ok(admin.patch(f"/api/tenants/{namespace}", json={"limits": change}))
        assert found["limits"] == {"default_cpu": "1", "default_memory": "2Gi", "max_cpu": "2"}
        people.signed_up(backend, namespace, limits=found["limits"])

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"limits": {"default_cpu": "4", "max_cpu": "2"}}, "limits.default_cpu"),
            ({"limits": {"default_memory": "4Gi", "max_memory": "2Gi"}}, "limits.default_memory"),
            ({"quota": {"other": {"nonsense": "1"}}}, "quota.other.nonsense"),
            ({"quota": {"other": {"pods": "0.5"}}}, "quota.other.pods"),
            ({"quota": {"other": {"count/a b[0]": "1"}}}, "quota.other.count/a b[0]"),
        ],
    )
    def test_what_kubernetes_refuses_is_told_by_the_names_of_the_request(
        self, backend: Backend, namespace: str, body: Object, field: str
    ) -> None:
        with backend.rest() as admin:
            refused = service.problem(
                admin.post("/api/tenants", json={"name": namespace, **body}), 422, "invalid"
            )
            assert (refused["field"], refused["message"][: len(field)]) == (field, field)
            assert "spec." not in refused["message"]
            people.signed_up(backend, f"{namespace}-b")
            changed = admin.patch(f"/api/tenants/{namespace}-b", json=body)
            assert service.problem(changed, 422, "invalid")["field"] == field

    def test_of_a_change_that_is_refused_in_part_nothing_is_made(
        self, backend: Backend, namespace: str
    ) -> None:
        before = people.signed_up(backend, namespace)
        body = {"quota": {"jobs": 9}, "limits": {"default_cpu": "4", "max_cpu": "2"}, "description": "new"}
        with backend.rest() as admin:
            service.problem(admin.patch(f"/api/tenants/{namespace}", json=body), 422, "invalid")
            assert service.ok(admin.get(f"/api/tenants/{namespace}")) == before


class TestQuota:
    def test_an_administrator_changes_some_amounts_and_keeps_the_others(
        self, backend: Backend, ann: Person
    ) -> None:
        with backend.rest() as admin:
            changed = service.ok(admin.patch(f"/api/tenants/{ann.name}", json={"quota": {"jobs": 1}}))
        assert changed["quota"]["jobs"]["hard"] == "1"
        assert changed["quota"]["cpu"]["hard"] == "32"
        with ann.rest() as rest:
            service.ok(rest.post("/api/trainjob/create", json=bodies.small(ann.name)))
            answer = rest.post("/api/trainjob/create", json=bodies.small(ann.name))
        found = service.problem(answer, 403, "quota_exceeded")
        assert "requested: count/trainjobs.trainer.kubeflow.org=1" in found["message"]
        assert found["hint"]

    @pytest.mark.parametrize(
        ("quota", "most"),
        [
            ({"jobs": 1}, {"configmaps": "54", "trainingruntimes.trainer.kubeflow.org": "51"}),
            ({"jobs": 1, "other": {"count/configmaps": "7"}}, {"configmaps": "7", "secrets": "101"}),
        ],
    )
    def test_what_jobs_are_made_of_is_counted_too(
        self, backend: Backend, namespace: str, quota: Object, most: Object
    ) -> None:
        found = people.signed_up(backend, namespace, quota=quota)["quota"]
        assert {name: found[f"count/{name}"]["hard"] for name in most} == most

    async def test_all_jobs_of_the_amount_fit_with_everything_that_is_made_for_them(
        self, backend: Backend, namespace: str
    ) -> None:
        """The largest there is: MPI, with a runtime of its own and a key."""
        more: Object = {
            "framework": "mpi",
            "config": {"num_nodes": 2},
            "launcher": {"cpu": "100m"},
            "retries": 0,
        }
        with people.person(backend, namespace, quota={"jobs": 2}) as ann, ann.rest() as rest:
            before = _counts(rest, namespace)
            for key in ("one", "two"):
                body = bodies.small(namespace, **more, idempotency_key=key)
                name = service.ok(rest.post("/api/trainjob/create", json=body))["trainjob_name"]
                async with backend.client(namespace) as client:
                    for kind, made in BY_THE_CONTROLLER:
                        await waits.until(client, kind, f"{name}-{made}", bool)
            used = {
                count: (now - before[count][0]) / 2 for count, (now, _) in _counts(rest, namespace).items()
            }
            with backend.rest() as admin:
                service.ok(admin.patch(f"/api/tenants/{namespace}", json={"quota": {"jobs": 3}}))
            room = {count: hard - before[count][1] for count, (_, hard) in _counts(rest, namespace).items()}
        assert used["count/configmaps"] >= 4
        assert all(used[count] <= room[count] for count in used if count.startswith("count/")), (used, room)

    async def test_a_tenant_cannot_fill_the_server_with_what_costs_nothing_else(
        self, backend: Backend, namespace: str
    ) -> None:
        few = {"count/configmaps": "3", "count/secrets": "3"}
        people.signed_up(backend, namespace, quota={"other": few})
        async with backend.client(namespace) as client:
            # A namespace may come with one of its own: the fourth is surely too many.
            with pytest.raises(Forbidden, match="exceeded quota: tenant, requested: count/configmaps=1"):
                await _create_all(client, [a_config_map(f"one-{at}") for at in range(4)])
            with pytest.raises(Forbidden, match="exceeded quota: tenant, requested: count/secrets=1"):
                await _create_all(client, [a_secret(f"one-{at}") for at in range(4)])

    def test_counts_go_with_the_number_of_jobs_unless_somebody_chose_them(
        self, backend: Backend, namespace: str
    ) -> None:
        chosen = "count/trainingruntimes.trainer.kubeflow.org"
        people.signed_up(backend, namespace, quota={"jobs": 10, "other": {chosen: "5"}})
        with backend.rest() as admin:
            changed = service.ok(admin.patch(f"/api/tenants/{namespace}", json={"quota": {"jobs": 900}}))
        assert changed["quota"]["count/configmaps"]["hard"] == "3650"
        assert changed["quota"]["count/secrets"]["hard"] == "1k"
        assert changed["quota"][chosen]["hard"] == "5"
        people.signed_up(backend, namespace, quota={"jobs": 900, "other": {chosen: "5"}})

    @pytest.mark.parametrize("former", [None, "1050"])
    async def test_a_tenant_from_before_these_were_counted_so_signs_up_again(
        self, backend: Backend, namespace: str, former: str | None
    ) -> None:
        people.signed_up(backend, namespace)
        counts = {"spec": {"hard": {"count/configmaps": former, "count/secrets": None}}}
        async with backend.client(namespace) as client:
            await client.patch("resourcequotas", "tenant", counts)
        assert "count/secrets" not in people.signed_up(backend, namespace)["quota"]

    async def test_counts_of_an_earlier_version_go_with_the_number_of_jobs_too(
        self, backend: Backend, namespace: str
    ) -> None:
        people.signed_up(backend, namespace, quota={"jobs": 20})
        former = {"spec": {"hard": {"count/configmaps": "90", "count/secrets": "100"}}}
        async with backend.client(namespace) as client:
            await client.patch("resourcequotas", "tenant", former)
        with backend.rest() as admin:
            changed = service.ok(admin.patch(f"/api/tenants/{namespace}", json={"quota": {"jobs": 500}}))
        counts = ("count/configmaps", "count/secrets")
        assert [changed["quota"][name]["hard"] for name in counts] == ["2050", "600"]

    async def test_many_creates_at_once_never_exceed_it(self, backend: Backend, ann: Person) -> None:
        with backend.rest() as admin:
            service.ok(admin.patch(f"/api/tenants/{ann.name}", json={"quota": {"jobs": 3}}))
        body = bodies.small(ann.name, suspend=True)
        async with backend.rest_async(ann.token) as rest:
            answers = await asyncio.gather(*(rest.post("/api/trainjob/create", json=body) for _ in range(12)))
        codes = [answer.status_code for answer in answers]
        assert (codes.count(200), codes.count(403)) == (3, 9), codes
        async with backend.client(ann.name) as client:
            assert len((await client.list("trainjobs.trainer.kubeflow.org")).items) == 3
            kept = await client.list("configmaps")
            codes_kept = [one for one in kept.items if one["metadata"]["name"].endswith("-train-script")]
            assert len(codes_kept) == 3

    @pytest.mark.timeout(180)
    async def test_two_hundred_creates_by_twenty_tenants_lose_and_double_none(
        self, backend: Backend, namespace: str
    ) -> None:
        async with AsyncExitStack() as stack:
            crowd = [
                stack.enter_context(people.person(backend, f"{namespace}-{at}", quota={"jobs": 5 + at % 10}))
                for at in range(20)
            ]
            rests = [await stack.enter_async_context(backend.rest_async(one.token)) for one in crowd]
            answers = await asyncio.gather(
                *(
                    rest.post("/api/trainjob/create", json=bodies.small(one.name, suspend=True))
                    for one, rest in zip(crowd, rests, strict=True)
                    for _ in range(10)
                )
            )
            assert {answer.status_code for answer in answers} == {200, 403}
            told = [(made["namespace"], made["trainjob_name"]) for made in _made(answers)]
            assert len(set(told)) == len(told)
            client = await stack.enter_async_context(backend.client())
            for at, one in enumerate(crowd):
                jobs = (await client.list("trainjobs.trainer.kubeflow.org", one.name)).items
                assert len(jobs) == min(10, 5 + at % 10)
                assert {job["metadata"]["name"] for job in jobs} == {
                    name for space, name in told if space == one.name
                }

    @pytest.mark.parametrize(
        ("quota", "nodes", "what"), [({"cpu": "1m"}, 1, "requests.cpu="), ({"pods": 1}, 2, "pods=1")]
    )
    async def test_a_job_that_does_not_fit_waits_and_says_so(
        self, backend: Backend, ann: Person, quota: Object, nodes: int, what: str
    ) -> None:
        with backend.rest() as admin:
            service.ok(admin.patch(f"/api/tenants/{ann.name}", json={"quota": quota}))
        with ann.rest() as rest:
            body = bodies.small(ann.name)
            body["config"]["num_nodes"] = nodes
            name = service.ok(rest.post("/api/trainjob/create", json=body))["trainjob_name"]
            async with backend.client(ann.name) as client:

                def waits_for_quota(job: Object) -> bool:
                    told = job.get("status", {}).get("conditions", [])
                    return any("exceeded quota: tenant" in condition["message"] for condition in told)

                await waits.until(client, "trainjobs.trainer.kubeflow.org", name, waits_for_quota)
            status = service.ok(rest.get(f"/api/trainjob/{name}/status"))
            assert status["state"] == "Running"
            assert f"exceeded quota: tenant, requested: {what}" in status["message"]

    async def test_system_priority_is_not_for_tenants(self, backend: Backend, ann: Person) -> None:
        async with backend.client(ann.name) as client:
            pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "vip"}}
            pod["spec"] = {
                "containers": [{"name": "a", "image": "example.com/a"}],
                "priorityClassName": "system-node-critical",
            }
            with pytest.raises(Forbidden, match="exceeded quota: tenant-system-priority"):
                await client.create(pod)


def _counts(rest: httpx.Client, tenant: str) -> dict[str, tuple[int, int]]:
    """What is used and what may be, of everything that is counted by objects."""
    found = service.ok(rest.get(f"/api/tenants/{tenant}"))["quota"]
    counted = {name: usage for name, usage in found.items() if name == "jobs" or name.startswith("count/")}
    return {name: (int(usage["used"]), int(usage["hard"])) for name, usage in counted.items()}


async def _create_all(client: Client, wanted: Iterable[Object]) -> None:
    for obj in wanted:
        await client.create(obj)


def _made(answers: Iterable[httpx.Response]) -> list[Object]:
    return [answer.json() for answer in answers if answer.status_code == 200]


class TestEnd:
    async def test_tokens_end_before_the_namespace_has_gone(self, backend: Backend, ann: Person) -> None:
        """Something in the namespace that does not go keeps it there; no token works in it all the same."""
        stays = a_config_map("stays", finalizers=["example.com/stay"])
        async with backend.client(ann.name) as client:
            await client.create(stays)
            with backend.rest() as admin, ann.rest() as rest:
                service.ok(admin.delete(f"/api/tenants/{ann.name}"))
                service.problem(rest.get("/api/whoami"), 401, "unauthorized")
                assert service.ok(admin.get(f"/api/tenants/{ann.name}"))["state"] == "deleting"
            await client.patch("configmaps", "stays", {"metadata": {"finalizers": None}})
            await waits.until_gone(client, "namespaces", ann.name)

    async def test_everything_goes_and_tokens_end(self, backend: Backend, ann: Person) -> None:
        with backend.rest() as admin, ann.rest() as rest:
            service.ok(rest.get("/api/whoami"))
            service.ok(admin.delete(f"/api/tenants/{ann.name}"))
            async with backend.client(ann.name) as client:
                await waits.until_gone(client, "namespaces", ann.name)
                binding = f"trainshed-tenant-{ann.name}"
                assert await client.find("clusterrolebindings.rbac.authorization.k8s.io", binding) is None
            service.problem(rest.get("/api/whoami"), 401, "unauthorized")
            service.problem(admin.get(f"/api/tenants/{ann.name}"), 404, "not_found")
