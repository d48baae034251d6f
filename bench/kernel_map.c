/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* kernel_map.c - the kernel's hash map through bpf(2), and loading of programs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_map.h"

/* What libbpf last complained about while loading, without its own prefix. */
static char complaint[256];

static int keep_complaint(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[256];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	/* The first says what went wrong, the others what followed from it. */
	if (!*complaint)
		strcpy(complaint, strncmp(line, "libbpf: ", 8) ? line : line + 8);
	return 0;
}

int kernel_map_probe(struct why *why)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "bench_probe", 8, 8, 1, NULL);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM || fd == -EACCES)
		why_set(why, "bpf(2) is not allowed here, run as root or with CAP_BPF and "
			     "CAP_PERFMON");
	else
		why_set(why, "bpf(2) cannot make a map: %s", strerror(-fd));
	return -1;
}

int kernel_map_fill(int fd, const struct slice *slice, struct why *why)
{
	const char *key = slice->keys;
	uint32_t i;
	int err;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		err = bpf_map_update_elem(fd, key, slice->value, BPF_NOEXIST);
		if (err) {
			why_set(why, "cannot fill the kernel's map: %s", strerror(-err));
			return -1;
		}
	}
	return 0;
}

int bpf_embedded_open(const char *name, const char *begin, const char *end, struct bpf_object **obj,
		      struct why *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = name);

	complaint[0] = '\0';
	libbpf_set_print(keep_complaint);
	*obj = bpf_object__open_mem(begin, (size_t)(end - begin), &opts);
	if (*obj)
		return 0;
	why_set(why, "libbpf cannot read the programs: %s",
		*complaint ? complaint : strerror(errno));
	return -1;
}

int bpf_embedded_load(struct bpf_object *obj, struct why *why)
{
	int err;

	complaint[0] = '\0';
	libbpf_set_print(keep_complaint);
	err = bpf_object__load(obj);
	if (!err)
		return 0;
	if (*complaint)
		why_set(why, "the kernel does not take the programs: %s: %s", strerror(-err),
			complaint);
	else
		why_set(why, "the kernel does not take the programs: %s", strerror(-err));
	return -1;
}
