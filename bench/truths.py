# SPDX-License-Identifier: Apache-2.0
"""What a program counted, function by function, by `record --pmu=sim --truth`, and the rows of `report --json` that
are held against it. Both know a function as (dso, symbol)."""
import collections
import json
import pathlib
import sys

RATIOS, SHARES = ["CPI", "BM/KI", "L1D/KI", "LLC/KI", "LLC%"], ["%CY", "%I", "%BM", "%L1DM", "%LLCM"]
# (numerator, denominator or None: that of the whole program, scale)
FORMULAS = {"CPI": ("cycles", "instructions", 1), "BM/KI": ("branch-misses", "instructions", 1000),
            "L1D/KI": ("L1-dcache-load-misses", "instructions", 1000),
            "LLC/KI": ("cache-misses", "instructions", 1000), "LLC%": ("cache-misses", "cache-references", 100),
            "%CY": ("cycles", None, 100), "%I": ("instructions", None, 100), "%BM": ("branch-misses", None, 100),
            "%L1DM": ("L1-dcache-load-misses", None, 100), "%LLCM": ("cache-misses", None, 100)}


def without_windows(text):
    """Windows are by far the longest list of the truth, and come last."""
    return text[:text.index(',\n"windows":[')] + "}"


class Truth:
    """Exact counts per function: {(dso, symbol): {event: count}}"""

    def __init__(self, path, windows):
        text = path.read_text()
        self.json = json.loads(text if windows else without_windows(text))
        if not self.json["complete"]:
            sys.exit(f"bench: {path} is incomplete: {self.json['incomplete']}")
        self.totals = self.json["totals"]
        self.functions = collections.defaultdict(collections.Counter)
        for f in self.json["functions"]:
            unnamed = f"[{pathlib.PurePath(f['dso']).name}+{f['address']:#x}]" if "address" in f else None
            self.functions[f["dso"], f["symbol"] or unnamed].update(f["counts"])

    def value(self, key, metric):
        """None: it has no such ratio."""
        a, b, scale = FORMULAS[metric]
        counts = self.functions.get(key, {})
        below = counts.get(b, 0) if b else self.totals.get(a, 0)
        return scale * counts.get(a, 0) / below if below else None

    def frequent(self, key, metric):
        """Does it have enough of the denominator to speak of? Of cache accesses: one in 1000 instructions."""
        counts = self.functions.get(key, {})
        return metric != "LLC%" or counts.get("cache-references", 0) * 1000 >= counts.get("instructions", 0)


class Row:
    def __init__(self, row):
        self.key, self.kept, self.windows = ((row["dso"], row["symbol"]), row["windows"]["kept"],
                                             row["windows"]["short"])
        self.discarded, self.metrics = row["windows"]["discarded"], row["metrics"]

    def value(self, metric):
        return self.metrics[metric]["value"] if metric in self.metrics else None

    def half(self, metric):
        m = self.metrics[metric]
        return m["high"] - m["value"] if m["high"] is not None else None


def error(metric, value, truth):
    """-> (error, is it in percent?)"""
    rare = metric in ("BM/KI", "L1D/KI", "LLC/KI") and truth < 1
    return (value - truth, False) if rare else (100 * (value - truth) / truth, True)


def name(key):
    return key[1] or "unnamed"
