"""Manifests of older kinds, and what they become."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.config import JsonDict

from trainshed.backend.models.parts import Strict
from trainshed.jobs.converting import texts
from trainshed.jobs.converting.findings import Finding
from trainshed.jobs.converting.texts import Text

MOST_CHARACTERS = 256 * 1024
MOST_DOCUMENTS = 200
_YAML = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist
spec:
  runPolicy:
    cleanPodPolicy: All
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: example.com/mnist:1  # comments stay
              command: [torchrun, train.py]
"""
_SHOWN: JsonDict = {"examples": [{"yaml": _YAML}]}


class ConvertRequest(Strict):
    """Manifests as YAML text, or as JSON; other kinds than those of old pass as they are."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_SHOWN)

    yaml: str | None = Field(
        None, max_length=MOST_CHARACTERS, description="Any number of documents; comments are kept."
    )
    documents: list[dict[str, JsonValue]] | None = Field(None, max_length=MOST_DOCUMENTS)


class ReportLine(BaseModel):
    verdict: Literal["not converted", "not carried over", "behaves differently", "not needed"]
    object: str = Field(examples=["PyTorchJob/mnist"])
    field: str = Field(description="Empty for the whole object.", examples=["spec.runPolicy.cleanPodPolicy"])
    why: str
    advice: str = Field(description="What to do about it; may be empty.")

    @classmethod
    def of(cls, found: Finding) -> Self:
        return cls(
            verdict=found.verdict, object=found.object, field=found.field, why=found.why, advice=found.advice
        )


def _show_answer(schema: JsonDict) -> None:
    """What the request's example really becomes: a copy of it would age with every word of the report."""
    answer = ConvertAnswer.of(texts.convert(_YAML, "yaml"))
    schema["examples"] = [answer.model_dump(mode="json")]


class ConvertAnswer(BaseModel):
    model_config = ConfigDict(json_schema_extra=_show_answer)

    converted: int = Field(description="How many objects became others.", examples=[1])
    documents: list[JsonValue] = Field(description="What to apply instead, in this order.")
    yaml: str = Field(description="The same as text.")
    report: list[ReportLine] = Field(description="What is lost or different; each field is named.")

    @classmethod
    def of(cls, made: Text) -> Self:
        return cls(
            converted=made.converted,
            documents=list(made.documents),
            yaml=made.text,
            report=[ReportLine.of(finding) for finding in made.findings],
        )
