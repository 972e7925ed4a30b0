"""Kafka Streams' foreign-key join: albums with their artists, updated when either changes.

Albums are keyed by their own number, and contain the number of their artist. No topic needs a new
key, and a change of an artist updates all of the artist's albums.

python examples/foreign_keys.py
"""

from __future__ import annotations

from dataclasses import dataclass

from kstreams import INT64, TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import count
from kstreams.joins import inner
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde


@dataclass(frozen=True)
class Album:
    """A title, and the number of its artist."""

    title: str
    artist: int


ALBUM = json_serde(Album)
ALBUMS = Topic("albums", key=INT64, value=ALBUM)
ARTISTS = Topic("artists", key=INT64, value=TEXT)
LABELS = Topic("labels", key=INT64, value=TEXT, nulls="pass")
COUNTS = timestamped_store("albums-of", key=INT64, value=INT64)

builder = TopologyBuilder("albums")
albums = builder.add_table(
    "albums", ALBUMS, store=timestamped_store("albums", key=INT64, value=ALBUM)
)
artists = builder.add_table(
    "artists", ARTISTS, store=timestamped_store("artists", key=INT64, value=TEXT)
)
labels = builder.join_foreign(
    "labels",
    albums,
    artists,
    inner(lambda album, artist: f"{album.title} by {artist}"),
    by=lambda _, album: album.artist,
    store=timestamped_store("labels", key=INT64, value=TEXT),
)
builder.add_sink("out", LABELS, builder.to_stream("changes", labels))
builder.regroup("albums-of", albums, lambda _, album: album.artist, count(), store=COUNTS)
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.pipe(ARTISTS, 7, "Nina")
        driver.pipe(ALBUMS, 1, Album("Blue", 7))
        driver.pipe(ALBUMS, 2, Album("Red", 7))
        driver.pipe(ARTISTS, 7, "Nina Simone")
        print([(label.key, label.value) for label in driver.read(LABELS)])
        print("albums of each artist", driver.store_contents(COUNTS))
