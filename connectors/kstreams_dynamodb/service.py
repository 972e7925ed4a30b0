"""DynamoDB's client, with retries of temporary failures and throttled requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from kstreams_dynamodb.sdk import boto3, config, exceptions
from kstreams_rows.retrying import Faults, hidden, retried

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse
    from types_boto3_dynamodb import DynamoDBClient

__all__ = ("Access", "Service", "code_of", "reasons_of")

T = TypeVar("T")
"""The type of an operation's result."""

_TIMEOUT_S = 10
_BUSY = frozenset(
    {
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


@dataclass(frozen=True)
class Access:
    """The address of DynamoDB and the credentials for it.

    Attributes:
        region: The region; None uses boto3's configuration.
        endpoint_url: The endpoint; None for AWS.
        profile: A profile of boto3's configuration.
        access_key: The access key id.
        secret_key: The secret access key.
        session_token: The session token of temporary credentials.
    """

    _: KW_ONLY
    region: str | None = None
    endpoint_url: str | None = None
    profile: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)


class Service:
    """DynamoDB's client for one process.

    Args:
        access: The address and the credentials.
        give_up_after: The maximum time to retry.
    """

    def __init__(self, access: Access, give_up_after: timedelta) -> None:
        self._access = access
        self._give_up_after = give_up_after
        secrets = tuple(each for each in (access.secret_key, access.session_token) if each)
        self._faults = Faults(
            "DynamoDB",
            (exceptions.ClientError, exceptions.BotoCoreError),
            _may_pass,
            code_of,
            lambda exc: hidden(str(exc), secrets),
            "check the table, region=, the credentials and their permissions.",
        )

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation with the client; retry temporary failures.

        Raises:
            SinkUnavailableError: DynamoDB did not answer, or throttled requests, for
                `give_up_after`.
            SinkError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, lambda: None)

    @cached_property
    def client(self) -> DynamoDBClient:
        """The client, which replaces lost connections by itself."""
        access = self._access
        session = boto3.session.Session(
            aws_access_key_id=access.access_key,
            aws_secret_access_key=access.secret_key,
            aws_session_token=access.session_token,
            region_name=access.region,
            profile_name=access.profile,
        )
        options = config.Config(
            connect_timeout=_TIMEOUT_S,
            read_timeout=_TIMEOUT_S,
            retries={"mode": "standard", "total_max_attempts": 1},
        )
        made = session.client("dynamodb", endpoint_url=access.endpoint_url, config=options)
        made.meta.events.register("after-call.dynamodb", _see_whole)
        return made

    def close(self) -> None:
        """Close the connections of the client."""
        if "client" in self.__dict__:
            self.client.close()


def _see_whole(http_response: AWSResponse, **_: object) -> None:
    """Check that a response is complete, because boto3 reads a truncated one as empty.

    Raises:
        ConnectionClosedError: The response is truncated.
    """
    headers = http_response.headers
    size = headers.get("Content-Length")
    whole = size == str(len(http_response.content)) if size else "Transfer-Encoding" in headers
    if not whole:
        raise exceptions.ConnectionClosedError(endpoint_url=http_response.url)


def reasons_of(exc: exceptions.ClientError) -> list[dict[str, object]]:
    """Return why each operation of a transaction was rejected; empty for other errors."""
    return [dict(reason) for reason in exc.response.get("CancellationReasons", ())]


def code_of(exc: Exception) -> str:
    """Return DynamoDB's code of an error."""
    if isinstance(exc, exceptions.ClientError):
        return str(exc.response.get("Error", {}).get("Code", ""))
    return type(exc).__name__


def _may_pass(exc: Exception) -> bool:
    if not isinstance(exc, exceptions.ClientError):
        kinds = (exceptions.ConnectionError, exceptions.HTTPClientError)
        return isinstance(exc, kinds) and not isinstance(exc, exceptions.SSLError)
    status = exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    said = {code_of(exc), *(str(reason.get("Code")) for reason in reasons_of(exc))}
    others = said - _BUSY - {"None", "ConditionalCheckFailed", "TransactionCanceledException"}
    return bool(said & _BUSY and not others) or status >= 500
