"""The Helm chart renders valid objects, the same as the manifests, and rejects wrong values."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from kubernetes_validate import validate

from devtools.workspace import core
from tests.support.deploy.charts import CHART, KUBERNETES, REQUIRED, helm, rendered
from tests.support.deploy.manifests import Manifest, only, settings

pytestmark = [pytest.mark.connectors, pytest.mark.timeout(600)]  # Helm is built from its module

EVERYTHING: dict[str, Any] = {
    "image": {**REQUIRED["image"], "pullSecrets": [{"name": "registry"}]},
    "app": {"env": [{"name": "LEVEL", "value": "1"}]},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/a"}},
    "driver": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]},
    "spark": {"spark.speculation": "true"},
    "serve": {"enabled": True, "tokenSecret": "tokens", "names": ["words.example"]},
    "serviceMonitor": {"enabled": True, "tokenSecret": {"name": "metrics"}, "labels": {"a": "b"}},
}


def one(objects: list[Manifest], kind: str, end: str = "") -> Manifest:
    (found,) = (
        each for each in objects if each["kind"] == kind and each["metadata"]["name"].endswith(end)
    )
    return found


def spark(objects: list[Manifest]) -> dict[str, str]:
    lines = one(objects, "ConfigMap")["data"]["spark.conf"].splitlines()
    parts = [line.partition(" ") for line in lines]
    return {name: value for name, _, value in parts}


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["required", "everything"])
def test_linter_accepts_the_chart(values: dict[str, Any]) -> None:
    options = ("--strict", "--kube-version", KUBERNETES)
    done = helm("lint", str(CHART), *options, values={**REQUIRED, **values})
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["required", "everything"])
def test_rendered_objects_are_valid_by_the_kubernetes_schemas(values: dict[str, Any]) -> None:
    objects = rendered(**values)
    for each in objects:
        if each["kind"] != "ServiceMonitor":  # of an operator
            validate(each, KUBERNETES, strict=True)
    executor = yaml.safe_load(one(objects, "ConfigMap")["data"]["executor.yaml"])
    executor["metadata"]["name"] = "executor"
    executor["spec"]["containers"][0]["image"] = "i:1"
    validate(executor, KUBERNETES, strict=True)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))
    assert all(each["metadata"]["namespace"] == "words" for each in objects)


def test_chart_with_defaults_runs_the_driver_of_the_manifests() -> None:
    objects = rendered()
    expected = only("Deployment")["spec"]["template"]["spec"]
    spec = one(objects, "Deployment")["spec"]["template"]["spec"]
    (container,), (wanted,) = spec["containers"], expected["containers"]

    assert container["args"] == wanted["args"]
    assert container["securityContext"] == wanted["securityContext"]
    assert container["resources"] == wanted["resources"]
    assert container["volumeMounts"] == wanted["volumeMounts"]
    assert (
        container["livenessProbe"]["exec"]["command"][:4]
        == (wanted["livenessProbe"]["exec"]["command"][:4])
    )
    assert {each["name"] for each in container["env"]} == {each["name"] for each in wanted["env"]}
    assert one(objects, "Role")["rules"] == only("Role")["rules"]


def test_chart_with_defaults_has_the_spark_settings_of_the_manifests() -> None:
    found, expected = spark(rendered()), settings()
    of_release = ("container.image", "namespace", "serviceAccountName")
    same = {name: value for name, value in expected.items() if not name.endswith(of_release)}
    assert {name: found.get(name) for name in same} == same
    assert set(found) - set(expected) == {"spark.kubernetes.container.image.pullPolicy"}


def test_values_reach_the_objects() -> None:
    objects = rendered(**EVERYTHING)
    conf = spark(objects)
    driver = one(objects, "Deployment", "-driver")["spec"]["template"]["spec"]
    account = one(objects, "ServiceAccount", "-executor")

    assert conf["spark.speculation"] == "true"
    assert conf["spark.kubernetes.container.image.pullSecrets"] == "registry"
    assert (
        conf["spark.kubernetes.authenticate.executor.serviceAccountName"]
        == (account["metadata"]["name"])
    )
    assert account["metadata"]["annotations"] == EVERYTHING["serviceAccount"]["annotations"]
    assert driver["nodeSelector"] == {"disk": "ssd"}
    assert {"name": "LEVEL", "value": "1"} in driver["containers"][0]["env"]
    assert driver["imagePullSecrets"] == [{"name": "registry"}]


def test_budget_and_services_select_the_pods_of_their_deployment() -> None:
    objects = rendered(**EVERYTHING)
    labels = {
        end: one(objects, "Deployment", end)["spec"]["template"]["metadata"]["labels"]
        for end in ("-driver", "-serve")
    }
    budget = one(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"]
    service = one(objects, "Service")
    monitor = one(objects, "ServiceMonitor")["spec"]

    assert budget.items() <= labels["-driver"].items()
    assert not budget.items() <= labels["-serve"].items()
    assert service["spec"]["selector"].items() <= labels["-serve"].items()
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["authorization"]["credentials"] == {"name": "metrics", "key": "token"}
    (server,) = one(objects, "Deployment", "-serve")["spec"]["template"]["spec"]["containers"]
    assert "--name=$(POD_IP)" in server["args"]
    assert "--name=words.example" in server["args"]


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"image": {"repository": "r", "tag": "latest"}}, "/image/tag"),
        ({"image": {"repository": "", "tag": "1"}}, "/image/repository"),
        ({"kafka": {"bootstrap": "kafka"}}, "/kafka/bootstrap"),
        ({"checkpoint": {"url": "/data/word-count"}}, "/checkpoint/url"),
        ({"executor": {"instnces": 3}}, "instnces"),
        ({"executor": {"memory": "1Gi"}}, "/executor/memory"),
        ({"spark": {"speculation": "true"}}, "'speculation'"),
        ({"serve": {"enabled": True}}, "/serve/tokenSecret"),
        ({"serviceMonitor": {"enabled": True}}, "/serve/enabled"),
    ],
)
def test_wrong_value_is_rejected_with_its_place(values: dict[str, Any], place: str) -> None:
    done = helm(
        "template", "x", str(CHART), "--kube-version", KUBERNETES, values={**REQUIRED, **values}
    )
    assert done.returncode != 0
    assert place in done.stderr


def test_schema_describes_each_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def undescribed(value: Any, known: dict[str, Any], place: str) -> list[str]:
        if not isinstance(value, dict) or "properties" not in known:
            return []
        found = [f"{place}.{name}" for name in value if name not in known["properties"]]
        for name in set(value) & set(known["properties"]):
            found += undescribed(value[name], known["properties"][name], f"{place}.{name}")
        return found

    assert undescribed(values, schema, "values") == []


def test_chart_has_the_version_of_the_library() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = core().project["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", chart["version"])
    assert (chart["version"], chart["appVersion"]) == (version, version)
