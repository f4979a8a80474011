"""The readers of API packages: two styles of generated Python, one OpenAPI schema."""

from __future__ import annotations

import ast

import pytest

from trainshed.kinds.schemas import attribute_models, naming, packages, pydantic_models, wording
from trainshed.kube.objects import Object


def class_of(source: str) -> ast.ClassDef:
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.ClassDef)
    return tree


def pydantic(*lines: str) -> Object:
    body = "\n".join(f"    {line}" for line in lines)
    return pydantic_models.read(class_of(f"class Thing(BaseModel):\n    '''A thing.'''\n{body}\n"))


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("Optional[StrictStr]", {"type": "string"}),
        ("Optional[List[StrictInt]]", {"type": "array", "items": {"type": "integer"}}),
        ("Dict[str, StrictStr]", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("Optional[Dict[str, Any]]", {"type": "object"}),
        ("Optional[V1Pod]", {"$ref": "V1Pod"}),
        ("Union[StrictBytes, StrictStr]", {"type": "string", "format": "byte"}),
        ("Union[Annotated[bytes, Field(strict=True)], Annotated[str, Field(strict=True)]]",
         {"type": "string", "format": "byte"}),
        ("Optional[Union[StrictFloat, StrictInt]]", {"type": "number", "format": "double"}),
        ("Optional[datetime]", {"type": "string", "format": "date-time"}),
        ("Optional[StrictInt | StrictStr]",
         {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ("Optional[Dict[str, Any] | StrictBool]", {}),
        ("Any", {}),
    ],
)  # fmt: skip
def test_an_annotation_becomes_a_schema(annotation: str, schema: Object) -> None:
    model = pydantic(f"it: {annotation} = Field(default=None)")
    assert model["properties"]["it"] == schema


def test_a_pydantic_field_keeps_its_json_name_description_and_need() -> None:
    model = pydantic(
        'node_name: StrictStr = Field(description="Where.", alias="nodeName")',
        'var_schema: Optional[StrictStr] = Field(None, serialization_alias="$schema", alias="schema")',
        "metadata: V1ObjectMeta",
        "__properties: ClassVar[List[str]] = []",
    )
    assert model["description"] == "A thing."
    assert set(model["properties"]) == {"nodeName", "$schema", "metadata"}
    assert model["properties"]["nodeName"] == {"description": "Where.", "type": "string"}
    assert model["required"] == ["metadata", "nodeName"]


def test_a_validator_becomes_an_enumeration() -> None:
    model = pydantic(
        'pull_policy: Optional[StrictStr] = Field(default=None, alias="pullPolicy")',
        "@field_validator('pull_policy')",
        "def pull_policy_validate_enum(cls, value):",
        "    if value not in set(['Always', 'Never']):",
        "        raise ValueError('no')",
    )
    assert model["properties"]["pullPolicy"]["enum"] == ["Always", "Never"]


def test_the_older_style_is_read_from_its_tables_docstrings_and_setters() -> None:
    source = '''
class V1Thing(object):
    openapi_types = {"node_name": "str", "ports": "list[V1Port]", "data": "dict(str, str)", "extra": "object"}
    attribute_map = {"node_name": "nodeName", "ports": "ports", "data": "data", "extra": "extra"}

    @property
    def node_name(self):
        """Gets the node_name of this V1Thing.  # noqa: E501

        Where it runs.  # noqa: E501

        :return: The node_name of this V1Thing.  # noqa: E501
        :rtype: str
        """
        return self._node_name

    @node_name.setter
    def node_name(self, node_name):
        if node_name is None:
            raise ValueError("Invalid value for `node_name`, must not be `None`")
'''
    assert attribute_models.is_one(source)
    assert "setter" not in attribute_models.essence(source)
    assert attribute_models.read(class_of(attribute_models.essence(source)), source) == {
        "type": "object",
        "properties": {
            "nodeName": {"description": "Where it runs.", "type": "string"},
            "ports": {"type": "array", "items": {"$ref": "V1Port"}},
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "extra": {},
        },
        "required": ["nodeName"],
    }


def test_what_is_cut_away_before_parsing_says_nothing() -> None:
    source = """
import json

class V1Thing(BaseModel):
    \'\'\'A thing.\'\'\'
    mode: Optional[StrictStr] = Field(default=None)
    __properties: ClassVar[List[str]] = ["mode"]

    @field_validator('mode')
    def mode_validate_enum(cls, value):
        if value not in set(['A', 'B']):
            raise ValueError('no')
        return value

    model_config = ConfigDict(
        populate_by_name=True,
    )

    @classmethod
    def from_json(cls, json_str: str) -> Optional[Self]:
        return cls.from_dict(json.loads(json_str))
"""
    cut = pydantic_models.essence(source)
    assert "from_json" not in cut
    assert "import" not in cut
    whole = ast.parse(source).body[1]
    assert isinstance(whole, ast.ClassDef)
    assert pydantic_models.read(class_of(cut)) == pydantic_models.read(whole)


def test_every_class_is_in_the_file_that_bears_its_name() -> None:
    found = packages.find(*packages.KUBERNETES)
    assert "CoreV1Event" in found
    assert "V1HTTPGetAction" in found
    assert "V1Pod" in found
    assert "V1NoSuchThing" not in found
    assert set(found.model("V1PodList")["properties"]) == {"apiVersion", "items", "kind", "metadata"}


def test_a_described_reference_is_wrapped() -> None:
    assert wording.described({"$ref": "X"}, "Text.") == {"description": "Text.", "allOf": [{"$ref": "X"}]}


def test_the_values_of_an_enumeration_get_lines_of_their_own() -> None:
    text = 'One of A, B.  Possible enum values:  - `"A"` is first.  - `"B"` is second.'
    assert wording.restored(text) == (
        'One of A, B.\n\nPossible enum values:\n - `"A"` is first.\n - `"B"` is second.'
    )


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("IoK8sApiCoreV1HTTPGetAction", "io.k8s.api.core.v1.HTTPGetAction"),
        ("IoK8sApimachineryPkgApisMetaV1Time", "io.k8s.apimachinery.pkg.apis.meta.v1.Time"),
        ("K8sIoApiAutoscalingV2MetricSpec", "io.k8s.api.autoscaling.v2.MetricSpec"),
        ("V1Pod", ""),
    ],
)
def test_a_class_that_carries_its_openapi_name_gives_it_up(cls: str, name: str) -> None:
    assert naming.full(cls) == name


def test_a_class_that_only_says_its_group_is_placed_in_it() -> None:
    assert naming.grouped("EventsV1Event") == "io.k8s.api.events.v1.Event"
    assert naming.grouped("V1ValidationRule") == ""
    assert naming.short("V1ValidationRule") == "ValidationRule"
    assert naming.short("V1beta1Experiment") == "Experiment"


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(packages.MissingPackage, match="no-such-package is not installed"):
        packages.find("no-such-package", "nothing/models")


def test_a_package_without_its_models_is_named() -> None:
    with pytest.raises(packages.MissingPackage, match="kubernetes has no folder kubernetes/nothing"):
        packages.find("kubernetes", "kubernetes/nothing")
