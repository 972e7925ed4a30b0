"""The client of a schema registry with Confluent's API, for the requests of serdes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from kstreams.errors import RegistryUnavailableError
from kstreams.serde import Schema, SchemaKind, SchemaReference
from kstreams_registry.known import Known
from kstreams_registry.requests import Refusal, RegistrySettings, path, request

__all__ = ("Registered", "SchemaRegistry")

_MISSING = 404
_DEEPEST = 50
_KINDS: dict[str, SchemaKind] = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON": "JSON"}
_KNOWN: dict[RegistrySettings, Known] = {}
"""The caches of this process by registry, which all serdes share."""


@dataclass(frozen=True)
class Registered:
    """A schema in a registry.

    Attributes:
        id: The id, unique among all schemas.
        version: The version within the subject.
        schema: The schema.
        guid: The GUID of the schema; None if the registry does not support GUIDs.
    """

    id: int
    version: int
    schema: Schema
    guid: UUID | None = None


class SchemaRegistry:
    """A schema registry with Confluent's API: Confluent's own, Apicurio, Karapace, Redpanda.

    Compares by its settings, and can be pickled. Each process requests a schema once.

    Args:
        url: The URL of the API, such as `http://host:8081` or `http://host:8080/apis/ccompat/v7`.
        user: The user for basic authentication, with `password`.
        password: The password; logs and errors do not show it.
        token: The token for bearer authentication; logs and errors do not show it.
        ca_file: Trusted certificates (PEM) that replace the default ones of the system.
        certificate_file: The client certificate, PEM, with `key_file`.
        key_file: The key of the certificate, PEM.
        key_password: The password of the key.
        timeout: The timeout of one attempt.
        attempts: The number of attempts, with pauses that double from 0.1 s to 5 s, before a
            `RegistryUnavailableError`.

    Raises:
        ValueError: The settings contradict each other.

    Example:
        >>> SchemaRegistry("http://localhost:8081", user="ann", password="secret")
        SchemaRegistry('http://localhost:8081')
    """

    def __init__(
        self,
        url: str,
        *,
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        certificate_file: str | None = None,
        key_file: str | None = None,
        key_password: str | None = None,
        timeout: timedelta = timedelta(seconds=10),
        attempts: int = 6,
    ) -> None:
        self._settings = RegistrySettings(
            url,
            user,
            password,
            token,
            ca_file,
            certificate_file,
            key_file,
            key_password,
            timeout,
            attempts,
        )

    @property
    def url(self) -> str:
        """The URL of the registry."""
        return self._settings.url

    # ----------------------------------------------------------------- reading

    def schema(self, name: int | bytes) -> Schema | None:
        """Return the schema of an id, or of a GUID in 16 bytes; None if it does not exist.

        Each process requests a schema once, and a missing schema at most once a minute.

        Raises:
            RegistryUnavailableError: The registry does not answer.
        """
        known = _KNOWN.setdefault(self._settings, Known())
        return known.schema(name, lambda: self._schema(name))

    def _schema(self, name: int | bytes) -> Schema | None:
        if isinstance(name, int):
            place = path("schemas", "ids", name)
        else:
            place = path("schemas", "guids", str(UUID(bytes=name)))
        answer = self._answer(place)
        return None if answer is None else self._parsed(answer)

    def latest(self, subject: str) -> Registered | None:
        """Return the last version of a subject, given its full name; None without a version."""
        answer = self._answer(path("subjects", subject, "versions", "latest"))
        return None if answer is None else self._registered(answer)

    def find(self, subject: str, schema: Schema) -> Registered | None:
        """Return the registration of this schema, or an equivalent one, under a subject; else None.

        Raises:
            RegistryUnavailableError: The registry does not answer.
        """
        body = self._body(schema, register=False)
        if body is None:
            return None
        answer = self._answer(path("subjects", subject, normalize="true"), body)
        return None if answer is None else self._registered(answer, schema)

    def level(self, subject: str) -> str | None:
        """Return a subject's compatibility level, or the global level; None if unknown."""
        answer = self._answer(path("config", subject, defaultToGlobal="true"))
        if answer is None:
            answer = self._answer(path("config"))
        found = None if answer is None else answer.get("compatibilityLevel")
        return found if isinstance(found, str) else None

    # ----------------------------------------------------------------- writing

    def misfits(self, subject: str, schema: Schema) -> tuple[str, ...]:
        """Return why a schema is incompatible with a subject's versions; empty if compatible.

        Raises:
            RegistryUnavailableError: The registry does not answer.
        """
        body = self._body(schema, register=False, partly=True)
        place = path("compatibility", "subjects", subject, "versions", verbose="true")
        answer = self._answer(place, body)
        if answer is None or answer.get("is_compatible") is True:
            return ()
        said = answer.get("messages") or ["the registry gave no reason"]
        return tuple(str(each) for each in said)

    def register(self, subject: str, schema: Schema) -> Registered:
        """Register a schema under a subject, after its references; idempotent.

        Raises:
            ValueError: The registry rejects the schema. The message has the reason.
            RegistryUnavailableError: The registry does not answer.
        """
        body = self._body(schema, register=True)
        place = path("subjects", subject, "versions", normalize="true")
        answer = request(self._settings, place, body)
        if isinstance(answer, Refusal):
            raise ValueError(answer.message)  # noqa: TRY004  # a value that is refused
        found = self.find(subject, schema)
        if found is None:
            number = self._number(answer, "id")
            return Registered(number, 0, schema)
        return found

    # ----------------------------------------------------------------- requests

    def _answer(self, place: str, body: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """Send a request, and return the JSON reply; None if the requested object does not exist.

        Args:
            place: The path and query of the URL.
            body: The JSON body of a POST request; None sends a GET request.
        """
        answer = request(self._settings, place, body)
        if isinstance(answer, Refusal):
            if answer.status == _MISSING:
                return None
            raise self._strange(f"{answer.status}: {answer.message}")
        if not isinstance(answer, dict):
            raise self._strange("with JSON that is not an object")
        return answer

    def _body(
        self, schema: Schema, *, register: bool, partly: bool = False
    ) -> dict[str, Any] | None:
        """Return the request body for a schema; None if a referenced schema is not registered.

        Args:
            schema: The schema.
            register: Whether to register the referenced schemas first.
            partly: Whether to name version 1 of a referenced schema that is not registered, instead
                of returning None.
        """
        references = []
        for each in schema.references:
            if register:
                found: Registered | None = self.register(each.name, each.schema)
            else:
                found = self.find(each.name, each.schema)
            if found is None and not partly:
                return None
            version = 1 if found is None else found.version
            references.append({"name": each.name, "subject": each.name, "version": version})
        body: dict[str, Any] = {"schema": schema.text, "schemaType": schema.kind}
        return {**body, "references": references} if references else body

    def _registered(self, answer: dict[str, Any], schema: Schema | None = None) -> Registered:
        guid = answer.get("guid")
        try:
            return Registered(
                self._number(answer, "id"),
                self._number(answer, "version"),
                self._parsed(answer) if schema is None else schema,
                None if guid is None else UUID(str(guid)),
            )
        except ValueError as exc:
            raise self._strange(f"with an invalid GUID: {str(guid)[:40]!r}") from exc

    def _parsed(self, answer: dict[str, Any], depth: int = 0) -> Schema:
        kind, text = answer.get("schemaType") or "AVRO", answer.get("schema")
        found = _KINDS.get(kind)
        if found is None or not isinstance(text, str):
            raise self._strange(
                f"with an invalid schema: expected a text and schemaType {', '.join(_KINDS)}; "
                f"got {type(text).__name__} and schemaType {str(kind)[:40]!r}"
            )
        if depth > _DEEPEST:
            raise self._strange(
                f"with schema references that are nested more than {_DEEPEST} times"
            )
        references = tuple(self._reference(each, depth) for each in answer.get("references") or ())
        return Schema(found, text, references=references)

    def _reference(self, given: dict[str, Any], depth: int) -> SchemaReference:
        try:
            name, subject, version = given["name"], given["subject"], int(given["version"])
        except (KeyError, TypeError, ValueError) as exc:
            raise self._strange(
                "with a schema reference that lacks a name, subject or version"
            ) from exc
        answer = self._answer(path("subjects", subject, "versions", version))
        if answer is None:
            raise self._strange(
                f"with a schema reference to version {version} of subject {subject!r}, which the "
                "registry lacks"
            )
        return SchemaReference(str(name), self._parsed(answer, depth + 1))

    def _number(self, answer: dict[str, Any], name: str) -> int:
        found = answer.get(name)
        if not isinstance(found, int) or not 0 <= found < 1 << 32:
            raise self._strange(f"with an invalid {name}: {str(found)[:40]!r}")
        return found

    def _strange(self, what: str) -> RegistryUnavailableError:
        return RegistryUnavailableError(
            f"the schema registry at {self.url} answers {what}",
            hint="check that url= is the address of a registry with Confluent's API. No record was "
            "skipped.",
        )

    # ----------------------------------------------------------------- as a value

    def __repr__(self) -> str:
        """Show only the URL, without secrets."""
        return f"SchemaRegistry({self.url!r})"

    def __eq__(self, other: object) -> bool:
        """Compare the settings."""
        return isinstance(other, SchemaRegistry) and self._settings == other._settings

    def __hash__(self) -> int:
        """Hash the URL."""
        return hash(self.url)
