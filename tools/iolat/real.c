/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* real.c - finds the functions of libc that stand behind the wrappers. */
#include "real.h"

#include <dlfcn.h>
#include <stddef.h>

struct iolat_real um_iolat_real;

static const struct {
	const char *name;
	size_t offset;
} wanted[] = {
#define WANTED(ret, name, params) { #name, offsetof(struct iolat_real, name) },
	IOLAT_REAL_FD(WANTED) IOLAT_REAL_STDIO(WANTED) IOLAT_REAL_PROC(WANTED)
};

/* dlsym() allocates nothing as long as it finds what it is asked for. */
void um_iolat_real_resolve(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		void *found = dlsym(RTLD_NEXT, wanted[i].name);

		memcpy((char *)&um_iolat_real + wanted[i].offset, &found, sizeof(found));
	}
	smp_store_release(&um_iolat_real.resolved, true);
}
