"""GoConnect's ordered parallel map: concurrent HTTP calls, with results in record order.

python examples/parallel_calls.py
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.operators import call_async
from kstreams.testing import TopologyTestDriver

WORDS = Topic("words", key=TEXT, value=TEXT)
LENGTHS = Topic("lengths", key=TEXT, value=INT64)


class Lengths(BaseHTTPRequestHandler):
    """A service that returns the length of a word; long words are faster."""

    def do_GET(self) -> None:  # the name in the base class
        word = self.path.strip("/")
        time.sleep(0.5 / len(word))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(len(word)).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


async def ask(record: Record[str, str]) -> int:
    """Request the length of a word; with a client such as httpx, this is one line."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.server_port)
    writer.write(f"GET /{record.value} HTTP/1.0\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return int(answer.rpartition(b"\r\n")[2])


server = ThreadingHTTPServer(("127.0.0.1", 0), Lengths)
builder = TopologyBuilder("lengths")
words = builder.add_source("words", WORDS)
asking = call_async(ask, at_once=8, timeout=timedelta(seconds=10))
builder.add_sink("lengths", LENGTHS, builder.add_processor("ask", asking, words))

if __name__ == "__main__":
    Thread(target=server.serve_forever, daemon=True).start()
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(WORDS, [Record(word, word) for word in ("a", "to", "the", "lengthy")])
        print([(answer.key, answer.value) for answer in driver.read(LENGTHS)])
    server.shutdown()
    server.server_close()
