from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.kafka.errors import KafkaOptionsError
from kstreams.kafka.java_options import java_options

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
KEY = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"
CHAIN = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"fetch.min.bytes": "5"}, {"fetch.min.bytes": "5"}, id="shared name"),
        pytest.param(
            {"sasl.mechanisms": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
            {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN} required username="u" password="p";',
            },
            id="PLAIN by librdkafka's older name",
        ),
        pytest.param(
            {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": 'a"b\\c'},
            {
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": f'{SCRAM} required username="u" password="a\\"b\\\\c";',
            },
            id="SCRAM with quotes in the password",
        ),
        pytest.param(
            {
                "sasl.mechanism": "PLAIN",
                "sasl.username": "u",
                "sasl.password": "p",
                "sasl.jaas.config": "own",
            },
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": "own"},
            id="own login configuration wins",
        ),
        pytest.param(
            {"sasl.mechanism": "GSSAPI", "sasl.username": "u", "sasl.password": "p"},
            {"sasl.mechanism": "GSSAPI"},
            id="user without meaning to the mechanism",
        ),
        pytest.param(
            {"ssl.ca.location": "/ca.pem"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            id="authorities in a file",
        ),
        pytest.param(
            {"ssl.ca.pem": CHAIN},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": CHAIN},
            id="authorities as text",
        ),
        pytest.param({"ssl.ca.location": "probe"}, {}, id="authorities of the machine"),
        pytest.param(
            {"ssl.keystore.location": "/a.p12", "ssl.keystore.password": "p"},
            {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": "/a.p12",
                "ssl.keystore.password": "p",
            },
            id="key store",
        ),
        pytest.param(
            {"ssl.endpoint.identification.algorithm": "none"},
            {"ssl.endpoint.identification.algorithm": ""},
            id="no check of the host's name",
        ),
        pytest.param({"enable.ssl.certificate.verification": "true"}, {}, id="verification on"),
    ],
)
def test_options_become_the_java_clients(given: dict[str, str], expected: dict[str, str]) -> None:
    assert expected == java_options(given)


def test_key_and_certificate_in_one_file_stay_there(tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text(KEY + CHAIN)
    given = {"ssl.key.location": str(both), "ssl.certificate.location": str(both)}
    expected = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both)}
    assert expected == java_options(given)


def test_key_and_certificate_in_two_files_are_passed_as_text(tmp_path: Path) -> None:
    key, chain = tmp_path / "key.pem", tmp_path / "chain.pem"
    key.write_text(KEY)
    chain.write_text(CHAIN)
    expected = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": KEY,
        "ssl.keystore.certificate.chain": CHAIN,
    }
    given = {"ssl.key.location": str(key), "ssl.certificate.location": str(chain)}
    assert expected == java_options(given)


def test_key_that_the_java_client_cannot_read_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text(KEY.replace("PRIVATE", "RSA PRIVATE"))
    with pytest.raises(KafkaOptionsError, match=r"PKCS#8(.|\n)*openssl") as caught:
        java_options({"ssl.key.location": str(key), "ssl.certificate.location": str(key)})
    assert "MC4C" not in str(caught.value)


def test_absent_key_is_refused() -> None:
    with pytest.raises(KafkaOptionsError, match=r"cannot read ssl\.key\.location"):
        java_options({"ssl.key.location": "/nowhere/k", "ssl.certificate.location": "/nowhere/c"})


@pytest.mark.parametrize(
    "name",
    ["ssl.crl.location", "ssl.key.pem", "sasl.kerberos.keytab", "sasl.oauthbearer.client.secret"],
)
def test_security_setting_without_counterpart_is_refused_not_dropped(name: str) -> None:
    with pytest.raises(KafkaOptionsError, match=name) as caught:
        java_options({name: "hunter2"})
    assert name == caught.value.option
    assert "hunter2" not in str(caught.value)


def test_switching_verification_off_is_refused() -> None:
    with pytest.raises(KafkaOptionsError, match="verification"):
        java_options({"enable.ssl.certificate.verification": "false"})
