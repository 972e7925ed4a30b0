"""Directories of SFTP servers: files as a source, and storage for the files of a sink.

Read `Sftp` first: server, directory, and the known keys of the server. `sftp_folder` makes a
log of the files there, for `TopologyBuilder.add_source`; `kstreams_objects.Objects(Sftp(...))`
writes results there. Depends on paramiko and on the core's contracts.

Example:
    >>> from kstreams import TEXT
    >>> from kstreams.sources import Lines
    >>> from kstreams.state import Directory
    >>> from kstreams_sftp import Sftp, sftp_folder
    >>> place = Sftp("sftp://app@files.example/outgoing", key_file="/keys/app")
    >>> orders = sftp_folder("orders", place, Lines(TEXT), index=Directory("/data/index"))
    >>> orders.label
    'lines of sftp://app@files.example/outgoing, *'
"""

from __future__ import annotations

from kstreams_sftp.errors import HostKeyError, LoginError, SftpError, SftpUnavailableError
from kstreams_sftp.files import sftp_folder
from kstreams_sftp.settings import Sftp

__all__ = (
    "HostKeyError",
    "LoginError",
    "Sftp",
    "SftpError",
    "SftpUnavailableError",
    "sftp_folder",
)
