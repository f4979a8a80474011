"""What deploy/ holds: it renders, a server takes it, and its narrow role is enough for the backend."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest
import yaml

from tests.backend import bodies, service
from tests.backend.service import Backend
from tests.backend.test_contract import finished
from tests.whole import Whole
from trainshed.backend.following import hub, spool
from trainshed.backend.history import archive, store
from trainshed.backend.rendering.frameworks import FRAMEWORKS, Framework
from trainshed.kinds.trainer import runtimes
from trainshed.kube import quantities
from trainshed.kube.objects import Object

ROOT = Path(__file__).parent.parent.parent
SYSTEM = "trainshed-system"
OVERLAYS = ("trial", "cluster")
"""Of the backend."""
EVERY = (*OVERLAYS, "operator")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    found = Whole(tmp_path_factory.mktemp("deploy"))
    found.up("--relax")
    yield found
    assert found.trainshed("down", seconds=120).code == 0


@pytest.fixture(scope="module")
def deployed(whole: Whole) -> Whole:
    """A control plane that has taken the overlay that needs most."""
    whole.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(ROOT / "deploy/overlays/cluster"))
    return whole


@pytest.fixture(scope="module")
def narrow(deployed: Whole, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """The backend as it runs in a cluster: with the rights of its service account."""
    folder = tmp_path_factory.mktemp("narrow")
    token = deployed.kubectl("create", "token", "trainshed-backend", "-n", SYSTEM).strip()
    config = yaml.safe_load(deployed.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    cluster = type(deployed.cluster)(kubeconfig, folder)
    with service.serving(folder, cluster) as backend:
        yield backend


def rendered(whole: Whole, overlay: str) -> list[Object]:
    text = whole.kubectl("kustomize", str(ROOT / "deploy" / "overlays" / overlay))
    return [cast(Object, found) for found in yaml.safe_load_all(text)]


@pytest.mark.parametrize("overlay", EVERY)
def test_an_overlay_renders_and_the_server_takes_it_twice(whole: Whole, overlay: str) -> None:
    folder = str(ROOT / "deploy" / "overlays" / overlay)
    for _ in range(2):
        whole.kubectl("apply", "--server-side", "--force-conflicts", "-k", folder)
    missing = [
        f"{found['kind']}/{found['metadata']['name']}"
        for found in rendered(whole, overlay)
        if whole.run("kubectl", "get", found["kind"], found["metadata"]["name"], "-n", SYSTEM).code
    ]
    assert not missing


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_old_backend_ends_first_in_either_overlay(whole: Whole, overlay: str) -> None:
    """A Kubernetes API refuses Recreate over what it filled in for a strategy that was left out."""
    [deployment] = [found for found in rendered(whole, overlay) if found["kind"] == "Deployment"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize("overlay", EVERY)
def test_everything_in_a_namespace_is_in_the_systems(whole: Whole, overlay: str) -> None:
    for found in rendered(whole, overlay):
        assert found["metadata"].get("namespace", SYSTEM) == SYSTEM
        for subject in found.get("subjects") or []:
            assert subject["namespace"] == SYSTEM


def test_the_policy_is_for_the_backends_pods_alone(whole: Whole) -> None:
    [policy] = [found for found in rendered(whole, "cluster") if found["kind"] == "NetworkPolicy"]
    [deployment] = [found for found in rendered(whole, "cluster") if found["kind"] == "Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()


def test_the_command_is_one_that_the_program_takes(whole: Whole) -> None:
    for overlay in EVERY:
        [deployment] = [found for found in rendered(whole, overlay) if found["kind"] == "Deployment"]
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        ran = whole.trainshed(*container["args"], "--help")
        assert ran.code == 0, ran.err


def test_files_that_repeat_the_code_say_what_it_says() -> None:
    spec = importlib.util.spec_from_file_location("manifests", ROOT / "scripts" / "manifests.py")
    assert spec is not None
    assert spec.loader is not None
    manifests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(manifests)
    for path, objects in manifests.files().items():
        assert [*yaml.safe_load_all(path.read_text())] == objects, f"run scripts/manifests.py: {path}"


@pytest.mark.parametrize("framework", FRAMEWORKS.values(), ids=lambda framework: str(framework.name))
def test_the_runtimes_of_a_framework_are_shipped_or_upstreams(framework: Framework) -> None:
    listed = yaml.safe_load((ROOT / "deploy/runtimes/kustomization.yaml").read_text())["resources"]
    shipped = {name.removesuffix(".yaml") for name in listed}
    there = shipped | {found["metadata"]["name"] for found in runtimes.upstream()}
    assert {framework.runtime_for(full=False), framework.runtime_for(full=True)} <= there


def test_what_the_backend_keeps_fits_into_its_volume() -> None:
    [deployment] = yaml.safe_load_all((ROOT / "deploy/base/deployment.yaml").read_text())
    volumes = {found["name"]: found for found in deployment["spec"]["template"]["spec"]["volumes"]}
    most = quantities.parse(volumes["data"]["emptyDir"]["sizeLimit"])
    assert archive.RULE.most_bytes + store.Bounds().bytes + hub.MOST_BYTES + 10 * spool.MOST_BYTES < most


def test_the_narrow_role_is_enough(deployed: Whole, narrow: Backend) -> None:
    admin = service.admin_token(deployed.cluster)
    with narrow.rest(admin) as rest:
        made = service.ok(rest.post("/api/trainjob/create", json=bodies.small("narrow")))
        found = finished(rest, made)
        assert found["state"] == "Complete"
        listed = service.ok(rest.get("/api/trainjob", params={"namespace": made["namespace"]}))
        assert [row["trainjob_name"] for row in listed["items"]] == [made["trainjob_name"]]
        params = {"namespace": made["namespace"]}
        service.ok(rest.delete(f"/api/trainjob/{made['trainjob_name']}", params=params))
    assert "forbidden" not in narrow.log.lower()


def test_the_backends_own_rights_are_nobody_elses(narrow: Backend) -> None:
    """Its account may watch jobs, but as a caller it can neither make nor change any."""
    with narrow.rest(narrow.token) as rest:
        refused = rest.post("/api/trainjob/create", json=bodies.small("refused"))
        service.problem(refused, 403, "forbidden")
        metrics: httpx.Response = rest.get("/metrics")
        service.problem(metrics, 403, "forbidden")
