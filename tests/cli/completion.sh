#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bash completion offers every command, and every option of each.
set -u
# shellcheck source=/dev/null
. "$SRCDIR/completion/reticle.bash"

offered() {
	COMP_WORDS=("$RETICLE" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_reticle
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

"$RETICLE" complete | cut -f1 | sort >commands
offered '' | comm -13 - commands >missing
if [ -s missing ]; then
	echo "commands that are not offered: $(cat missing)"
	exit 1
fi
while read -r command; do
	"$RETICLE" complete "$command" | cut -f1,2 | tr '\t' '\n' | grep . | sort -u >options
	offered "$command" - | comm -13 - options >missing
	if [ -s missing ]; then
		echo "$command: not offered: $(cat missing)"
		exit 1
	fi
done <commands
exit 0
