/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Program side of backend_kernel.c; every map is substituted at load time. */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} m SEC(".maps");

#define KEY_MAX 512
#define VAL_MAX 4096

char key[KEY_MAX];
char value[VAL_MAX];
__u32 value_size;
__u32 cpu;
__u64 flags;
__u32 stop_after;
__u32 visited;
long result;

SEC("syscall") int p_update(void *ctx)
{
	result = bpf_map_update_elem(&m, key, value, flags);
	return 0;
}

SEC("syscall") int p_delete(void *ctx)
{
	result = bpf_map_delete_elem(&m, key);
	return 0;
}

static __always_inline int copy_out(void *v)
{
	__u32 n = value_size;

	if (!v) {
		result = -2;
		return 0;
	}
	if (n > VAL_MAX)
		n = VAL_MAX;
	result = bpf_probe_read_kernel(value, n, v);
	return 0;
}

SEC("syscall") int p_lookup(void *ctx)
{
	return copy_out(bpf_map_lookup_elem(&m, key));
}

SEC("syscall") int p_lookup_cpu(void *ctx)
{
	return copy_out(bpf_map_lookup_percpu_elem(&m, key, cpu));
}

static long each(void *map, void *k, void *v, void *c)
{
	visited++;
	return stop_after && visited >= stop_after;
}

SEC("syscall") int p_for_each(void *ctx)
{
	visited = 0;
	result = bpf_for_each_map_elem(&m, each, 0, flags);
	return 0;
}
