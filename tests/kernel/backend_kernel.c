/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * backend_kernel.c - back end of the player over the running kernel's bpf(2),
 * through libbpf's low-level functions and, for the program side, through
 * BPF programs of type SYSCALL started with BPF_PROG_TEST_RUN.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "backend.h"

/* The build gives the path of the compiled prog.bpf.c. */
__asm__(".section .rodata\n"
	".global prog_obj\n.global prog_obj_end\n"
	".balign 16\nprog_obj:\n.incbin \"" PROG_BPF "\"\nprog_obj_end:\n"
	".previous\n");
extern const char prog_obj[], prog_obj_end[];

static int ret(int err)
{
	if (err >= 0)
		return err;
	return errno ? -errno : err;
}

static int silent(enum libbpf_print_level level, const char *f, va_list ap)
{
	if (getenv("ORACLE_DEBUG"))
		return vfprintf(stderr, f, ap);
	return 0;
}

int be_init(void)
{
	int fd;

	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(silent);
	fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, 4, 4, 1, NULL);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int be_ncpus(void)
{
	return libbpf_num_possible_cpus();
}

static int make_lock_btf(uint32_t value_size, uint32_t key_size, uint32_t *kid, uint32_t *vid)
{
	struct btf *b = btf__new_empty();
	int u32t, u8t, lock, arr, idx, karr, err;

	u32t = btf__add_int(b, "unsigned int", 4, 0);
	u8t = btf__add_int(b, "unsigned char", 1, 0);
	lock = btf__add_struct(b, "bpf_spin_lock", 4);
	btf__add_field(b, "val", u32t, 0, 0);
	idx = u32t;
	arr = btf__add_array(b, idx, u8t, value_size - 4);
	karr = btf__add_array(b, idx, u8t, key_size);
	*vid = btf__add_struct(b, "val", value_size);
	btf__add_field(b, "lock", lock, 0, 0);
	btf__add_field(b, "data", arr, 32, 0);
	*kid = karr;
	err = btf__load_into_kernel(b);
	if (err)
		return err;
	return btf__fd(b); /* the object is leaked on purpose: keeps the fd */
}

int be_create(const struct be_create_args *a)
{
	LIBBPF_OPTS(bpf_map_create_opts, o);
	uint32_t kid, vid;
	int fd;

	o.map_flags = a->flags;
	o.map_extra = a->map_extra;
	if (a->flags & BPF_F_NUMA_NODE)
		o.numa_node = a->numa_node;
	if (a->inner >= 0)
		o.inner_map_fd = a->inner;
	if (a->has_lock) {
		fd = make_lock_btf(a->value_size, a->key_size, &kid, &vid);
		if (fd < 0)
			return fd;
		o.btf_fd = fd;
		o.btf_key_type_id = kid;
		o.btf_value_type_id = vid;
	}
	errno = 0;
	return ret(
		bpf_map_create(a->type, a->name, a->key_size, a->value_size, a->max_entries, &o));
}

static void forget(int fd);

int be_close(int h)
{
	forget(h);
	return ret(close(h));
}

int be_info(int h, struct be_info *out)
{
	struct bpf_map_info i = {};
	__u32 len = sizeof(i);
	int err = ret(bpf_obj_get_info_by_fd(h, &i, &len));

	if (err)
		return err;
	out->type = i.type;
	out->key_size = i.key_size;
	out->value_size = i.value_size;
	out->max_entries = i.max_entries;
	out->flags = i.map_flags;
	return 0;
}

int be_freeze(int h)
{
	return ret(bpf_map_freeze(h));
}

int be_lookup(int h, const void *key, void *value, uint64_t flags)
{
	return ret(bpf_map_lookup_elem_flags(h, key, value, flags));
}

int be_update(int h, const void *key, const void *value, uint64_t flags)
{
	return ret(bpf_map_update_elem(h, key, value, flags));
}

int be_delete(int h, const void *key)
{
	return ret(bpf_map_delete_elem(h, key));
}

int be_next(int h, const void *key, void *next)
{
	return ret(bpf_map_get_next_key(h, key, next));
}

int be_lookup_delete(int h, const void *key, void *value, uint64_t flags)
{
	return ret(bpf_map_lookup_and_delete_elem_flags(h, key, value, flags));
}

int be_batch(int h, enum be_batch_op op, void *in, void *out, void *keys, void *values,
	     uint32_t *count, uint64_t elem_flags, uint64_t flags)
{
	LIBBPF_OPTS(bpf_map_batch_opts, o, .elem_flags = elem_flags, .flags = flags);

	switch (op) {
	case BE_LOOKUP_BATCH:
		return ret(bpf_map_lookup_batch(h, in, out, keys, values, count, &o));
	case BE_LOOKUP_AND_DELETE_BATCH:
		return ret(bpf_map_lookup_and_delete_batch(h, in, out, keys, values, count, &o));
	case BE_UPDATE_BATCH:
		return ret(bpf_map_update_batch(h, keys, values, count, &o));
	case BE_DELETE_BATCH:
		return ret(bpf_map_delete_batch(h, keys, count, &o));
	}
	return -EINVAL;
}

int be_ref(int h, uint32_t *value)
{
	*value = h;
	return 0;
}

int be_id(int h, uint32_t *id)
{
	struct bpf_map_info i = {};
	__u32 len = sizeof(i);
	int err = ret(bpf_obj_get_info_by_fd(h, &i, &len));

	*id = i.id;
	return err;
}

