"""The only module that imports boto3."""

from __future__ import annotations

try:
    import boto3
    from boto3.dynamodb.types import TypeSerializer
    from botocore import config, exceptions
except ImportError as error:
    raise ImportError("DynamoDB needs boto3: pip install 'kstreams-spark[dynamodb]'") from error

__all__ = ("TypeSerializer", "boto3", "config", "exceptions")
