from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path

import jwt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pure.access_objects import Shelf, a_binding, a_cluster_role, a_rule, an_object
from trainshed.apiserver.access import admintoken, reviews
from trainshed.apiserver.access.authentication import Authenticator
from trainshed.apiserver.access.identity import AUTHENTICATED, MASTERS
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.signing import BrokenKey, SigningKey
from trainshed.apiserver.access.tokenrequests import TokenRequests
from trainshed.apiserver.access.tokens import ISSUER, AccountTokens, Rejected
from trainshed.kube import faults
from trainshed.kube.objects import Object

START = 1_800_000_000.0


class House:
    """A service account, everything its tokens depend on, and a clock that is moved by hand."""

    def __init__(self, folder: Path) -> None:
        self.now = START
        self.robot = an_object("ServiceAccount", "robot", "a", "uid-robot")
        self.pod = an_object("Pod", "p", "a", spec={"serviceAccountName": "robot", "nodeName": "n1"})
        self.shelf = Shelf(self.robot, self.pod, an_object("Node", "n1"), an_object("Secret", "s", "a"))
        self.tokens = AccountTokens(SigningKey(folder / "sa.key"), self.shelf, lambda: self.now)
        self.authorizer = Authorizer(self.shelf)
        self.authenticator = Authenticator("admin-secret", self.tokens, self.authorizer)
        self.requests = TokenRequests(self.tokens, self.shelf, lambda: datetime.fromtimestamp(self.now, UTC))

    def token(self, **spec: object) -> str:
        return str(self.requests.answer({"spec": spec}, "a", "robot")["status"]["token"])

    def bound(self, kind: str, name: str, **more: str) -> str:
        return self.token(boundObjectRef={"kind": kind, "apiVersion": "v1", "name": name, **more})

    def user(self, token: str, *more: tuple[bytes, bytes]) -> str | None:
        found = self.authenticator.identify([(b"authorization", b"Bearer " + token.encode()), *more])
        return found.username if found else None


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


ROBOT = "system:serviceaccount:a:robot"


def test_the_admin_token_makes_an_administrator(house: House) -> None:
    admin = house.authenticator.authenticate({b"authorization": b"Bearer admin-secret"})
    assert admin is not None
    assert admin.groups == (MASTERS, AUTHENTICATED)


@pytest.mark.parametrize(
    "header",
    [b"", b"Bearer", b"Bearer ", b"Bearer wrong", b"Basic admin-secret", b"Bearer \xff\xfe", b"admin-secret"],
)
def test_anything_but_a_good_bearer_token_is_nobody(house: House, header: bytes) -> None:
    assert house.authenticator.authenticate({b"authorization": header}) is None


def test_the_bearer_scheme_is_read_in_any_case(house: House) -> None:
    assert house.authenticator.authenticate({b"authorization": b"bearer   admin-secret "}) is not None


def test_a_requested_token_carries_the_claims_of_upstream(house: House) -> None:
    answer = house.requests.answer({"spec": {"expirationSeconds": 600}}, "a", "robot")
    claims = jwt.decode(answer["status"]["token"], options={"verify_signature": False})
    assert claims["iss"] == ISSUER
    assert claims["aud"] == [ISSUER]
    assert claims["sub"] == ROBOT
    assert claims["exp"] - claims["iat"] == 600
    assert claims["kubernetes.io"] == {
        "namespace": "a",
        "serviceaccount": {"name": "robot", "uid": "uid-robot"},
    }
    assert answer["status"]["expirationTimestamp"] == "2027-01-15T08:10:00Z"
    assert answer["metadata"]["name"] == "robot"


def test_a_service_account_is_in_its_groups(house: House) -> None:
    identity, _ = house.tokens.verify(house.token())
    assert identity.username == ROBOT
    assert identity.groups == ("system:serviceaccounts", "system:serviceaccounts:a", AUTHENTICATED)
    assert identity.uid == "uid-robot"


def test_a_pod_bound_token_tells_pod_and_node(house: House) -> None:
    identity, _ = house.tokens.verify(house.bound("Pod", "p"))
    assert identity.extra["authentication.kubernetes.io/pod-name"] == ("p",)
    assert identity.extra["authentication.kubernetes.io/node-name"] == ("n1",)


