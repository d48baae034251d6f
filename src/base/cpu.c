/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* cpu.c - the number of possible CPUs. */
#include "base/cpu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/sys.h"
#include "usermap/usermap.h"

/* The highest number in a list as "0-3,8-11", plus one; 0 if there is none. */
static int cpus_in(const char *list)
{
	long last = -1;
	char *end;

	for (; *list >= '0' && *list <= '9'; list = end + (*end == ',' || *end == '-'))
		last = strtol(list, &end, 10);
	return (int)last + 1;
}

int um_possible_cpus(void)
{
	KEEP_ERRNO;
	static int cached;
	int n = READ_ONCE(cached); /* every thread computes the same */
	char list[4096];
	long fd, len;

	if (n)
		return n;
	fd = um_syscall(SYS_openat, AT_FDCWD, "/sys/devices/system/cpu/possible",
			O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = um_syscall(SYS_read, fd, list, sizeof(list) - 1);
		um_syscall(SYS_close, fd);
		list[len > 0 ? len : 0] = 0;
		n = cpus_in(list);
	}
	if (n < 1)
		n = max((int)sysconf(_SC_NPROCESSORS_CONF), 1);
	WRITE_ONCE(cached, n);
	return n;
}
