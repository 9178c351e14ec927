#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: no binary
# The library of activities is installed alone, and a program of C and one of C++ are built with pkg-config.
set -eu
meson setup --prefix="$TESTDIR/prefix" -Dlibdir=lib "$TESTDIR/build" "$SRCDIR/activity" >setup.log 2>&1 || { cat setup.log; exit 1; }
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

# What others look for is there by name, and nothing else is but the calls of the header.
nm -D --defined-only "$TESTDIR/prefix/lib/libreticle-activity.so" >symbols
grep -q ' B otel_thread_ctx_v1$' symbols
if others=$(grep -vE ' (B otel_thread_ctx_v1|T activity_[a-z_]+)$' symbols); then
	echo "exported as well: $others"
	exit 1
fi