def test_a_token_ends_when_its_time_is_over(house: House) -> None:
    token = house.token(expirationSeconds=600)
    assert house.user(token) == ROBOT
    house.now += 661
    assert house.user(token) is None


def test_a_token_ends_with_its_service_account(house: House) -> None:
    token = house.token()
    assert house.user(token) == ROBOT
    house.shelf.drop(house.robot)
    assert house.user(token) is None
    house.shelf.put({**house.robot, "metadata": {**house.robot["metadata"], "uid": "another"}})
    assert house.user(token) is None, "an account of the same name is another account"


def test_a_token_ends_with_the_object_it_is_bound_to(house: House) -> None:
    for kind, name, namespace in (("Pod", "p", "a"), ("Secret", "s", "a"), ("Node", "n1", "")):
        token = house.bound(kind, name)
        assert house.user(token) == ROBOT
        house.shelf.drop(an_object(kind, name, namespace))
        assert house.user(token) is None


def test_a_token_outlives_its_pods_deletion_mark_by_a_minute(house: House) -> None:
    token = house.bound("Pod", "p")
    marked = {**house.pod["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}
    house.shelf.put({**house.pod, "metadata": marked})
    assert house.user(token) == ROBOT
    house.now += 61
    assert house.user(token) is None


def test_a_token_for_another_audience_is_not_good_here(house: House) -> None:
    token = house.token(audiences=["vault"])
    assert house.user(token) is None
    assert house.tokens.verify(token, ["vault"])[1] == ("vault",)


def test_a_token_signed_by_somebody_else_is_not_good(house: House, tmp_path: Path) -> None:
    other = House(tmp_path / "other")
    assert house.user(other.token()) is None
    body = house.token().split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    assert house.user(f"{unsigned}.{body[1]}.") is None


@pytest.mark.parametrize(
    ("spec", "fault", "message"),
    [
        ({"expirationSeconds": 599}, faults.Invalid, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 1 << 40}, faults.Invalid, "may not specify a duration larger than"),
        ({"expirationSeconds": "x"}, faults.Invalid, "must be an integer"),
        ({"boundObjectRef": {"kind": "Pod", "name": "no"}}, faults.NotFound, 'pods "no" not found'),
        (
            {"boundObjectRef": {"kind": "Pod", "name": "p", "uid": "z"}},
            faults.Conflict,
            "does not match the UID",
        ),
        (
            {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1"}},
            faults.BadRequest,
            "batch/v1, Kind=Job",
        ),
        ({"boundObjectRef": "x"}, faults.BadRequest, "cannot bind token"),
    ],
)
def test_impossible_token_requests_are_refused(
    house: House, spec: Object, fault: type[faults.Fault], message: str
) -> None:
    with pytest.raises(fault, match=message):
        house.requests.answer({"spec": spec}, "a", "robot")


def test_a_token_request_for_a_missing_account_is_not_found(house: House) -> None:
    with pytest.raises(faults.NotFound, match='serviceaccounts "ghost" not found'):
        house.requests.answer({}, "a", "ghost")


def test_a_pod_of_another_account_cannot_be_bound(house: House) -> None:
    house.shelf.put(an_object("Pod", "q", "a", spec={"serviceAccountName": "default"}))
    with pytest.raises(faults.BadRequest, match="different serviceaccount name"):
        house.bound("Pod", "q")


def test_a_secrets_legacy_token_works_until_the_secret_is_gone(house: House) -> None:
    secret = an_object("Secret", "old", "a", type="kubernetes.io/service-account-token")
    house.tokens.fill_secret(secret, house.robot, b"PEM")
    token = base64.b64decode(secret["data"]["token"]).decode()
    assert base64.b64decode(secret["data"]["namespace"]) == b"a"
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == "uid-robot"
    assert house.user(token) is None, "not before the secret is stored"
    house.shelf.put(secret)
    assert house.user(token) == ROBOT
    house.shelf.put({**secret, "data": {"token": "c3dhcHBlZA=="}})
    assert house.user(token) is None
    house.shelf.drop(secret)
    assert house.user(token) is None


def test_the_signing_key_survives_a_restart_and_is_private(tmp_path: Path) -> None:
    token = House(tmp_path).token()
    assert House(tmp_path).user(token) == ROBOT
    assert (tmp_path / "sa.key").stat().st_mode & 0o777 == 0o600


def test_a_damaged_signing_key_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sa.key").write_text("nonsense")
    with pytest.raises(BrokenKey, match=r"sa\.key cannot be used"):
        House(tmp_path).token()
    assert (tmp_path / "sa.key").read_text() == "nonsense"


def test_the_published_key_verifies_our_tokens(house: House) -> None:
    [key] = house.tokens.jwks()["keys"]
    token = house.token()
    assert jwt.get_unverified_header(token)["kid"] == key["kid"]
    public = jwt.PyJWK.from_dict(key)
    claims = jwt.decode(
        token,
        public,
        algorithms=["ES256"],
        audience=ISSUER,
        options={"verify_exp": False, "verify_nbf": False, "verify_iat": False},
    )
    assert claims["sub"] == ROBOT


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=60) | st.lists(st.text("ab=_-e", max_size=9), min_size=3, max_size=3).map(".".join))
def test_no_text_can_break_the_verification(house: House, text: str) -> None:
    with pytest.raises(Rejected):
        house.tokens.verify(text)


