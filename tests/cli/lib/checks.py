# SPDX-License-Identifier: Apache-2.0
"""Checks that go on after one that fails, so that one run tells all: check("what is to be", is_so) ...
sys.exit(check.failed)"""


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, what, is_so):
        if not is_so:
            print("not so: " + what)
            self.failed = 1
