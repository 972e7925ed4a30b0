"""The examples of docs/deploying.md are accepted by the tools that run them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml
from botocore.loaders import Loader
from botocore.model import ServiceModel, StringShape
from botocore.validate import validate_parameters
from databricks.sdk.service.jobs import JobSettings

from devtools.workspace import all_extras, core, packages
from tests.support.deploy.deploying_page import ROOT, blocks, commands, job_run, steps

PROGRAMS = {"aws", "cp", "docker", "env", "export", "helm", "kubectl", "make", "pip", "python3"}
PROGRAMS |= {"spark-submit", "venv-pack"}


def model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"))


def choices(model: ServiceModel, name: str) -> list[str]:
    shape = model.shape_for(name)
    assert isinstance(shape, StringShape)
    return shape.enum


def test_commands_of_deploy_page_are_valid_shell() -> None:
    for block in blocks("sh"):
        done = subprocess.run(
            ["sh", "-n"], input=block, capture_output=True, text=True, check=False
        )
        assert not done.stderr, block
    assert {Path(words[0]).name for words in commands()} <= PROGRAMS


def test_files_named_in_commands_and_jobs_of_deploy_page_exist() -> None:
    words = [word for command in commands() for word in command]
    named = [word for word in words if word.startswith("deploy/")]
    assert named
    assert [each for each in named if not (ROOT / each).exists()] == []
    tasks = [task for job in jobs().values() for task in job["tasks"]]
    programs = [ROOT / "deploy" / task["spark_python_task"]["python_file"] for task in tasks]
    assert [each for each in programs if not each.is_file()] == []


def test_extras_in_commands_of_deploy_page_exist_in_library() -> None:
    texts = [text for language in ("sh", "yaml") for text in blocks(language)]
    asked = [name for text in texts for name in re.findall(r"kstreams-spark\[(.*?)\]", text)]
    extras = all_extras(core(), packages(), ())
    assert len(asked) == 4
    assert {name for names in asked for name in names.split(",")} <= {*extras}


def test_step_and_job_run_of_deploy_page_are_valid_for_emr() -> None:
    emr = model("emr")
    for step in steps():
        assert step.pop("Type") == "Spark"  # the command line converts it to a jar
        jar = {"Jar": "command-runner.jar", "Args": step.pop("Args")}
        given = {**step, "HadoopJarStep": jar}
        validate_parameters(given, emr.shape_for("StepConfig"))
        assert given["ActionOnFailure"] in choices(emr, "ActionOnFailure")
    serverless = model("emr-serverless")
    given = {**job_run(), "clientToken": "made by the command line"}
    validate_parameters(given, serverless.shape_for("StartJobRunRequest"))
    assert given["mode"] in choices(serverless, "JobRunMode")


def jobs() -> dict[str, Any]:
    """Return the jobs of the asset bundle."""
    found = [yaml.safe_load(block)["resources"]["jobs"] for block in blocks("yaml")]
    return {name: job for each in found for name, job in each.items()}


def test_jobs_of_deploy_page_are_valid_for_databricks() -> None:
    assert set(jobs()) == {"word_count", "word_count_frames"}
    for job in jobs().values():
        assert JobSettings.from_dict(job).as_dict() == job  # unknown fields would be dropped
        environments = {each["environment_key"] for each in job.get("environments", ())}
        assert environments >= {t["environment_key"] for t in job["tasks"] if "libraries" not in t}
