"""The manifests are well-formed, name each other rightly, and their pods may little.

A small part of what kubeconform and hadolint check, and what they cannot: that settings, mounts,
accounts and files fit together.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
KINDS = {
    "Namespace": "v1",
    "ServiceAccount": "v1",
    "ConfigMap": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "Deployment": "apps/v1",
}
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
QUANTITY = re.compile(r"\d+(m|Mi|Gi)?")
INSTRUCTIONS = {"FROM", "USER", "COPY", "RUN", "ENV"}

Manifest = dict[str, Any]


def manifests() -> list[Manifest]:
    """Return all objects of all files."""
    files = sorted(FOLDER.glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def only(kind: str, name: str | None = None) -> Manifest:
    (found,) = (
        each
        for each in manifests()
        if each["kind"] == kind and name in (None, each["metadata"]["name"])
    )
    return found


def pods() -> dict[str, Manifest]:
    """Return the pods that come to run: the driver's, and the executors' by their template."""
    executor = yaml.safe_load(only("ConfigMap")["data"]["executor.yaml"])
    assert (executor["apiVersion"], executor["kind"]) == ("v1", "Pod")
    return {"driver": only("Deployment")["spec"]["template"], "executor": executor}


def settings() -> dict[str, str]:
    """Return Spark's settings as its properties file has them."""
    lines = only("ConfigMap")["data"]["spark.conf"].splitlines()
    parts = [line.partition(" ") for line in lines if not line.startswith("#")]
    return {name: value.strip() for name, _, value in parts}


def test_each_object_has_a_known_kind_and_a_name_in_the_namespace() -> None:
    found = manifests()
    namespace = only("Namespace")["metadata"]["name"]
    for each in found:
        assert each["apiVersion"] == KINDS[each["kind"]]
        assert LABEL.fullmatch(each["metadata"]["name"])
        if each["kind"] != "Namespace":
            assert each["metadata"]["namespace"] == namespace
    names = [(each["kind"], each["metadata"]["name"]) for each in found]
    assert len(names) == len(set(names))


def test_the_deployment_selects_its_own_pods() -> None:
    deployment = only("Deployment")["spec"]
    assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"]
    assert deployment["replicas"] == 1


def test_accounts_and_roles_are_there() -> None:
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
def test_a_pod_is_no_root_and_mounts_what_it_has(name: str) -> None:
    spec = pods()[name]["spec"]
    (container,) = spec["containers"]

    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == int(_instructions("USER")[-1])
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in spec["volumes"]}
    for volume in spec["volumes"]:
        if "emptyDir" in volume:
            assert QUANTITY.fullmatch(volume["emptyDir"]["sizeLimit"])
        else:
            assert volume["configMap"]["name"] == only("ConfigMap")["metadata"]["name"]


def test_the_driver_names_files_variables_and_settings_that_are_there() -> None:
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


def test_the_image_is_of_the_spark_that_the_library_runs_on() -> None:
    lines = _instructions("FROM")
    pinned = re.search(r'"pyspark>=([\d.]+),<', (ROOT / "pyproject.toml").read_text())
    assert pinned is not None
    assert re.fullmatch(rf"apache/spark:{re.escape(pinned[1])}\.\d+-.*python3.*", lines[0])


def test_the_image_has_the_program_and_the_librarys_dependencies() -> None:
    copied = [line.split() for line in _instructions("COPY")]
    assert [(ROOT / source).is_file() for source, _ in copied if not source.startswith("dist/")]
    (container,) = pods()["driver"]["spec"]["containers"]
    assert container["args"][-1] in [target for _, target in copied]
    project = (ROOT / "pyproject.toml").read_text()
    installed = re.findall(r'"([\w-]+[^"]*<[^"]*|[\w-]+>=[^"]*)"', " ".join(_instructions("RUN")))
    assert len(installed) == 5
    for requirement in installed:
        assert f'"{requirement}"' in project


def test_dockerfile_lines_are_instructions() -> None:
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", "")
    kinds = {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}
    assert kinds == INSTRUCTIONS


def _instructions(kind: str) -> list[str]:
    """Return what follows an instruction of the Dockerfile, each time."""
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", "")
    return [line[len(kind) + 1 :] for line in text.splitlines() if line.startswith(f"{kind} ")]
