"""The only module that imports boto3."""

from __future__ import annotations

try:
    import boto3
    import botocore.config as config
    import botocore.exceptions as exceptions
except ImportError as error:
    raise ImportError("State on S3 needs boto3: pip install 'kstreams-spark[s3]'") from error

__all__ = ("boto3", "config", "exceptions")
