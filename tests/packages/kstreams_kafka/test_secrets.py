"""Errors and log lines of librdkafka about failing options contain no secret."""

from __future__ import annotations

import subprocess
import sys

import pytest

SECRET = "hunter2-hidden"
OAUTH = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
UNSECURED = {**OAUTH, "enable.sasl.oauthbearer.unsecure.jwt": "true"}
CASES = {
    "oauth-rest": {**UNSECURED, "sasl.oauthbearer.config": f"principal=me s={SECRET} t={SECRET}x"},
    "oauth-value": {**UNSECURED, "sasl.oauthbearer.config": f"principal=me lifeSeconds={SECRET}"},
    "oidc": {
        **OAUTH,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": SECRET,
        "sasl.oauthbearer.token.endpoint.url": f"http://me:{SECRET}@127.0.0.1:1/token?k={SECRET}",
    },
    "password": {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": SECRET,
    },
    "key": {"security.protocol": "SSL", "ssl.key.pem": SECRET, "ssl.key.password": SECRET},
    "store": {
        "security.protocol": "SSL",
        "ssl.keystore.location": "/nowhere",
        "ssl.keystore.password": SECRET,
    },
    "misspelt": {"sasl.passwort": SECRET},
}
PROGRAM = """
import ast, logging, sys, traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from kstreams_kafka.connection import AdminConnection
from kstreams_kafka.consumers import Consumers
from kstreams_kafka.options import Kafka
from kstreams_kafka.producing import BulkProducer

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)

def say(text):
    logging.getLogger("said").info("%s", text)  # one line at a time, among those of clients

def fail(options):
    kafka = Kafka("127.0.0.1:1", {**options, "socket.connection.setup.timeout.ms": 1000})
    say(f"settings {kafka!r} {kafka} {kafka.client_options()}")
    for attempt in (administer, consume, BulkProducer):
        try:
            attempt(kafka)
        except BaseException as error:
            if type(error).__module__.startswith("kstreams"):
                say(f"failed {error!r} {vars(error)} {traceback.format_exc()}")

def administer(kafka):
    connection = AdminConnection(kafka.client_options(), timedelta(seconds=1))
    connection.attempt(lambda: connection.client.list_topics(timeout=1))

def consume(kafka):
    consumers = Consumers(kafka.client_options("consumer"), lost="")
    consumer = consumers.open()
    try:
        consumer.list_topics(timeout=0.5)
    except Exception as error:
        raise consumers.silence("nothing came") from None

cases = ast.literal_eval(sys.stdin.read())
with ThreadPoolExecutor(len(cases)) as pool:
    list(pool.map(fail, cases))
"""


@pytest.mark.long
@pytest.mark.parametrize("debug", [{}, {"debug": "security,conf,broker"}], ids=["quiet", "debug"])
def test_output_of_failing_clients_hides_secrets(debug: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=repr([{**case, **debug} for case in CASES.values()]),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.replace(SECRET, "***")
    assert done.stdout.count("settings Kafka(") == len(CASES)
    assert done.stdout.count("failed ") >= len(CASES)
    leaks = [line for line in (done.stdout + done.stderr).splitlines() if SECRET in line]
    assert leaks == []
