"""The Kubernetes manifests are valid, refer to existing objects, and give pods few rights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from kubernetes_validate import ValidationError, validate

from tests.support.deploy.manifests import Manifest, manifests, only, settings

ROOT = Path(__file__).parents[2]
USER = 185
"""The user of the image."""
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
QUANTITY = re.compile(r"\d+(m|Mi|Gi)?")
VERSION = "1.34"
"""The version of Kubernetes whose schemas are used."""


def pods() -> dict[str, Manifest]:
    """Return the pods that will run: the driver's, and the executors' from their template."""
    executor = yaml.safe_load(only("ConfigMap")["data"]["executor.yaml"])
    assert (executor["apiVersion"], executor["kind"]) == ("v1", "Pod")
    return {"driver": only("Deployment")["spec"]["template"], "executor": executor}


def test_manifests_are_valid_by_the_kubernetes_schemas() -> None:
    executor = {**pods()["executor"]}
    executor["metadata"] = {**executor["metadata"], "name": "executor"}
    executor["spec"]["containers"][0]["image"] = settings()["spark.kubernetes.container.image"]
    for each in (*manifests(), executor):
        validate(each, VERSION, strict=True)


def test_schema_check_finds_misspelled_field() -> None:
    driver = only("Deployment")
    driver["spec"]["template"]["spec"]["serviceAcountName"] = "driver"
    with pytest.raises(ValidationError, match="serviceAcountName"):
        validate(driver, VERSION, strict=True)


def test_kubernetes_objects_have_unique_names_in_the_namespace() -> None:
    found = manifests()
    namespace = only("Namespace")["metadata"]["name"]
    for each in found:
        assert LABEL.fullmatch(each["metadata"]["name"])
        if each["kind"] != "Namespace":
            assert each["metadata"]["namespace"] == namespace
    names = [(each["kind"], each["metadata"]["name"]) for each in found]
    assert len(names) == len(set(names))


def test_deployment_selects_its_own_pods() -> None:
    deployment = only("Deployment")["spec"]
    assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"]
    assert deployment["replicas"] == 1


def test_service_accounts_and_roles_named_in_manifests_exist() -> None:
    accounts = {
        each["metadata"]["name"] for each in manifests() if each["kind"] == "ServiceAccount"
    }
    binding = only("RoleBinding")
    driver = pods()["driver"]["spec"]["serviceAccountName"]

    assert settings()["spark.kubernetes.authenticate.executor.serviceAccountName"] in accounts
    assert driver in accounts
    assert [(each["kind"], each["name"]) for each in binding["subjects"]] == [
        ("ServiceAccount", driver)
    ]
    assert (
        binding["roleRef"]["name"] == only("Role", binding["roleRef"]["name"])["metadata"]["name"]
    )


@pytest.mark.parametrize("name", ["driver", "executor"])
def test_pod_does_not_run_as_root_and_mounts_its_volumes(name: str) -> None:
    spec = pods()[name]["spec"]
    (container,) = spec["containers"]

    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == USER
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in spec["volumes"]}
    for volume in spec["volumes"]:
        if "emptyDir" in volume:
            assert QUANTITY.fullmatch(volume["emptyDir"]["sizeLimit"])
        else:
            assert volume["configMap"]["name"] == only("ConfigMap")["metadata"]["name"]


def test_driver_refers_to_existing_files_variables_and_settings() -> None:
    (container,) = pods()["driver"]["spec"]["containers"]
    arguments, conf = container["args"], settings()
    variables = {each["name"] for each in container["env"]}
    folder = next(m["mountPath"] for m in container["volumeMounts"] if m["name"] == "settings")

    assert set(re.findall(r"\$\((\w+)\)", " ".join(arguments))) <= variables
    assert arguments[arguments.index("--properties-file") + 1] == f"{folder}/spark.conf"
    assert conf["spark.kubernetes.executor.podTemplateFile"] == f"{folder}/executor.yaml"
    template = pods()["executor"]["spec"]["containers"][0]["name"]
    assert conf["spark.kubernetes.executor.podTemplateContainerName"] == template
    assert conf["spark.kubernetes.container.image"] == container["image"]
    assert conf["spark.kubernetes.namespace"] == only("Namespace")["metadata"]["name"]
    assert all(name.startswith("spark.") for name in conf)
    script = (ROOT / "deploy" / "word_count.py").read_text()
    assert set(re.findall(r'os\.environ\["(\w+)"\]', script)) <= variables
    for quantities in container["resources"].values():
        assert all(QUANTITY.fullmatch(str(each)) for each in quantities.values())


def test_liveness_probe_checks_the_app_of_the_driver() -> None:
    (container,) = pods()["driver"]["spec"]["containers"]
    probe = container["livenessProbe"]["exec"]["command"]
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert probe[:3] == ["kstreams", "health", "word-count"]
    assert f"--checkpoint={values['CHECKPOINT']}" in probe
    assert f"--bootstrap={values['KAFKA']}" in probe
