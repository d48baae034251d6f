# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# common.sh - sourced by the other scripts: go to the top folder, find meson.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# Debian's own come first: another python in the path may bring a meson or
# ninja that does not work.
find_program() {
	if [ -x "/usr/bin/$1" ]; then
		echo "/usr/bin/$1"
	else
		command -v "$1" || echo "$1"
	fi
}

MESON=${MESON:-$(find_program meson)}
NINJA=${NINJA:-$(find_program ninja)}
export MESON NINJA

die() {
	echo "usermap: $*" >&2
	exit 1
}
