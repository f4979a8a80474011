"""What the routes of tenants and tokens take and answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr
from pydantic.config import JsonDict

from trainshed.backend.models.parts import Strict
from trainshed.backend.tenancy import changing, objects, reading
from trainshed.backend.tenancy import tokens as tenancy_tokens
from trainshed.kube import names, quantities
from trainshed.kube.objects import Object, dig, text

_CREATED = "2026-11-05T13:00:00Z"
_QUOTA: JsonDict = {"cpu": "16", "memory": "64Gi", "gpus": 4, "pods": 50, "jobs": 20}


def _shown(example: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


def _is_amount(value: str | float) -> str | float:
    if not quantities.is_quantity(value) or quantities.parse(value) < 0:
        raise ValueError("must be an amount, such as 4, '500m' or '64Gi'")
    return value


def _is_label(value: str) -> str:
    if why := names.dns_label(value):
        raise ValueError(why)
    return value


Amount = Annotated[
    StrictStr | StrictInt | StrictFloat,
    AfterValidator(_is_amount),
    Field(description="A Kubernetes quantity.", examples=["16"]),
]
Count = Annotated[int, Field(ge=0, le=1_000_000, strict=True)]
TenantName = Annotated[str, AfterValidator(_is_label), Field(max_length=63, examples=["user-123"])]
Description = Annotated[str, Field(max_length=1000, examples=["vision team"])]


class Quota(Strict):
    """What all jobs of a tenant may have at the same time; usual amounts where nothing is said."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_QUOTA]})

    cpu: Amount | None = Field(None, description="CPUs that are requested.", examples=["16"])
    memory: Amount | None = Field(None, description="Memory that is requested.", examples=["64Gi"])
    gpus: Count | None = Field(None, examples=[4])
    pods: Count | None = Field(None, description="Pods that have not ended.", examples=[50])
    jobs: Count | None = Field(None, description="TrainJobs, also finished ones.", examples=[20])
    storage: Amount | None = Field(None, description="Storage of all volume claims.", examples=["200Gi"])
    volumes: Count | None = Field(None, description="Volume claims.", examples=[10])
    other: dict[Annotated[str, Field(max_length=317)], Amount] = Field(
        default_factory=dict,
        max_length=64,
        description="Anything else a ResourceQuota counts.",
        examples=[{"count/configmaps": "100"}],
    )

    def given(self) -> dict[str, str]:
        """By the names of this form."""
        said = {name: getattr(self, name) for name in objects.FIELDS}
        return {name: quantities.canonical(value) for name, value in said.items() if value is not None}

    def beyond(self) -> dict[str, str]:
        return {name: quantities.canonical(value) for name, value in self.other.items()}

    def hard(self) -> dict[str, str]:
        """By the names of a ResourceQuota, complete."""
        return objects.hard(self.given(), self.beyond())


class Limits(Strict):
    """Bounds of each container."""

    default_cpu: Amount = Field("500m", description="For containers that do not say.", examples=["500m"])
    default_memory: Amount = Field("1Gi", description="For containers that do not say.", examples=["1Gi"])
    max_cpu: Amount | None = Field(None, examples=["16"])
    max_memory: Amount | None = Field(None, examples=["64Gi"])

    def requests(self) -> dict[str, str]:
        said = {"cpu": self.default_cpu, "memory": self.default_memory}
        return {name: quantities.canonical(value) for name, value in said.items()}

    def named(self, word: str) -> dict[str, str | None]:
        """By resource, of fields such as `max_cpu` those that were sent; None for null."""
        fields = [name for name in sorted(self.model_fields_set) if name.startswith(f"{word}_")]
        amounts = {name.removeprefix(f"{word}_"): getattr(self, name) for name in fields}
        return {
            name: None if amount is None else quantities.canonical(amount) for name, amount in amounts.items()
        }

    def most(self) -> dict[str, str]:
        said = {"cpu": self.max_cpu, "memory": self.max_memory}
        return {name: quantities.canonical(value) for name, value in said.items() if value is not None}


class SignUpRequest(Strict):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "user-123", "description": "vision team", "quota": _QUOTA}]},
    )

    name: TenantName = Field(description="The tenant's name and that of its namespace.")
    description: Description = ""
    quota: Quota = Quota.model_validate({})
    limits: Limits = Limits.model_validate({})

    def tenant(self) -> objects.Tenant:
        return objects.Tenant(
            self.name, self.description, self.quota.hard(), self.limits.requests(), self.limits.most()
        )


