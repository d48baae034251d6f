#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# embed.sh FILE OUT.S NAME - make FILE part of a program, from NAME_begin to NAME_end.
set -eu
cat >"$2" <<EOF
	.section .rodata
	.global $3_begin, $3_end
	.balign 16
$3_begin:
	.incbin "$1"
$3_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits
EOF
