/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* machine.h - what the figures were measured on. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdint.h>

struct machine {
	char cpu[128];
	uint32_t cpus;
	char kernel[128];
	const char *compiler;
	const char *flags;
	const char *commit;
};

void machine_read(struct machine *machine);

#endif
