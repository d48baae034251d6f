#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# test_install.sh - what `make install` puts somewhere works from there.
#
#	test_install.sh SOURCE-DIR
#
# Builds and installs into a scratch directory, then compiles a C and a C++
# program by pkg-config alone and runs the tools from another directory.
set -u

source=$1
tmp=$(mktemp -d) || exit 1
maps=/dev/shm/usermap-install.$$ # maps live on a tmpfs
trap 'rm -rf "$tmp" "$maps"' EXIT
prefix=$tmp/prefix
failed=0

# expect WHAT COMMAND...: the command must succeed; its output is in $out.
expect() {
	local what=$1
	shift
	if out=$("$@" 2>&1 </dev/null); then
		echo "ok: $what"
	else
		echo "NOT OK ($?): $what: $*"
		printf '%s\n' "$out" | tail -n 20
		failed=1
	fi
}

install_into() {
	env -u MAKEFLAGS -u CI make -s -C "$source" install PREFIX="$1" INSTALL_BUILD="$tmp/build" \
		DESTDIR="${2-}"
}

expect "make install PREFIX=DIR" install_into "$prefix"
[ $failed -eq 0 ] || exit 1
printed=$out
for line in "export PATH=\"$prefix/bin:" "MANPATH=\"$prefix/share/man:" \
	"export PKG_CONFIG_PATH=\"$prefix/lib/pkgconfig" "export LD_LIBRARY_PATH=\"$prefix/lib"; do
	[[ $printed == *"$line"* ]] || {
		echo "NOT OK: make install did not print $line: $printed"
		failed=1
	}
done

for file in bin/usermap bin/usermap-iolat bin/usermap-bench bin/usermap-oracle lib/libusermap.a \
	lib/libusermap.so.0.1 lib/pkgconfig/usermap.pc include/usermap/usermap.h; do
	expect "$file is there" test -e "$prefix/$file"
done
for page in "$source"/man/*.[1-8]; do
	expect "${page##*/} is there" test -e "$prefix/share/man/man${page##*.}/${page##*/}"
done

expect "a page per function is there" \
	grep -q 'um_iter_next' "$prefix/share/man/man3/um_iter_next.3"
expect "no link leads nowhere" test -z "$(find "$prefix/share/man" -xtype l)"

# Programs, far from the source and with nothing but pkg-config.
mkdir "$tmp/far" && cd "$tmp/far" || exit 1
cp "$source/tests/install/program.c" program.c
cp program.c program.cc
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flags=$(pkg-config --cflags --libs usermap) || failed=1
static=$(pkg-config --static --cflags --libs usermap) || failed=1
strict='-Wall -Wextra -Werror -O2'
expect "C, shared: compiles" gcc $strict program.c $flags -o c-shared
expect "C, static: compiles" gcc $strict program.c -static $static -o c-static
expect "C++, shared: compiles" g++ $strict program.cc $flags -o cc-shared
expect "C++, static: compiles" g++ $strict program.cc -static $static -o cc-static
for program in c-shared cc-shared; do
	expect "$program needs libusermap.so.0.1" \
		sh -c "readelf -d $program | grep -q 'NEEDED.*libusermap.so.0.1]'"
	expect "$program runs" env LD_LIBRARY_PATH="$prefix/lib" ./$program
done
for program in c-static cc-static; do
	expect "$program runs" ./$program
done

# The tools find what they need from any directory and without an environment.
bare=(env -i HOME=/ USERMAP_DIR="$maps" PATH=/usr/bin:/bin)
expect "a directory for maps" mkdir -m 700 "$maps"
expect "usermap version" "${bare[@]}" "$prefix/bin/usermap" version
expect "usermap map create" "${bare[@]}" "$prefix/bin/usermap" map create "$maps/m" \
	type hash key 4 value 8 entries 16 name m
expect "usermap map show" "${bare[@]}" "$prefix/bin/usermap" map show pinned "$maps/m"
expect "usermap-iolat traces" "${bare[@]}" "$prefix/bin/usermap-iolat" -- \
	dd if=/usr/bin/env of=/dev/null bs=512
case $out in
*usecs*count*distribution*) ;;
*)
	echo "NOT OK: usermap-iolat printed no histogram: $out"
	failed=1
	;;
esac
expect "usermap-oracle plays a script" "${bare[@]}" "$prefix/bin/usermap-oracle" \
	"$source/tests/kernel/scripts/05-hash-basic.txt"
expect "usermap-bench --help" "${bare[@]}" "$prefix/bin/usermap-bench" --help
expect "usermap-bench measures" "${bare[@]}" "$prefix/bin/usermap-bench" -w 0 -d 1 --repeat 1 \
	--entries 1024 --impl usermap htab-lookup
for tool in usermap usermap-iolat usermap-bench usermap-oracle; do
	expect "$tool carries the library in itself" \
		sh -c "! readelf -d '$prefix/bin/$tool' | grep 'NEEDED.*libusermap'"
done

# Where nothing can be made, a sentence says so.
if out=$(install_into /proc/usermap 2>&1) || [[ $out == *Traceback* ]] ||
	[[ $out != *"/proc cannot be written to"* ]]; then
	echo "NOT OK: make install PREFIX=/proc/usermap: $out"
	failed=1
fi

# A packager's staging directory, another prefix in the same build.
expect "make install DESTDIR=DIR" install_into /opt/usermap "$tmp/stage"
expect "DESTDIR goes in front" test -x "$tmp/stage/opt/usermap/bin/usermap"
expect "the pkg-config file names the prefix" \
	grep -qx 'prefix=/opt/usermap' "$tmp/stage/opt/usermap/lib/pkgconfig/usermap.pc"

exit $failed
