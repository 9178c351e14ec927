# SPDX-License-Identifier: Apache-2.0
"""Is $RETICLE built with a sanitizer? Then it starts and runs many times slower, and the time and memory that it takes
say nothing."""
import os
import pathlib

_program = pathlib.Path(os.environ["RETICLE"]).read_bytes()
SANITIZED = b"__asan_init" in _program or b"__tsan_init" in _program
