"""The only module that imports paramiko."""

from __future__ import annotations

try:
    import paramiko
    import paramiko.hostkeys as hostkeys
    import paramiko.sftp as protocol
    import paramiko.ssh_exception as ssh_exception
except ImportError as error:
    raise ImportError("SFTP needs paramiko: pip install 'kstreams-spark[sftp]'") from error

__all__ = ("hostkeys", "paramiko", "protocol", "ssh_exception")
