/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* oracle.c - replays a script of map operations against a back end, one answer line each. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "player.h"

/* what the last argument of an operation asks for */
enum { SYS, PROG, COPY, TAKE };

static void op_create(struct text *t, int how)
{
	static const struct {
		const char *n;
		uint32_t v;
	} types[] = {
		{ "hash", BE_HASH },
		{ "percpu_hash", BE_PERCPU_HASH },
		{ "lru_hash", BE_LRU_HASH },
		{ "lru_percpu_hash", BE_LRU_PERCPU_HASH },
		{ "hash_of_maps", BE_HASH_OF_MAPS },
		{ "array", BE_ARRAY },
		{ "percpu_array", BE_PERCPU_ARRAY },
	};
	struct be_create_args a = { .inner = -1 };
	const char *ty = opt("type", "hash"), *in = opt("inner", NULL);
	size_t i;
	int h;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].n, ty))
			a.type = types[i].v;
	if (!a.type)
		a.type = num(ty);
	a.name = opt("name", "");
	a.key_size = num(opt("key", "4"));
	a.value_size = num(opt("value", a.type == BE_HASH_OF_MAPS ? "4" : "8"));
	a.max_entries = num(opt("max", "16"));
	a.flags = createflags(opt("flags", "0"));
	a.numa_node = num(opt("numa", "0"));
	a.map_extra = num(opt("extra", "0"));
	a.has_lock = !strcmp(opt("btf", ""), "lock");
	if (in)
		a.inner = find_map(in) ? find_map(in)->h : 9999;
	h = be_create(&a);
	put(t, "%s", error_name(h));
	is_skipped(arg(1), 1);
	if (h == BE_SKIP)
		skip_map(arg(1));
	else if (h >= 0)
		new_map(arg(1), h, &a);
}

static void op_close(struct text *t, int how)
{
	struct map *m = get_map(arg(1));

	put(t, "%s", error_name(be_close(m->h)));
	forget_map(m);
}

static void op_info(struct text *t, int how)
{
	struct be_info i;
	int err = be_info(get_map(arg(1))->h, &i);

	put(t, "%s", error_name(err));
	if (!err)
		put(t, " type=%u key=%u value=%u max=%s%u flags=0x%x", i.type, i.key_size,
		    i.value_size, nwords > 2 ? "ncpu*" : "",
		    nwords > 2 ? i.max_entries / ncpu : i.max_entries, i.flags);
}

static void op_lookup(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	void *k = key_of(m, arg(2));
	int fault = !strcmp(opt("value", ""), "fault");
	unsigned char *v = fault ? FAULT_PTR : xcalloc(m->buf);
	uint64_t f = flagnum(opt("flags", "0"));
	int err;

	if (!fault)
		memset(v, 0xee, m->buf);
	err = how == TAKE ? be_lookup_delete(m->h, k, v, f) : be_lookup(m->h, k, v, f);
	put(t, "%s", error_name(err));
	if (!err) {
		put(t, " ");
		put_value(t, m, v);
	}
	drop(k);
	drop(v);
}

static void op_update(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	void *k = key_of(m, arg(2)), *v = value_of(m, arg(3));

	put(t, "%s", error_name(be_update(m->h, k, v, flagnum(opt("flags", "0")))));
	drop(k);
	drop(v);
}

static void op_delete(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	void *k = key_of(m, arg(2));

	put(t, "%s", error_name(be_delete(m->h, k)));
	drop(k);
}

static void op_next(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	void *k = key_of(m, arg(2));
	unsigned char *n = xcalloc(m->ks), *first = xcalloc(m->ks);
	unsigned char *v = xcalloc(m->buf);
	int fault = !strcmp(opt("next", ""), "fault");
	int err = be_next(m->h, k, fault ? FAULT_PTR : n);

	put(t, "%s", error_name(err));
	if (!err)
		put(t, " in_map=%s first=%s", be_lookup(m->h, n, v, 0) ? "no" : "yes",
		    !be_next(m->h, NULL, first) && !memcmp(first, n, m->ks) ? "yes" : "no");
	drop(k);
	free(n);
	free(first);
	free(v);
}

