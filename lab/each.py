# SPDX-License-Identifier: Apache-2.0
"""The series as a series: does each kernel on its way build and boot, does git am take it, what does checkpatch
say?"""
import re
import subprocess
import time

from base import LabError, held, note, run, scratch
from guest import boot, results_of, scenarios_initramfs
from kernels import BUILT, PERF_SERIES, apply, built_image, lay_out, pristine_source, source_version

GIT = ["git", "-c", "user.name=lab", "-c", "user.email=lab@localhost", "-c", "commit.gpgsign=false", "-c",
       "core.hooksPath=/dev/null"]
PATCHES = BUILT["burst"]
ALL = PATCHES + PERF_SERIES


def each_patch(first):
    """-> a row for each patch, from the one with the number `first` on: the kernel up to it was built and booted, and
    samples as ever."""
    with held("kernel"):
        work = lay_out("each")
        apply(work, [p for p in PATCHES if p.name[:4] < first])
        for patch in [p for p in PATCHES if p.name[:4] >= first]:
            start = time.monotonic()
            note(f"building up to {patch.name}")
            try:
                apply(work, [patch])
                image = built_image(work)
            except LabError as e:
                note(e)
                yield patch.stem, "FAIL", "does not build"
                return
            seconds = time.monotonic() - start
            console = boot(image, scenarios_initramfs([]), "kernel=plain lab=plain", 1)
            bad = [f"{scenario}: {figures}" for scenario, result, figures in results_of(console) if result == "FAIL"]
            figures = "; ".join(bad) or "; ".join(figures for _, _, figures in results_of(console))
            yield patch.stem, "FAIL" if bad else "ok", f"built in {seconds:.0f} s; {figures}"


def touched():
    """-> the files that the series changes and that are there before"""
    files = {f for p in ALL for f in re.findall(r"^diff --git a/(\S+) b/", p.read_text(), re.M)}
    return sorted(f for f in files if (pristine_source() / f).exists())


def git_am():
    """On a repository of the source package, or rather of those files of it that the series changes."""
    with scratch() as tree:
        run(["cp", "--parents", "-t", str(tree)] + touched(), cwd=pristine_source())
        run(["git", "init", "-q", str(tree)])
        run(GIT + ["add", "-A"], cwd=tree)
        run(GIT + ["commit", "-q", "-m", f"linux-source-6.12 {source_version()}"], cwd=tree)
        try:
            run(GIT + ["am", "-q"] + [str(p) for p in ALL], cwd=tree)
        except LabError as e:
            return "git-am", "FAIL", str(e).splitlines()[-1]
        n = run(GIT + ["rev-list", "--count", "HEAD"], cwd=tree).strip()
    return "git-am", "ok" if int(n) == len(ALL) + 1 else "FAIL", f"{int(n) - 1} patches on {source_version()}"


def checkpatch_of(patches, ignored):
    script = pristine_source() / "scripts/checkpatch.pl"
    return subprocess.run(["perl", str(script), f"--root={pristine_source()}", "--no-signoff", "--ignore", ignored,
                           *map(str, patches)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def checkpatch():
    """The tree's own; it asks for MAINTAINERS of new files, which a distribution's tree does not need, and for a
    sign-off, which is for whoever sends the patches."""
    # The second: this is no git tree. perf's last two: its lines that were so before.
    said = checkpatch_of(PATCHES, "FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID")
    said += checkpatch_of(PERF_SERIES, "FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID,CONSTANT_COMPARISON,SPLIT_STRING")
    totals = re.findall(r"^total: (\d+) errors, (\d+) warnings, (?:\d+ checks, )?(\d+) lines checked", said, re.M)
    errors, warnings, lines = (sum(int(t[i]) for t in totals) for i in range(3))
    clean = len(totals) == len(ALL) and not errors and not warnings
    if not clean:
        note(said)
    return ("checkpatch", "ok" if clean else "FAIL",
            f"{len(totals)} patches: {errors} errors, {warnings} warnings, {lines} lines checked")


def series():
    """-> rows as guest.results_of, of what needs no kernel"""
    return [git_am(), checkpatch()]
