#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: no binary, plain
# The library of activities is installed alone, a program of C and one of C++ are built with pkg-config, and Python and
# Node load it.
set -eu
meson setup --prefix="$TESTDIR/prefix" -Dlibdir=lib "$TESTDIR/build" "$SRCDIR/activity" >setup.log 2>&1 ||
	{ cat setup.log; exit 1; }
meson install -C "$TESTDIR/build" >install.log 2>&1 || { cat install.log; exit 1; }
export PKG_CONFIG_PATH=$TESTDIR/prefix/lib/pkgconfig LD_LIBRARY_PATH=$TESTDIR/prefix/lib

cat >user.c <<'C'
#include <reticle/activity.h>

int main(void)
{
	const struct activity_ids ids = { .trace = { 1 }, .span = { 2 } };

	ACTIVITY_SCOPE(&ids);
	return activity_depth() == 1 && activity_attribute(0, "x", 1) ? 0 : 1;
}
C
cp user.c user.cpp
sed -i 's/{ .trace = { 1 }, .span = { 2 } }/{ { 1 }, { 2 }, 0 }/' user.cpp
read -ra flags <<<"$(pkg-config --cflags --libs reticle-activity)"
for compiler in "gcc -std=c11" "gcc -std=gnu17"; do
	read -ra cc <<<"$compiler"
	"${cc[@]}" -Wall -Wextra -Werror -o user user.c "${flags[@]}"
	./user
done
g++ -std=c++11 -Wall -Wextra -Werror -o user user.cpp "${flags[@]}"
./user

# The Python module finds the library by its name.
PYTHONPATH=$TESTDIR/prefix/share/reticle-activity python3 -B -c '
import reticle_activity
with reticle_activity.span() as context:
    assert reticle_activity.current() == context
'

# The module for Node finds its addon beside it, and that the library.
if [ -e "$TESTDIR/prefix/lib/reticle-activity/node/reticle_activity.node" ]; then
	env -u LD_LIBRARY_PATH node -e "
		const activity = require('$TESTDIR/prefix/lib/reticle-activity/node');
		activity.run(() => process.exit(activity.current() ? 0 : 1));"
elif [ -e /usr/include/node/node_api.h ]; then
	echo "the headers of node are there, and the addon was not installed"
	exit 1
fi

# What others look for is there by name, and nothing else is but the calls of the header.
nm -D --defined-only "$TESTDIR/prefix/lib/libreticle-activity.so" >symbols
grep -q ' B otel_thread_ctx_v1$' symbols
if others=$(grep -vE ' (B otel_thread_ctx_v1|T activity_[a-z_]+)$' symbols); then
	echo "exported as well: $others"
	exit 1
fi