# --- acting as somebody else ------------------------------------------------------------------------------


def test_an_administrator_may_act_as_anybody(house: House) -> None:
    headers = [(b"authorization", b"Bearer admin-secret"), (b"impersonate-user", b"jane")]
    headers += [
        (b"impersonate-group", b"devs"),
        (b"impersonate-group", b"ops"),
        (b"impersonate-extra-a%2fb", b"x"),
    ]
    found = house.authenticator.identify(headers)
    assert found is not None
    assert (found.username, found.groups, found.impersonator) == (
        "jane", ("devs", "ops", AUTHENTICATED), "trainshed-admin"
    )  # fmt: skip
    assert found.extra == {"a/b": ("x",)}


def test_acting_as_a_service_account_brings_its_groups(house: House) -> None:
    headers = [(b"authorization", b"Bearer admin-secret"), (b"impersonate-user", ROBOT.encode())]
    found = house.authenticator.identify(headers)
    assert found is not None
    assert found.groups == ("system:serviceaccounts", "system:serviceaccounts:a", AUTHENTICATED)


def test_acting_as_somebody_needs_the_right_for_each_part(house: House) -> None:
    token = house.token()
    with pytest.raises(faults.Forbidden, match='cannot impersonate resource "users" in API group ""'):
        house.user(token, (b"impersonate-user", b"jane"))
    role = a_cluster_role("as-jane", a_rule("impersonate", "users", names="jane"))
    house.shelf.put(role)
    house.shelf.put(a_binding(role, "ServiceAccount:a/robot"))
    assert house.user(token, (b"impersonate-user", b"jane")) == "jane"
    with pytest.raises(faults.Forbidden, match='"system:masters" is forbidden'):
        house.user(token, (b"impersonate-user", b"jane"), (b"impersonate-group", b"system:masters"))


def test_groups_without_a_user_to_act_as_are_a_bad_request(house: House) -> None:
    with pytest.raises(faults.BadRequest, match="without impersonating a user"):
        house.user("admin-secret", (b"impersonate-group", b"system:masters"))


# --- reviews ----------------------------------------------------------------------------------------------


def test_a_token_review_tells_whose_token_it_is(house: House) -> None:
    answer = reviews.token_review({"spec": {"token": house.token()}}, house.authenticator)
    assert answer["status"]["authenticated"] is True
    assert answer["status"]["user"]["username"] == ROBOT
    assert answer["status"]["audiences"] == [ISSUER]


def test_a_token_review_says_why_a_token_is_not_good(house: House) -> None:
    answer = reviews.token_review({"spec": {"token": "nonsense"}}, house.authenticator)
    assert answer["status"] == {"user": {}, "error": "invalid bearer token"}
    with pytest.raises(faults.BadRequest, match="token is required"):
        reviews.token_review({"spec": []}, house.authenticator)


def test_the_admin_token_is_made_once_and_kept_private(tmp_path: Path) -> None:
    path = tmp_path / "pki" / "token"
    made = admintoken.ensure(path)
    assert admintoken.ensure(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("")
    assert admintoken.ensure(path) != made