/* whole map by next + lookup; the sorted set and the error that ended it */
static void op_dump(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = xcalloc(m->ks), *n = xcalloc(m->ks);
	unsigned char *v = xcalloc(m->buf), *cur = NULL;
	struct set s = { 0 };
	uint64_t guard = 0;
	int err;

	while (!(err = be_next(m->h, cur, n))) {
		int e = be_lookup(m->h, n, v, 0);

		memcpy(k, n, m->ks);
		cur = k;
		if (e)
			add_line(&s, strdup(error_name(e)));
		else
			add_line(&s, pair(m, k, how ? v : NULL));
		if (++guard > 10000000)
			die("endless walk");
	}
	put(t, "%s", error_name(err));
	put_set(t, &s);
	free(k);
	free(n);
	free(v);
}
static void op_fill(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = xcalloc(m->ks), *v = xcalloc(m->buf);
	uint64_t a, b, i, f = flagnum(opt("flags", "0"));
	const char *vw = opt("v", NULL);
	struct runs r = { 0 };

	range(arg(2), &a, &b);
	for (i = a; i <= b; i++) {
		char w[32];

		key_num(m, i, k);
		snprintf(w, sizeof(w), "#%llu", (unsigned long long)i);
		into_value(m, vw ? vw : w, v);
		note_run(&r, error_name(how == SYS ? be_update(m->h, k, v, f)
						   : be_prog_update(m->h, k, v, f)));
	}
	put_runs(t, &r);
	free(k);
	free(v);
}

static void op_unfill(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = xcalloc(m->ks), *v = xcalloc(m->buf);
	struct runs r = { 0 };
	uint64_t a, b, i;
	int err;

	range(arg(2), &a, &b);
	for (i = a; i <= b; i++) {
		key_num(m, i, k);
		if (how == TAKE)
			err = be_lookup_delete(m->h, k, v, 0);
		else
			err = how == SYS ? be_delete(m->h, k) : be_prog_delete(m->h, k);
		note_run(&r, error_name(err));
	}
	put_runs(t, &r);
	free(k);
	free(v);
}

/* which keys of a range are there, as ranges of numbers */
static void op_probe(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = xcalloc(m->ks), *v = xcalloc(m->buf);
	uint64_t a, b, i, hits = 0, start = 0;
	struct text list = { 0 };
	int in = 0;

	range(arg(2), &a, &b);
	for (i = a; i <= b + 1; i++) {
		int hit = 0, err;

		if (i <= b) {
			key_num(m, i, k);
			err = how == SYS ? be_lookup(m->h, k, v, 0)
					 : be_prog_lookup(m->h, k, v, -1);
			if (err == BE_SKIP) {
				put(t, "SKIP");
				goto out;
			}
			hit = !err;
		}
		hits += hit;
		if (hit && !in)
			start = i;
		if (!hit && in) {
			put(&list, list.len ? "," : "");
			put(&list, i - 1 == start ? "%llu" : "%llu-%llu", (unsigned long long)start,
			    (unsigned long long)i - 1);
		}
		in = hit;
	}
	if (!hits)
		put(t, "none");
	else if (hits == b - a + 1)
		put(t, "all");
	else
		put(t, "hits=%llu [%s]", (unsigned long long)hits, list.s);
out:
	free(list.s);
	free(k);
	free(v);
}

static void op_p_lookup(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = key_of(m, arg(2)), *v = xcalloc(m->buf);
	int cpu = opt("cpu", NULL) ? (int)num(opt("cpu", "0")) : -1;
	int err = be_prog_lookup(m->h, k, v, cpu);

	put(t, "%s", error_name(err));
	if (!err) {
		put(t, " ");
		put_hex(t, v, m->vs);
	}
	free(k);
	free(v);
}

static void op_p_update(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = key_of(m, arg(2)), *v = xcalloc(m->buf);

	into_value(m, arg(3), v);
	put(t, "%s", error_name(be_prog_update(m->h, k, v, flagnum(opt("flags", "0")))));
	free(k);
	free(v);
}

static void op_p_delete(struct text *t, int how)
{
	struct map *m = get_map(arg(1));
	unsigned char *k = key_of(m, arg(2));

	put(t, "%s", error_name(be_prog_delete(m->h, k)));
	free(k);
}