class ChangeRequest(Strict):
    """What is named changes, the rest stays."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"quota": {"gpus": 8, "cpu": "32"}, "limits": {"max_cpu": "16"}}]},
    )

    description: Description | None = None
    quota: Quota | None = None
    limits: Limits | None = Field(None, description="null for a most takes the bound away.")

    def change(self) -> changing.Change:
        limits = self.limits or Limits.model_validate({})
        return changing.Change(self._hard(), limits.named("default"), limits.named("max"), self.description)

    def _hard(self) -> Mapping[str, str]:
        if self.quota is None:
            return {}
        said = {objects.FIELDS[name]: amount for name, amount in self.quota.given().items()}
        return {**said, **self.quota.beyond()}


class Usage(BaseModel):
    """One thing a quota counts."""

    hard: str = Field(examples=["16"])
    used: str = Field(examples=["4"])


class TenantBody(BaseModel):
    model_config = _shown(
        {
            "name": "user-123",
            "namespace": "user-123",
            "description": "vision team",
            "state": "ready",
            "created_at": _CREATED,
            "quota": {"cpu": {"hard": "16", "used": "4"}, "jobs": {"hard": "20", "used": "1"}},
            "limits": {"default_cpu": "500m", "default_memory": "1Gi"},
        }
    )

    name: str
    namespace: str
    description: str
    state: reading.State = Field(description="`incomplete`: the sign-up did not end; repeat it.")
    created_at: str
    quota: dict[str, Usage] = Field(
        description="Fields of the request's quota, and whatever else is counted."
    )
    limits: dict[str, str] = Field(description="Amounts of each container.")

    @classmethod
    def of(cls, found: reading.Found) -> TenantBody:
        return cls(
            name=found.name,
            namespace=found.name,
            description=objects.description_of(found.namespace),
            state=found.state,
            created_at=text(found.namespace, "metadata", "creationTimestamp"),
            quota={
                _FIELD_OF.get(name, name): Usage(hard=amount, used=found.used.get(name, "0"))
                for name, amount in found.hard.items()
            },
            limits=_limits(found),
        )


_FIELD_OF = {name: field for field, name in objects.FIELDS.items()}


def _limits(found: reading.Found) -> dict[str, str]:
    items = dig(found.limits, "spec", "limits") or [{}]
    shown = (("default", "defaultRequest"), ("max", "max"))
    return {
        f"{word}_{name}": str(amount)
        for word, part in shown
        for name, amount in (items[0].get(part) or {}).items()
    }


class TenantList(BaseModel):
    tenants: list[TenantBody]


class TenantDeleted(BaseModel):
    model_config = _shown({"status": "success", "tenant": "user-123"})

    status: Literal["success"] = "success"
    tenant: str


class TokenRequestBody(Strict):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"description": "laptop", "expires_in_seconds": 2_592_000}]},
    )

    description: Annotated[str, Field(max_length=200, examples=["laptop"])] = ""
    expires_in_seconds: int = Field(
        30 * 86400, ge=600, le=366 * 86400, strict=True, description="A cluster may give less."
    )


_TOKEN: Object = {
    "id": "token-5f3a1c9b7d2e",
    "tenant": "user-123",
    "description": "laptop",
    "issued_by": "admin",
    "created_at": _CREATED,
    "expires_at": "2026-12-05T13:00:00Z",
    "expired": False,
}


class TokenBody(BaseModel):
    """A token without itself."""

    model_config = _shown(_TOKEN)

    id: str
    tenant: str
    description: str
    issued_by: str
    created_at: str
    expires_at: str | None = Field(description="null for one that never ends.")
    expired: bool

    @classmethod
    def of(cls, token: tenancy_tokens.Token, tenant: str) -> TokenBody:
        return cls.model_validate(_told(token, tenant))


def _told(token: tenancy_tokens.Token, tenant: str) -> dict[str, str | bool | None]:
    ended = token.is_expired(tenancy_tokens.utc_now())
    return {
        "id": token.id,
        "tenant": tenant,
        "description": token.description,
        "issued_by": token.issued_by,
        "created_at": token.created,
        "expires_at": token.expires,
        "expired": ended,
    }


class TokenIssued(TokenBody):
    """The only time the token itself is shown."""

    model_config = _shown({**_TOKEN, "token": "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ0ZW5hbnQifQ.c2lnbmF0dXJl"})

    token: str

    @classmethod
    def shown(cls, issued: tenancy_tokens.Issued, tenant: str) -> TokenIssued:
        return cls.model_validate({**_told(issued.token, tenant), "token": issued.value})


class TokenList(BaseModel):
    tokens: list[TokenBody]


class TokenRevoked(BaseModel):
    model_config = _shown({"status": "success", "tenant": "user-123", "id": "token-5f3a1c9b7d2e"})

    status: Literal["success"] = "success"
    tenant: str
    id: str


class TokensRevoked(BaseModel):
    model_config = _shown({"status": "success", "tenant": "user-123", "revoked": 3})

    status: Literal["success"] = "success"
    tenant: str
    revoked: int = Field(description="How many were known; those that were not have ended too.")