/* ---- program side ---- */

struct data { /* mirrors the globals of prog.bpf.c, found by name */
	struct bpf_object *obj;
	int fd; /* the map this object was loaded for */
	char *bss;
	size_t bss_len;
	const struct btf *btf;
};

static struct data cache[16];

static void *sym(struct data *d, const char *name)
{
	int i, n = btf__type_cnt(d->btf);

	for (i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(d->btf, i);
		const struct btf_var_secinfo *s;
		int j;

		if (!btf_is_datasec(t) || strcmp(btf__name_by_offset(d->btf, t->name_off), ".bss"))
			continue;
		s = btf_var_secinfos(t);
		for (j = 0; j < btf_vlen(t); j++, s++) {
			const struct btf_type *v = btf__type_by_id(d->btf, s->type);

			if (!strcmp(btf__name_by_offset(d->btf, v->name_off), name))
				return d->bss + s->offset;
		}
	}
	fprintf(stderr, "no symbol %s\n", name);
	exit(2);
}

static struct data *load_for(int fd)
{
	struct data *d = NULL;
	struct bpf_program *p;
	struct bpf_map *m;
	struct be_info inf;
	int i, percpu;

	for (i = 0; i < 16; i++)
		if (cache[i].obj && cache[i].fd == fd)
			return &cache[i];
	for (i = 0; i < 16; i++)
		if (!cache[i].obj) {
			d = &cache[i];
			break;
		}
	if (!d || be_info(fd, &inf))
		return NULL;
	percpu = inf.type == BE_PERCPU_HASH || inf.type == BE_LRU_PERCPU_HASH ||
		 inf.type == BE_PERCPU_ARRAY;
	d->obj = bpf_object__open_mem(prog_obj, prog_obj_end - prog_obj, NULL);
	if (!d->obj)
		return NULL;
	m = bpf_object__find_map_by_name(d->obj, "m");
	if (bpf_map__reuse_fd(m, fd))
		return NULL;
	/* clang-format off */
	bpf_object__for_each_program(p, d->obj) {
		const char *n = bpf_program__name(p);

		if (!percpu && !strcmp(n, "p_lookup_cpu"))
			bpf_program__set_autoload(p, false);
	}
	if (bpf_object__load(d->obj)) {
		bpf_object__close(d->obj);
		d->obj = NULL;
		return NULL;
	}
	bpf_object__for_each_map(m, d->obj) {
		if (strstr(bpf_map__name(m), ".bss"))
			break;
	}
	/* clang-format on */
	d->bss_len = (bpf_map__value_size(m) + 4095) & ~4095UL;
	d->bss = mmap(NULL, d->bss_len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
	if (d->bss == MAP_FAILED) {
		perror("mmap .bss");
		exit(2);
	}
	d->btf = bpf_object__btf(d->obj);
	d->fd = fd;
	return d;
}

static void forget(int fd)
{
	int i;

	for (i = 0; i < 16; i++)
		if (cache[i].obj && cache[i].fd == fd) {
			munmap(cache[i].bss, cache[i].bss_len);
			bpf_object__close(cache[i].obj);
			cache[i].obj = NULL;
		}
}

static long go(struct data *d, const char *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, o);
	struct bpf_program *p = bpf_object__find_program_by_name(d->obj, prog);

	if (!p || bpf_program__fd(p) < 0)
		return BE_SKIP;
	if (bpf_prog_test_run_opts(bpf_program__fd(p), &o))
		return BE_SKIP;
	return *(long *)sym(d, "result");
}

int be_prog_lookup(int h, const void *key, void *value, int cpu)
{
	struct data *d = load_for(h);
	struct be_info i;
	long r;

	if (!d)
		return BE_SKIP;
	be_info(h, &i);
	memcpy(sym(d, "key"), key, i.key_size);
	memset(sym(d, "value"), 0, i.value_size);
	*(uint32_t *)sym(d, "value_size") = i.value_size;
	*(uint32_t *)sym(d, "cpu") = cpu;
	r = go(d, cpu < 0 ? "p_lookup" : "p_lookup_cpu");
	memcpy(value, sym(d, "value"), i.value_size);
	return r;
}

int be_prog_update(int h, const void *key, const void *value, uint64_t flags)
{
	struct data *d = load_for(h);
	struct be_info i;

	if (!d)
		return BE_SKIP;
	be_info(h, &i);
	memcpy(sym(d, "key"), key, i.key_size);
	memcpy(sym(d, "value"), value, i.value_size);
	*(uint64_t *)sym(d, "flags") = flags;
	return go(d, "p_update");
}

int be_prog_delete(int h, const void *key)
{
	struct data *d = load_for(h);
	struct be_info i;

	if (!d)
		return BE_SKIP;
	be_info(h, &i);
	memcpy(sym(d, "key"), key, i.key_size);
	return go(d, "p_delete");
}

long be_prog_for_each(int h, uint32_t stop_after, uint64_t flags, uint32_t *visited)
{
	struct data *d = load_for(h);
	long r;

	if (!d)
		return BE_SKIP;
	*(uint32_t *)sym(d, "stop_after") = stop_after;
	*(uint64_t *)sym(d, "flags") = flags;
	r = go(d, "p_for_each");
	*visited = *(uint32_t *)sym(d, "visited");
	return r;
}
