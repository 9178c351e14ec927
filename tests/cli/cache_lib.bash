# SPDX-License-Identifier: Apache-2.0
# For tests of the symbol cache: one of their own, and how they fail. Sourced.
fail() {
	echo "$*"
	exit 1
}
export XDG_CACHE_HOME=$TESTDIR/cache
mkdir "$XDG_CACHE_HOME"
