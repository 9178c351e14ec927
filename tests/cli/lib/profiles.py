# SPDX-License-Identifier: Apache-2.0
"""Profiles of pprof and OTLP, as readers that are not ours have decoded them, with everything that numbers stand for
in its place and all that the formats ask for checked."""
import collections

from lib.readers import ask

Sample = collections.namedtuple("Sample", "stack values labels link")  # stack: leaf first, a tuple of frames
Frame = collections.namedtuple("Frame", "file build_id offset lines")  # lines: (function, file, line), innermost first


def number(x):
    return int(x or 0)


def frame(address, mapping, lines):
    """mapping: (start, limit, offset, file, build id), or None"""
    if mapping is None:
        return Frame(None, None, address, lines)
    start, limit, offset, file, build_id = mapping
    assert start <= address < limit, (mapping, address)
    return Frame(file, build_id, address - start + offset, lines)


class Pprof:
    def __init__(self, path):
        [raw] = ask({"pprof": str(path)}, script="profiles.js")
        strings = raw["stringTable"]["strings"]
        assert strings[0] == "" and len(set(strings)) == len(strings)

        def text(x):
            return strings[number(x)]

        def table(name):
            ids = [number(x["id"]) for x in raw[name]]
            assert 0 not in ids and len(set(ids)) == len(ids), name
            return dict(zip(ids, raw[name]))

        functions = {i: (text(f["name"]), text(f["filename"])) for i, f in table("function").items()}
        mappings = {i: (number(m["memoryStart"]), number(m["memoryLimit"]), number(m["fileOffset"]),
                        text(m["filename"]), text(m["buildId"])) for i, m in table("mapping").items()}
        flags = "hasFunctions", "hasFilenames", "hasLineNumbers", "hasInlineFrames"
        self.flags = {text(m["filename"]): [m[f] for f in flags] for m in raw["mapping"]}
        locations = {i: frame(number(x["address"]),
                              mappings[number(x["mappingId"])] if number(x["mappingId"]) else None,
                              tuple((*functions[number(n["functionId"])], number(n["line"])) for n in x["line"]))
                     for i, x in table("location").items()}
        self.nr_mappings, self.nr_locations = collections.Counter(m[3] for m in mappings.values()), len(locations)
        used = {number(i) for s in raw["sample"] for i in s["locationId"]}
        assert used == set(locations), "locations that no sample has"
        self.types = [(text(t["type"]), text(t["unit"])) for t in raw["sampleType"]]
        kind = raw.get("periodType")
        self.period = kind and (text(kind["type"]), text(kind["unit"]), number(raw["period"]))
        self.default = text(raw["defaultSampleType"])
        self.time, self.duration = number(raw["timeNanos"]), number(raw["durationNanos"])
        self.comments = [text(c) for c in raw["comment"]]
        self.samples = []
        for s in raw["sample"]:
            values = [number(v) for v in s["value"]]
            assert len(values) == len(self.types)
            labels = [(text(x["key"]), text(x["str"]) if number(x["str"]) else number(x["num"])) for x in s["label"]]
            assert len(dict(labels)) == len(labels), labels
            self.samples.append(Sample(tuple(locations[number(i)] for i in s["locationId"]), values,
                                       dict(labels), None))

    def totals(self):
        return {t: sum(s.values[i] for s in self.samples) for i, t in enumerate(self.types)}


class OtlpProfile:
    """One of a request: its resource, and what its values are"""
    resource = type = period = samples = time = duration = id = labels = None


