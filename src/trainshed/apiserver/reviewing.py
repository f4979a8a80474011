"""The access questions as handlers: reviews, token requests, and the checks rbac writes must pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trainshed.apiserver import admission, answers, bodies
from trainshed.apiserver.access import escalation, reviews
from trainshed.apiserver.access.authentication import Authenticator
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.tokenrequests import TokenRequests
from trainshed.apiserver.access.tokens import AccountTokens
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.call import Call
from trainshed.apiserver.routes import Handler, Place
from trainshed.kube.objects import Object, dig, metadata

Question = Callable[[Call, Object], Object]
_TOKEN_TYPE = "kubernetes.io/service-account-token"


@dataclass(frozen=True, slots=True)
class Reviewing:
    authenticator: Authenticator
    authorizer: Authorizer
    tokens: AccountTokens
    requests: TokenRequests
    authority: bytes

    def handlers(self) -> Mapping[Place, Handler]:
        authorizer = self.authorizer
        questions: dict[str, Question] = {
            "selfsubjectaccessreviews.authorization.k8s.io": lambda call, obj: reviews.self_subject_access(
                obj, call.user, authorizer
            ),
            "subjectaccessreviews.authorization.k8s.io": lambda call, obj: reviews.subject_access(
                obj, authorizer
            ),
            "localsubjectaccessreviews.authorization.k8s.io": lambda call, obj: reviews.local_subject_access(
                obj, call.namespace, authorizer
            ),
            "selfsubjectrulesreviews.authorization.k8s.io": lambda call, obj: reviews.self_subject_rules(
                obj, call.user, authorizer
            ),
            "selfsubjectreviews.authentication.k8s.io": lambda call, obj: reviews.self_subject(
                obj, call.user, call.state.now()
            ),
            "tokenreviews.authentication.k8s.io": lambda call, obj: reviews.token_review(
                obj, self.authenticator
            ),
        }
        found: dict[Place, Handler] = {
            (resource, "", "create"): _answering(question) for resource, question in questions.items()
        }
        found["serviceaccounts", "token", "create"] = self._token
        return found

    def checks(self) -> Mapping[str, tuple[admission.Check, ...]]:
        group = escalation.GROUP
        plurals = escalation.ROLE_PLURALS | escalation.BINDING_PLURALS
        found = {f"{plural}.{group}": (self._does_not_escalate,) for plural in plurals}
        return {**found, "secrets": (self._token_secret,)}

    def _token(self, call: Call) -> Answer:
        obj = bodies.decoded(call, "TokenRequest")
        return answers.of(self.requests.answer(obj, call.namespace, call.target.name), 201)

    def _does_not_escalate(self, request: admission.Request) -> None:
        escalation.check(self.authorizer, request.user, request.kind.plural, request.obj, request.old)

    def _token_secret(self, request: admission.Request) -> None:
        """A Secret of the token type, annotated with a service account, is filled in as it is written."""
        secret = request.obj
        if secret.get("type") != _TOKEN_TYPE:
            return
        name = dig(metadata(secret), "annotations", "kubernetes.io/service-account.name")
        account = request.state.head("serviceaccounts", request.namespace, str(name)) if name else None
        if account is not None:
            self.tokens.fill_secret(secret, account, self.authority)


def _answering(question: Question) -> Handler:
    def handle(call: Call) -> Answer:
        obj = bodies.decoded(call, call.kind.kind)
        bodies.check_type(call.kind, obj)
        obj.pop("status", None)  # kubectl sends it half filled
        return answers.of(question(call, obj), 201)

    return handle
