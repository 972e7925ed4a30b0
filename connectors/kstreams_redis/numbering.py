"""The numbers of a stream's entries, assigned once, in a hash next to the stream.

A Redis id has 128 bits, and a position of a log is the number of a record. An atomic script numbers
new entries, so several drivers and apps agree without a lock. The ids of numbered entries are
stored in blocks of a thousand (about 5 bytes each) and deleted with their entries. Entries that
were added and deleted before they were numbered are holes: offsets without records. A consumer
group without consumers marks the stream itself and is deleted with it, so a stream that was deleted
and created again has no mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from kstreams_redis.server import Script, Server

__all__ = ("EntryId", "Numbers", "look", "numbers_at")

_CHUNK = 1_000
_PER_SCRIPT = 5_000
_ENTRY = re.compile(rb"(\d+)-(\d+) ")
_HOLE = re.compile(rb"(\d+):(\d+)(\+?) ")
_LOOK = Script("""
local stream, index, prefix = KEYS[1], KEYS[2], KEYS[2] .. ':'
local size, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local function parts(id)
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    return tonumber(ms), tonumber(seq)
end
local function before(a, b)
    local ams, aseq = parts(a)
    local bms, bseq = parts(b)
    return ams < bms or (ams == bms and aseq < bseq)
end
local function named(flat)
    local found = {}
    for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
    return found
