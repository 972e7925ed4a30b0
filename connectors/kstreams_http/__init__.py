"""Results as POSTs to an HTTP server, at least once, each with an idempotency key.

Read `HttpPost` first: a sink that posts each result, or all results of a batch together. Depends on
the core's contracts alone.

Example:
    >>> from kstreams_http import HttpPost
    >>> mails = HttpPost(
    ...     "https://mail/send",
    ...     body=lambda address, text: {"to": address, "text": text},
    ...     headers={"Authorization": "Bearer secret"},
    ... )
    >>> mails.guarantee
    'at-least-once'
    >>> mails
    HttpPost('https://mail/send')
"""

from __future__ import annotations

from kstreams_http.post import Body, HttpPost

__all__ = ("Body", "HttpPost")
