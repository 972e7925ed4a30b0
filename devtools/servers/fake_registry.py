"""A schema registry for unit tests, in memory, with only the requests that serdes make.

It can behave in ways a real registry cannot be made to: refuse connections, answer late or with
invalid data, return GUIDs, require a password. Schemas are compared by their text.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ("FakeRegistry",)

Answer = tuple[int, Any]
_NO_SUBJECT = (404, {"error_code": 40401, "message": "Subject not found."})
_NO_SCHEMA = (404, {"error_code": 40403, "message": "Schema not found"})


class FakeRegistry:
    """A registry on loopback; enter it as a context.

    Attributes:
        requests: Method and path of each request, in order.
        headers: The headers of the last request.
        fault: Returns an answer that replaces the normal one, or None; may raise `ConnectionError`
            to close the connection.
        misfits: Incompatibility messages for schemas that are checked or registered.
        levels: Compatibility levels by subject; `""` is the global level.
        gives_guids: Whether schemas have GUIDs.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self.fault: Callable[[str, str], Answer | None] = lambda _method, _path: None
        self.misfits: list[str] = []
        self.levels = {"": "BACKWARD"}
        self.gives_guids = True
        self._schemas: dict[int, dict[str, Any]] = {}
        self._subjects: dict[str, list[int]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def url(self) -> str:
        """The address of the registry."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(
        self, subject: str, schema: str, kind: str = "AVRO", references: Any = (), number: int = 0
    ) -> int:
        """Register a schema on behalf of another client; return its id."""
        given = {"schema": schema, "schemaType": kind, "references": list(references)}
        found = next((key for key, value in self._schemas.items() if value == given), number)
        found = found or 1 + max(self._schemas, default=0)
        self._schemas[found] = given
        versions = self._subjects.setdefault(subject, [])
        if found not in versions:
            versions.append(found)
        return found

    def guid(self, number: int) -> uuid.UUID:
        """Return the GUID of a schema."""
        return uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(self._schemas[number]))

    def answer(self, method: str, place: str, body: Any) -> Answer:
        """Answer a request."""
        self.requests.append((method, place))
        fault = self.fault(method, place)
        if fault is not None:
            return fault
        parts = [unquote(part) for part in urlsplit(place).path.split("/") if part]
        match method, *parts:
            case "GET", "schemas", "ids", number:
                return self._schema(int(number))
            case "GET", "schemas", "guids", guid:
                named = (n for n in self._schemas if str(self.guid(n)) == guid)
                return self._schema(next(named, 0))
            case "GET", "subjects", subject, "versions", version:
                return self._version(subject, version)
            case "POST", "subjects", subject:
                return self._find(subject, body)
            case "POST", "subjects", subject, "versions":
                if self.misfits:
                    return 409, {"error_code": 409, "message": self.misfits[0]}
                kind, references = body.get("schemaType", "AVRO"), body.get("references", ())
                return 200, {"id": self.add(subject, body["schema"], kind, references)}
            case "POST", "compatibility", "subjects", _, "versions":
                return 200, {"is_compatible": not self.misfits, "messages": self.misfits}
            case "GET", "config", *subject:
                level = self.levels.get("".join(subject), self.levels[""])
                return 200, {"compatibilityLevel": level}
        return 405, {"error_code": 405, "message": f"{method} {place}"}

    def _schema(self, number: int) -> Answer:
        return (200, self._schemas[number]) if number in self._schemas else _NO_SCHEMA

    def _version(self, subject: str, version: str) -> Answer:
        versions = self._subjects.get(subject)
        if not versions:
            return _NO_SUBJECT
        place = len(versions) if version == "latest" else int(version)
        return 200, self._described(subject, versions[place - 1], place)

    def _find(self, subject: str, body: Any) -> Answer:
        wanted = {
            "schema": body["schema"],
            "schemaType": body.get("schemaType", "AVRO"),
            "references": list(body.get("references", ())),
        }
        versions = self._subjects.get(subject)
        if versions is None:
            return _NO_SUBJECT
        for place, number in enumerate(versions, 1):
            if self._schemas[number] == wanted:
                return 200, self._described(subject, number, place)
        return _NO_SCHEMA

    def _described(self, subject: str, number: int, version: int) -> dict[str, Any]:
        guid = {"guid": str(self.guid(number))} if self.gives_guids else {}
        known = {"subject": subject, "id": number, "version": version, **guid}
        return {**self._schemas[number], **known}

    def stop(self) -> None:
        """Stop listening: connections are refused from now on."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> FakeRegistry:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _handler(registry: FakeRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            self._answer(json.loads(self.rfile.read(size)))

        def _answer(self, body: Any) -> None:
            registry.headers = dict(self.headers.items())
            try:
                status, said = registry.answer(self.command, self.path, body)
            except ConnectionError:
                self.connection.close()
                return
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status in (301, 302, 307):
                self.send_header("Location", data.decode())
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in the base class
            pass

    return Handler
