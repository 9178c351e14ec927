# SPDX-License-Identifier: Apache-2.0
"""Reads Parquet files, written from the format's documents and apart from reticle's writer: flat columns, PLAIN and
RLE_DICTIONARY, whole or packed with zstd. Whatever else is met is an error, as is anything that does not add up."""
import ctypes
import ctypes.util
import pathlib
import struct

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
BOOLEAN, INT32, INT64, BYTE_ARRAY = 0, 1, 2, 6


class Thrift:
    """A struct of the compact protocol as {number: value}."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value

    def number(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def value(self, kind):
        if kind in (I16, I32, I64):
            return self.number()
        if kind == BYTE:
            return self.byte()
        if kind == BINARY:
            n = self.varint()
            self.at += n
            assert self.at <= len(self.data)
            return self.data[self.at - n : self.at]
        if kind == LIST:
            head = self.byte()
            n = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(n)]
        assert kind == STRUCT, kind
        return self.struct()

    def struct(self):
        out, last = {}, 0
        while head := self.byte():
            last = last + (head >> 4) if head >> 4 else self.number()
            assert last not in out
            out[last] = head & 15 == TRUE if head & 15 in (TRUE, FALSE) else self.value(head & 15)
        return out


def unzstd(data, size):
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(max(size, 1))
    n = zstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert n == size, "a page has another size than its header says"
    return out.raw[:size]


def hybrid(data, n, width):
    """The n numbers of a run of RLE and bit-packed groups, which have to take up all of data."""
    t, out = Thrift(data), []
    while len(out) < n:
        head = t.varint()
        if head & 1:
            mask = (1 << width) - 1
            for _ in range(head >> 1):  # of eight values
                bits = int.from_bytes(data[t.at : t.at + width], "little")
                out += [bits >> i & mask for i in range(0, 8 * width, width)]
                t.at += width
        else:
            size = (width + 7) // 8
            out += [int.from_bytes(data[t.at : t.at + size], "little")] * (head >> 1)
            t.at += size
    assert t.at == len(data) and len(out) - n < 8
    return out[:n]


def plain(data, n, column):
    kind, unsigned = column["type"], column["unsigned"]
    if kind == BOOLEAN:
        assert len(data) == (n + 7) // 8
        return [bool(data[i // 8] >> i % 8 & 1) for i in range(n)]
    if kind == BYTE_ARRAY:
        out, at = [], 0
        for _ in range(n):
            size = struct.unpack_from("<I", data, at)[0]
            out.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        assert at == len(data)
        return [v.decode() for v in out] if column["utf8"] else out
    code = {INT32: "i", INT64: "q"}[kind]
    return list(struct.unpack(f"<{n}{code.upper() if unsigned else code}", data))


def chunk(data, meta, column, rows):
    at = meta.get(11, meta[9])
    end, values, dictionary, plain_size = at + meta[7], [], None, 0
    assert column["path"] == meta[3] and meta[5] == rows and meta[1] == column["type"] and meta[4] in (0, 6)
    while at < end:
        t = Thrift(data, at)
        head = t.struct()
        body = data[t.at : t.at + head[3]]
        plain_size += t.at - at + head[2]
        at = t.at + head[3]
        if meta[4] == 6:
            body = unzstd(body, head[2])
        assert len(body) == head[2]
        if head[1] == 2:
            assert dictionary is None and not values and head[7][2] == 0
            dictionary = plain(body, head[7][1], column)
            assert len(set(dictionary)) == len(dictionary), "a dictionary has a value twice"
            continue
        n, there = head[5][1], None
        if column["optional"]:
            size = struct.unpack_from("<I", body)[0]
            there = hybrid(body[4 : 4 + size], n, 1)
            body = body[4 + size :]
        nr = sum(there) if there is not None else n
        assert head[5][2] in meta[2]
        if head[5][2] == 8:
            page = [dictionary[i] for i in hybrid(body[1:], nr, body[0])]
        else:
            assert head[5][2] == 0
            page = plain(body, nr, column)
        page = iter(page)
        values += page if there is None else [next(page) if i else None for i in there]
    assert at == end and len(values) == rows and plain_size == meta[6]
    check_statistics(meta.get(12, {}), values, column)
    return values


def check_statistics(said, values, column):
    there = [v for v in values if v is not None]
    assert said.get(3) == len(values) - len(there)
    key = (lambda v: v.encode()) if column["type"] == BYTE_ARRAY else None
    for field, pick in (5, max), (6, min):
        if field in said:
            raw = said[field] if column["type"] != BYTE_ARRAY else struct.pack("<I", len(said[field])) + said[field]
            assert plain(raw, 1, column)[0] == pick(there, key=key), column["name"]


def describe(element):
    logical = element.get(10, {})
    return {"name": element[4].decode(), "path": [element[4]], "type": element[1], "optional": element[3] == 1,
            "utf8": 1 in logical and element.get(6) == 0, "unsigned": 10 in logical and logical[10][2] is False}


def read(path):
    """-> (names, rows as tuples, {"groups": rows of each, "created_by": text, "columns": what the schema says})"""
    data = pathlib.Path(path).read_bytes()
    assert data[:4] == data[-4:] == b"PAR1"
    size = struct.unpack("<I", data[-8:-4])[0]
    t = Thrift(data[-8 - size : -8])
    meta = t.struct()
    assert t.at == size
    columns = [describe(e) for e in meta[2][1:]]
    assert meta[2][0][5] == len(columns) == len(meta[7])
    values = [[] for _ in columns]
    for group in meta[4]:
        assert len(group[1]) == len(columns)
        assert group[2] == sum(c[3][6] for c in group[1]) and group[6] == sum(c[3][7] for c in group[1])
        for i, c in enumerate(group[1]):
            values[i] += chunk(data, c[3], columns[i], group[3])
    rows = list(zip(*values))
    assert len(rows) == meta[3] == sum(g[3] for g in meta[4])
    about = {"groups": [g[3] for g in meta[4]], "created_by": meta[6].decode(), "columns": columns}
    return [c["name"] for c in columns], rows, about


def as_csv(value):
    """A value as it stands in CSV, read by Python's csv module."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