end
local function whole(number) return string.format('%.0f', number) end
local function marker()
    if redis.call('EXISTS', stream) == 0 then return nil end
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
        local name = named(group)['name']
        if string.sub(name, 1, #prefix) == prefix then return string.sub(name, #prefix + 1) end
    end
end

local id = marker()
local state = named(redis.call('HGETALL', index))
local begins = not id or id ~= state['id']
if not begins and state['last'] then
    local made = named(redis.call('XINFO', 'STREAM', stream))['last-generated-id']
    begins = before(made, state['last']) -- it was put back as it was before
end
if begins then
    if id then redis.call('XGROUP', 'DESTROY', stream, prefix .. id) end
    redis.call('DEL', index)
    id, state = ARGV[1], {}
    redis.call('XGROUP', 'CREATE', stream, prefix .. id, '$', 'MKSTREAM')
    redis.call('HSET', index, 'id', id)
end
local count, first = tonumber(state['count'] or '0'), tonumber(state['first'] or '0')
local last, holes = state['last'], state['holes'] or ''
local about = named(redis.call('XINFO', 'STREAM', stream))
local told = about['entries-added'] -- since Redis 7
local added = tonumber(state['added'] or '') or (told and told - about['length'])
local head = about['first-entry'] and about['first-entry'][1]

local fresh, complete = {}, false
while #fresh < most and not complete do
    local from = fresh[#fresh] or last
    local some = redis.call('XRANGE', stream, from and '(' .. from or '-', '+', 'COUNT', 50)
    for _, entry in ipairs(some) do fresh[#fresh + 1] = entry[1] end
    complete = #some < 50
end
local gone = last and head and before(last, head) -- all that had numbers
if last and told then
    local there = complete and #fresh or (gone and about['length'])
    local lost = there and told - added - there or 0
    if lost > 0 then
        holes = holes .. whole(count) .. ':' .. whole(lost) .. ' '
        added = added + lost
    end
elseif gone and #fresh > 0 then
    holes = holes .. whole(count) .. ':1+ '
end

local chunk, text, base
local function open()
    chunk = whole(math.floor(count / size))
    text = redis.call('HGET', index, chunk) or ''
    base = text ~= '' and parts(last) or 0
end
open()
for _, each in ipairs(fresh) do
    local ms, seq = parts(each)
    if ms >= 2 ^ 53 or seq >= 2 ^ 53 then
        return redis.error_reply('NOTIME the id ' .. each .. ' of an entry is no time')
    end
    text = text .. whole(ms - base) .. '-' .. whole(seq) .. ' '
    base, last, count = ms, each, count + 1
    if count % size == 0 then
        redis.call('HSET', index, chunk, text)
        open()
    end
end
if text ~= '' then redis.call('HSET', index, chunk, text) end
if last then redis.call('HSET', index, 'last', last) end
if told then redis.call('HSET', index, 'added', whole(added + #fresh)) end

local trimmed = 0
while head and first < math.floor(count / size) and trimmed < 20 do
    local ms, seq = 0, 0
    for more, place in string.gmatch(redis.call('HGET', index, whole(first)), '(%d+)-(%d+)') do
        ms, seq = ms + tonumber(more), tonumber(place)
    end
    if not before(whole(ms) .. '-' .. whole(seq), head) then break end
    redis.call('HDEL', index, whole(first))
    first, trimmed = first + 1, trimmed + 1
end
redis.call('HSET', index, 'count', whole(count), 'first', whole(first), 'holes', holes)
return {id, whole(count), whole(first), holes, head or '', complete and trimmed < 20 and 1 or 0}
""")


class EntryId(NamedTuple):
    """The id of an entry.

    Attributes:
        ms: The time, ms since the epoch.
        place: The sequence number among the entries of one ms.
    """

    ms: int
    place: int

    @classmethod
    def of(cls, text: bytes) -> EntryId:
        """Parse an id in the server's format."""
        ms, _, place = text.partition(b"-")
        return cls(int(ms), int(place))

    def __str__(self) -> str:
        """Return the id in the server's format."""
        return f"{self.ms}-{self.place}"


@dataclass(frozen=True)
class Numbers:
    """The numbering of a stream.

    Attributes:
        log_id: The id of the numbering; a new one after the numbers or the stream
            were lost.
        count: The number of entries numbered so far.
        first: The number of the first entry whose id is still stored, approximately.
        holes: Increasing entry numbers, with the count of entries lost before each, and whether
            there may be more.
        head: The id of the first existing entry; None for an empty stream.
    """

    log_id: str
    count: int
    first: int
    holes: tuple[tuple[int, int, bool], ...] = ()
    head: EntryId | None = None

    @property
    def stop(self) -> int:
        """The offset after the last entry."""
        return self.offset(self.count)

    def offset(self, number: int) -> int:
        """Return the offset of an entry: its number plus the entries lost before it."""
        return number + sum(lost for at, lost, _ in self.holes if at <= number)

    def number(self, offset: int) -> int:
        """Return the number of the first entry from an offset on."""
        lost = least = 0
        for at, count, _ in self.holes:
            if at + lost >= offset:
                break
            lost, least = lost + count, at
        return max(offset - lost, least)

    def unsure(self, start: int, stop: int) -> bool:
        """Return whether more entries may be lost in a range than were counted."""
        return any(more and start <= at <= stop for at, _, more in self.holes)


def look(server: Server, stream: str, index: str) -> Numbers:
    """Assign numbers to new entries, and return the numbering.

    Args:
        server: The server of the stream.
        stream: The key of the stream; created if it does not exist.
        index: The key of the hash with the numbers.
    """
    while True:
        found = server.ask(_LOOK, (stream, index), uuid4().hex, _CHUNK, _PER_SCRIPT)
        log_id, count, first, holes, head, complete = found
        if complete:
            start = EntryId.of(head) if head else None
            return Numbers(log_id.decode(), int(count), int(first) * _CHUNK, _holes(holes), start)


def numbers_at(
    server: Server, index: str, start: int, stop: int
) -> tuple[Numbers | None, list[EntryId | None]]:
    """Return the numbering, and the ids of entries by number; None if an id is not stored.

    Args:
        server: The server of the stream.
        index: The key of the hash with the numbers.
        start: The first number.
        stop: The number after the last one.
    """
    chunks = range(start // _CHUNK, -(-stop // _CHUNK))
    found = server.command("HMGET", index, "id", "count", "first", "holes", *map(str, chunks))
    log_id, count, first, holes, *texts = found
    if log_id is None:
        return None, []
    ids: list[EntryId | None] = []
    for chunk, text in zip(chunks, texts, strict=True):
        known = _ids(text or b"")
        low, high = max(start - chunk * _CHUNK, 0), min(stop - chunk * _CHUNK, _CHUNK)
        ids += [known[n] if n < len(known) else None for n in range(low, high)]
    known_numbers = Numbers(
        log_id.decode(), int(count or 0), int(first or 0) * _CHUNK, _holes(holes or b"")
    )
    return known_numbers, ids


def _ids(text: bytes) -> list[EntryId]:
    found: list[EntryId] = []
    ms = 0
    for more, place in _ENTRY.findall(text):
        ms += int(more)
        found.append(EntryId(ms, int(place)))
    return found


def _holes(text: bytes) -> tuple[tuple[int, int, bool], ...]:
    found: Any = _HOLE.findall(text)
    return tuple((int(at), int(lost), bool(more)) for at, lost, more in found)
