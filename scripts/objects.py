# SPDX-License-Identifier: Apache-2.0
"""What the checks of built objects share."""
import pathlib
import subprocess


def ours(build):
    """-> the objects of src/, vpmu/ and the program itself in a build directory, in order"""
    return sorted(o for d in (build / "src", build / "vpmu", build / "reticle.p") for o in d.rglob("*.o"))


def undefined(objects):
    """-> {object: the symbols that it uses and others define, without versions}. One nm is asked for all of them: each
    start takes a tenth of a second."""
    found = {o: set() for o in objects}
    for line in subprocess.check_output(["nm", "-u", "-A", *objects], text=True).splitlines() if objects else []:
        name, _, rest = line.partition(":")
        found[pathlib.Path(name)].add(rest.split()[-1].split("@")[0])
    return found
