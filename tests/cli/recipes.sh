#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# Every recipe of tests/recipe: compiled, read, and what is printed compared with what the recipe expects.
exec "$SRCDIR/tests/recipe/run" "$(dirname "$RETICLE")/tests/recipe/recipe" "$RETICLE" "$SRCDIR"/tests/recipe/*.recipe