static void op_p_for_each(struct text *t, int how)
{
	uint32_t visited = 0;
	long r = be_prog_for_each(get_map(arg(1))->h, num(opt("stop", "0")), num(opt("flags", "0")),
				  &visited);

	if (r < 0)
		put(t, "%s", error_name(r));
	else
		put(t, "OK ret=%ld visited=%u", r, visited);
}
static void op_freeze(struct text *t, int how)
{
	put(t, "%s", error_name(be_freeze(get_map(arg(1))->h)));
}

static const struct {
	const char *name;
	void (*fn)(struct text *t, int how);
	int how;
} ops[] = {
	{ "create", op_create },
	{ "close", op_close },
	{ "info", op_info },
	{ "freeze", op_freeze },
	{ "lookup", op_lookup, COPY },
	{ "lookup_delete", op_lookup, TAKE },
	{ "update", op_update },
	{ "delete", op_delete },
	{ "next", op_next },
	{ "dump", op_dump, 1 },
	{ "keys", op_dump, 0 },
	{ "lookup_batch", op_batch, BE_LOOKUP_BATCH },
	{ "lookup_delete_batch", op_batch, BE_LOOKUP_AND_DELETE_BATCH },
	{ "update_batch", op_batch, BE_UPDATE_BATCH },
	{ "delete_batch", op_batch, BE_DELETE_BATCH },
	{ "walk_batch", op_walk_batch, BE_LOOKUP_BATCH },
	{ "drain_batch", op_walk_batch, BE_LOOKUP_AND_DELETE_BATCH },
	{ "fill", op_fill, SYS },
	{ "unfill", op_unfill, SYS },
	{ "takeout", op_unfill, TAKE },
	{ "probe", op_probe, SYS },
	{ "p_fill", op_fill, PROG },
	{ "p_unfill", op_unfill, PROG },
	{ "p_probe", op_probe, PROG },
	{ "p_lookup", op_p_lookup },
	{ "p_update", op_p_update },
	{ "p_delete", op_p_delete },
	{ "p_for_each", op_p_for_each },
};

static const char usage[] =
	"usage: usermap-oracle SCRIPT\n"
	"Plays a script of map operations and prints one answer for each line;\n"
	"usermap-oracle(1) has the language.\n";

static int cannot_read(const char *what, int err)
{
	fprintf(stderr, "%s: cannot read the script %s: %s\n", program_invocation_short_name, what,
		strerror(err));
	return 2;
}

/* The script's name, or NULL; *status is then the program's. */
static const char *parse_options(int argc, char **argv, int *status)
{
	*status = 0;
	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		return NULL;
	}
	if (argc == 2 && argv[1][0] != '-')
		return argv[1];
	*status = 2;
	if (argc >= 2 && argv[1][0] == '-')
		fprintf(stderr, "%s: unknown option %s\n", program_invocation_short_name, argv[1]);
	fputs(usage, stderr);
	return NULL;
}

static void run_line(char *line)
{
	struct text t = { 0 }, echo = { 0 };
	size_t i, n = sizeof(ops) / sizeof(*ops);

	split_words(line, &echo);
	if (!nwords)
		return;
	for (i = 0; i < n && strcmp(ops[i].name, words[0]); i++)
		;
	if (i == n)
		die("unknown operation '%s'", words[0]);
	if (ops[i].fn != op_create && is_skipped(arg(1), ops[i].fn == op_close))
		put(&t, "SKIP");
	else
		ops[i].fn(&t, ops[i].how);
	printf("%s ->%s%s\n", echo.s, t.s && *t.s == ' ' ? "" : " ", t.s ? t.s : "");
	free(t.s);
	free(echo.s);
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	char *line = NULL;
	size_t cap = 0;
	FILE *f;
	int err;

	script = parse_options(argc, argv, &err);
	if (!script)
		return err;
	f = fopen(script, "r");
	if (!f)
		return cannot_read(script, errno);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	err = be_init();
	if (err) {
		fprintf(stderr, "%s: no maps can be made here: %s\n", argv[0], strerror(-err));
		return 77;
	}
	ncpu = be_ncpus();
	while (errno = 0, getline(&line, &cap, f) > 0) {
		lineno++;
		run_line(line);
	}
	err = ferror(f) ? cannot_read(script, errno) : 0;
	free(line);
	fclose(f);
	return err;
}
