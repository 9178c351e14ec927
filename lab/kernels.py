# SPDX-License-Identifier: Apache-2.0
"""The kernels of the lab: built from Debian's source, with and without the patches of kernel/, and Debian's own."""
import os
import pathlib
import re
import shutil
import time

from base import CACHE, CROSS, JOBS, LAB, ROOT, compiler_version, held, key_of, made_tree, note, run, scratch
from fetch import newest, unpacked

TARBALL = pathlib.Path("/usr/src/linux-source-6.12.tar.xz")
CONFIG = LAB / "guest.config"


def patches_of(series):
    return sorted(p for p in series.glob("[0-9][0-9][0-9][0-9]-*.patch") if not p.name.startswith("0000-"))


SERIES = patches_of(ROOT / "kernel")
PERF_SERIES = patches_of(ROOT / "kernel/perf")
BUILT = {"plain": [], "burst": SERIES, "kasan": SERIES, "x86": SERIES}
STOCK = {"debian-6.1": r"linux-image-6\.1\.0-\d+-cloud-arm64",
         "debian-6.12": r"linux-image-6\.12\.\d+(\+deb\d+)?-cloud-arm64"}
STOCK["spe"] = STOCK["debian-6.12"]
DRIVERS = {"spe": LAB / "spe/lab_spe.c"}  # a module that is loaded there
SELFTESTS = ["burst_sampling", "tls_user"]
KERNELS = [*BUILT, *STOCK]
ON_DEMAND = ("plain", "kasan", "x86")  # only built and booted when they are named
# What the kernel's make calls the architecture, what it makes, prefix of the compiler.
ARM = ("arm64", "Image", CROSS)
X86 = ("x86", "bzImage", "x86_64-linux-gnu-")


def machine_of(name):
    return X86 if name == "x86" else ARM


def config_of(name):
    """-> what allnoconfig is given: guest.config, and NAME.config where there is one."""
    more = LAB / f"{name}.config"
    return (CONFIG.read_text() if machine_of(name) == ARM else "") + (more.read_text() if more.exists() else "")


def source_version():
    return run(["dpkg-query", "-W", "-f", "${Version}", "linux-source-6.12"]).strip()


def pristine_source():
    """-> the unpacked source package. Never built in or written to."""
    def unpack(directory):
        note(f"unpacking {TARBALL}")
        run(["tar", "-C", str(directory), "--strip-components=1", "-xJf", str(TARBALL)])

    return made_tree(CACHE / f"source-{source_version()}", unpack)


def kernel(name, refresh=False):
    """-> its Image"""
    if name in STOCK:
        (image,) = (unpacked(newest(STOCK[name])) / "boot").glob("vmlinuz-*")
        return image
    key = key_of(source_version(), compiler_version(machine_of(name)[2]), config_of(name), *BUILT[name])
    image = CACHE / f"kernel-{name}-{key}"
    if refresh or not image.exists():
        with held("kernel"):
            if refresh or not image.exists():  # another lab may have built it meanwhile
                build(name, BUILT[name], image)
    return image


def build(name, patches, image):
    start = time.monotonic()
    work = lay_out(name)
    apply(work, patches)
    note(f"building kernel {name} ({len(patches)} patches)")
    built = built_image(work, machine_of(name))
    for test in SELFTESTS:
        build_selftest(work / "src", test, image.with_name(f"{image.name}.selftest-{test}"),
                       machine_of(name)[2] + "gcc")
    os.replace(built, image)
    shutil.rmtree(work)
    note(f"kernel {name} took {time.monotonic() - start:.0f} s")


def lay_out(name):
    """-> a directory with the source, unpatched, and the configuration. One fixed place, so that the compiler cache
    knows the next kernel's files again."""
    work = CACHE / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    # Hard links; patch replaces the files that it changes.
    run(["cp", "-al", str(pristine_source()), str(work / "src")])
    (work / "config").write_text(config_of(name))
    return work


def apply(work, patches):
    for patch in patches:
        run(["patch", "-p1", "--fuzz=0", "-s", "-i", str(patch)], cwd=work / "src")


def built_image(work, machine=ARM):
    arch, target, cross = machine
    make = ["make", "-C", str(work / "src"), f"O={work / 'obj'}", f"-j{JOBS}"]
    env = {"ARCH": arch, "CROSS_COMPILE": f"ccache {cross}", "CCACHE_DIR": str(CACHE / "ccache"),
           "CCACHE_MAXSIZE": "1G", "KCONFIG_ALLCONFIG": str(work / "config"), "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
           "KBUILD_BUILD_USER": "lab", "KBUILD_BUILD_HOST": "reticle"}
    run(make + ["allnoconfig"], env=env)
    run(make + [target], env=env)
    return work / f"obj/arch/{arch}/boot/{target}"


def selftests(image):
    """-> the series' own tests, where the kernel has any"""
    return sorted(image.parent.glob(f"{image.name}.selftest-*"))


def build_selftest(source, name, program, compiler):
    """One of the series' own tests, where the tree has it; against the tree's perf_event.h."""
    test = source / f"tools/testing/selftests/perf_events/{name}.c"
    if not test.exists():
        return
    with scratch() as tmp:
        header = tmp / "linux/perf_event.h"
        header.parent.mkdir()
        shutil.copy(source / "include/uapi/linux/perf_event.h", header)
        run([compiler, "-O2", "-Wall", "-static", "-pthread", "-I", str(tmp), "-o", str(program), str(test)])


def module(name):
    """-> the module that the kernel loads, or None. Built as any module outside of the tree, for Debian's own
    kernel."""
    source = DRIVERS.get(name)
    if not source:
        return None
    headers = newest(STOCK[name]).replace("image", "headers")
    parts = [unpacked(headers), unpacked(re.sub("-cloud-arm64$", "-common", headers))]
    ko = CACHE / f"module-{source.stem}-{key_of(compiler_version(), *(p.name for p in parts), source)}.ko"
    with held("module"):
        if not ko.exists():
            with scratch() as tmp:
                os.replace(build_module(tmp, parts, headers, source), ko)
    return ko


def build_module(tmp, parts, headers, source):
    """The headers want to lie in /usr, beside programs for this machine that build modules."""
    tools = "linux-kbuild-" + re.sub("-cloud-arm64$", "", headers.removeprefix("linux-headers-"))
    run(["apt-get", "download", "-qq", tools], cwd=tmp)
    (package,) = tmp.glob("linux-kbuild-*.deb")
    run(["dpkg-deb", "-x", str(package), str(tmp)])
    for part in parts:
        run(["cp", "-a", str(part / "usr"), str(tmp)])
    tree, work = tmp / "usr/src" / headers, tmp / "module"
    (tree / "Makefile").write_text((tree / "Makefile").read_text().replace("/usr/src", str(tmp / "usr/src")))
    (tree / "vmlinux").unlink(missing_ok=True)  # without it no types are made of it, which would need pahole
    work.mkdir()
    shutil.copy(source, work)
    (work / "Makefile").write_text(f"obj-m := {source.stem}.o\n")
    run(["make", "-C", str(tree), f"M={work}", f"CC={CROSS}gcc", f"CROSS_COMPILE={CROSS}", "KCFLAGS=-Werror",
         "modules"])
    return work / f"{source.stem}.ko"