class Otlp:
    def __init__(self, path):
        [raw] = ask({"otlp": str(path)}, script="profiles.js")
        d = self.dictionary = raw["dictionary"]
        strings = d["string_table"]
        assert strings[0] == ""
        for name, first in (("mapping_table", 0), ("location_table", 0), ("function_table", 0), ("stack_table", 0),
                            ("attribute_table", 0)):
            assert not any(v for v in d[name][first].values() if v not in ("0", "")), (name, d[name][first])
        assert d["link_table"][0] == {"trace_id": "00" * 16, "span_id": "00" * 8}
        for name, table in d.items():
            seen = [str(x) for x in table]
            assert len(set(seen)) == len(seen), f"{name} has equal elements"
        self.used = {name: {0} for name in d}
        attributes = [self.attribute(a) for a in d["attribute_table"]]

        def of_attributes(indices):
            pairs = [attributes[self.use("attribute_table", i)] for i in indices]
            assert all(key for key, _ in pairs) and len(dict(pairs)) == len(pairs), pairs
            return dict(pairs)

        functions = [(self.text(f["name_strindex"]), self.text(f["filename_strindex"])) for f in d["function_table"]]
        mappings = [(number(m["memory_start"]), number(m["memory_limit"]), number(m["file_offset"]),
                     self.text(m["filename_strindex"]),
                     of_attributes(m["attribute_indices"]).get("process.executable.build_id.gnu", ""))
                    for m in d["mapping_table"]]
        self.frame_types = collections.Counter()
        locations = [None]
        for x in d["location_table"][1:]:
            lines = tuple((*functions[self.use("function_table", n["function_index"])], number(n["line"]))
                          for n in x["lines"])
            mapping = self.use("mapping_table", x["mapping_index"])
            locations.append(frame(number(x["address"]), mappings[mapping] if mapping else None, lines))
            self.frame_types[of_attributes(x["attribute_indices"])["profile.frame.type"]] += 1
        self.nr_mappings, self.nr_locations = collections.Counter(m[3] for m in mappings), len(locations) - 1
        stacks = [tuple(locations[self.use("location_table", i)] for i in s["location_indices"])
                  for s in d["stack_table"]]
        self.profiles = [p for r in raw["resource_profiles"] for p in self.of_resource(r, stacks, of_attributes)]
        for name, used in self.used.items():
            assert used == set(range(len(d[name]))), f"{name} has elements that nothing refers to"
        ids = [p.id for p in self.profiles]
        assert len(set(ids)) == len(ids) and all(len(i) == 32 and int(i, 16) for i in ids), ids

    def use(self, table, i):
        assert 0 <= i < len(self.dictionary[table]), (table, i)
        self.used[table].add(i)
        return i

    def text(self, i):
        return self.dictionary["string_table"][self.use("string_table", i)]

    def value(self, any_value):
        kind = any_value["value"]
        return number(any_value[kind]) if kind == "int_value" else any_value[kind]

    def attribute(self, a):
        return (self.text(a["key_strindex"]), self.value(a["value"])) if a["value"] else ("", None)

    def of_resource(self, r, stacks, of_attributes):
        about = {a["key"]: self.value(a["value"]) for a in r["resource"]["attributes"]}
        assert len(about) == len(r["resource"]["attributes"])
        for scope in r["scope_profiles"]:
            assert scope["scope"]["name"] == "reticle"
            for raw in scope["profiles"]:
                p = OtlpProfile()
                p.resource, p.id = about, raw["profile_id"]
                p.type, p.period = (self.type(raw["sample_type"]),
                                    (*self.type(raw["period_type"]), number(raw["period"])))
                p.time, p.duration = number(raw["time_unix_nano"]), number(raw["duration_nano"])
                p.labels = of_attributes(raw["attribute_indices"])
                p.samples = []
                for s in raw["samples"]:
                    link = self.dictionary["link_table"][self.use("link_table", s["link_index"])]
                    assert len(s["values"]) == 1 and not s["timestamps_unix_nano"]
                    p.samples.append(Sample(stacks[self.use("stack_table", s["stack_index"])],
                                            [number(s["values"][0])], of_attributes(s["attribute_indices"]),
                                            (link["trace_id"], link["span_id"]) if s["link_index"] else None))
                same = [(s["stack_index"], tuple(sorted(s["attribute_indices"])), s["link_index"])
                        for s in raw["samples"]]
                assert len(set(same)) == len(same), "samples that differ in nothing but values"
                yield p

    def type(self, t):
        return self.text(t["type_strindex"]), self.text(t["unit_strindex"])

    def totals(self):
        """By the event that a profile is of, and by what its values are"""
        found = collections.Counter()
        for p in self.profiles:
            found[p.period[0], *p.type] += sum(s.values[0] for s in p.samples)
        return found
