# SPDX-License-Identifier: Apache-2.0
"""arm64 packages of Debian, on a machine of any architecture: found, fetched and unpacked, never installed.

apt runs with lists, cache and status of its own, in the lab's cache; the machine's architectures stay as they are.
Packages come from where the machine's own libc6 and kernel source come from, in the versions that are current there;
lists are as old as LISTS_MAX_AGE at most, unless there is no network.

    sysroot(["libelf-dev", "libdw-dev"])    -> a directory with these, all that they depend on, in it
    unpacked("linux-perf")                  -> a directory with this one alone
"""
import re
import time

from base import CACHE, LabError, held, key_of, made_tree, note, run

LISTS_MAX_AGE = 7 * 24 * 3600
APT = CACHE / "apt"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIG = """\
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "%(apt)s/state";
Dir::State::status "%(apt)s/status";
Dir::Cache "%(apt)s/cache";
Dir::Etc::sourcelist "%(apt)s/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Log "%(apt)s/log";
"""


def sources():
    """Lines of a sources.list: the archives that this machine has the C library and the kernel's source from."""
    policy = run(["apt-cache", "policy", "libc6", "linux-source-6.12"])
    found = set(re.findall(r"^ +-?\d+ ([a-z]+:\S+) (\S+)/(\S+) \S+ Packages$", policy, re.M))
    if not found:
        raise LabError("apt-cache policy names no archive for libc6 (apt-get update?)")
    return "".join(f"deb [arch=arm64 signed-by={KEYRING}] {uri} {suite} {component}\n"
                   for uri, suite, component in sorted(found))


def apt(command, cwd=None):
    return run(command, cwd, {"APT_CONFIG": str(APT / "apt.conf"), "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})


def set_up():
    for sub in ("state/lists/partial", "cache/archives/partial", "empty/partial", "answers", "log"):
        (APT / sub).mkdir(parents=True, exist_ok=True)
    (APT / "status").touch()
    (APT / "apt.conf").write_text(CONFIG % {"apt": APT})


def update(force=False):
    """Lists that are there, and young enough."""
    stamp, lines = APT / "updated", APT / "sources.list"
    set_up()
    if not force and stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_MAX_AGE:
        return
    lines.write_text(sources())
    try:
        apt(["apt-get", "update", "-qq", "--error-on=any"])
    except LabError as e:
        if force or not stamp.exists():
            raise
        note(f"going on with old package lists: {e}")
        return
    stamp.touch()


def remembered(question, ask):
    """-> ask(), a text, or what it was when these lists were asked the last time."""
    answer = APT / "answers" / key_of(question, str((APT / "updated").stat().st_mtime_ns))
    if not answer.exists():
        answer.write_text(ask())
    return answer.read_text()


def download(name, plan):
    """plan(directory, *options) runs apt-get for some packages, to be put into the directory -> their files."""
    with held("apt"):
        update()
        try:
            return fetch(name, plan)
        except LabError:
            update(force=True)  # old lists name packages that the archive has no more
            return fetch(name, plan)


def fetch(name, plan):
    # A package that is there already would not be named: this looks into an empty cache.
    uris = remembered(f"files of {name}", lambda: plan(APT / "empty", "--print-uris"))
    wanted = re.findall(r"^'\S+' (\S+\.deb) ", uris, re.M)
    files = [APT / "cache/archives" / name for name in wanted]
    if not all(f.exists() for f in files):
        plan(APT / "cache/archives")
    return files


def unpack(files, directory):
    for f in files:
        run(["dpkg-deb", "-x", str(f), str(directory)])


def sysroot(packages):
    """-> a directory with these packages and what they depend on."""
    def plan(directory, *options):
        return apt(["apt-get", "install", "-y", "-qq", "--download-only", "-o", f"Dir::Cache::archives={directory}/",
                    *options, *packages])

    files = sorted(download(" ".join(packages), plan))
    place = CACHE / f"sysroot-{key_of(*(f.name for f in files))}"
    return made_tree(place, lambda directory: unpack(files, directory))


def unpacked(package):
    """-> a directory with this package alone."""
    def plan(directory, *options):
        return apt(["apt-get", "download", "-qq", *options, package], directory)

    (file,) = download(package + " alone", plan)
    return made_tree(CACHE / f"package-{file.stem}", lambda directory: unpack([file], directory))


def newest(pattern):
    """-> the package with the highest version among those whose names match."""
    with held("apt"):
        update()
        names = remembered("names", lambda: apt(["apt-cache", "pkgnames"])).split()
    names = [n for n in names if re.fullmatch(pattern, n)]
    if not names:
        raise LabError(f"the archive has no package {pattern}")
    return max(names, key=lambda n: [int(x) for x in re.findall(r"\d+", n)])
