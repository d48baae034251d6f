/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * usermap_show.c - the commands that only read: show, dump, lookup, getnext.
 *
 * They open maps read-only, so they need no permission to write and change no
 * byte of a map in use.
 */
#include "usermap_cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A bucket that kept changing is tried again for so long; the walk goes on then. */
#define AGAIN_LIMIT_S 10

/* Whether to repeat a call that answered err; *since is 0 before its first try. */
static bool try_again(int err, time_t *since)
{
	struct timespec now, pause = { .tv_nsec = 1000000 };

	if (err != -EAGAIN)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!*since)
		*since = now.tv_sec;
	if (now.tv_sec - *since > AGAIN_LIMIT_S)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

static int show_one(struct cli *cli, const struct map_list *list, size_t i)
{
	struct cli_map m;

	if (cli_open(cli, &list->ref[i], BPF_F_RDONLY, &m))
		return -1;
	if (cli->json)
		jw_put(&cli->out, cli_json_map(cli, &m, list, i));
	else
		print_map(cli, &m, list, i);
	cli_close(&m);
	return 0;
}

static bool one_map(const struct map_list *list)
{
	return list->nr > 0 && map_ref_same(&list->ref[0], &list->ref[list->nr - 1]);
}

static bool first_path(const struct map_list *list, size_t i)
{
	return i == 0 || !map_ref_same(&list->ref[i - 1], &list->ref[i]);
}

int cmd_show(struct cli *cli, struct args *args)
{
	bool all = args->nr == 0;
	struct map_list list = { 0 };
	int ret = all ? cli_find_all(cli, &list) : cli_find(cli, args, &list);
	size_t i;

	if (!ret) {
		if (cli->json && (all || !one_map(&list)))
			jw_open(&cli->out, '[');
		for (i = 0; i < list.nr; i++)
			if (first_path(&list, i) && show_one(cli, &list, i))
				ret = -1;
	}
	cli_free_list(&list);
	return ret;
}

/* The error that ended a walk, or 0 at its end; *nr is how many entries came. */
static int dump_entries(struct cli *cli, struct cli_map *m, uint64_t *nr)
{
	struct um_iter *it;
	time_t since = 0;
	int err;

	*nr = 0;
	err = um_iter_open(m->map, &it);
	if (err)
		return err;
	for (;;) {
		err = um_iter_next(it, m->key, m->value);
		if (try_again(err, &since))
			continue;
		if (err)
			break;
		since = 0;
		++*nr;
		if (cli->json)
			cli_json_entry(&cli->out, m);
		else
			print_entry(m);
		if (ferror(stdout))
			break; /* main() says so */
	}
	um_iter_close(it);
	return err == -ENOENT ? 0 : err;
}

static int dump_one(struct cli *cli, const struct map_ref *ref, bool with_header)
{
	struct cli_map m;
	uint64_t nr;
	int err;

	if (cli_open(cli, ref, BPF_F_RDONLY, &m))
		return -1;
	if (cli->json) {
		if (with_header) {
			jw_open(&cli->out, '{');
			cli_json_map_line(&cli->out, &m.info);
			jw_key(&cli->out, "elements");
		}
		jw_open(&cli->out, '[');
	} else if (with_header) {
		print_map_line(&m.info);
	}
	err = dump_entries(cli, &m, &nr);
	if (err)
		err = cli_err(cli, "dump failed after %llu entries: %s", (unsigned long long)nr,
			      um_strerror(err, UM_NEXT));
	else if (!cli->json)
		printf("Found %llu element%s\n", (unsigned long long)nr, nr == 1 ? "" : "s");
	if (cli->json) {
		jw_close(&cli->out);
		if (with_header) {
			jw_key(&cli->out, "path");
			jw_put(&cli->out, jw_text(ref->path));
			jw_close(&cli->out);
		}
	}
	cli_close(&m);
	return err;
}

int cmd_dump(struct cli *cli, struct args *args)
{
	struct map_list list = { 0 };
	bool several;
	int ret;
	size_t i;

	ret = cli_find(cli, args, &list);
	several = !ret && !one_map(&list);
	if (several && cli->json)
		jw_open(&cli->out, '[');
	for (i = 0; i < list.nr && !ferror(stdout); i++) {
		if (!first_path(&list, i))
			continue;
		if (i > 0 && !cli->json)
			putchar('\n');
		if (dump_one(cli, &list.ref[i], several))
			ret = -1;
	}
	cli_free_list(&list);
	return ret;
}

static void print_not_found(struct cli *cli, const struct cli_map *m)
{
	if (cli->json) {
		jw_put(&cli->out, json_null());
	} else {
		print_bytes("key:", m->key, m->info.key_size);
		printf("\nNot found\n");
	}
}

int cmd_lookup(struct cli *cli, struct args *args)
{
	struct entry_args want = { 0 };
	time_t since = 0;
	struct cli_map m;
	int err;

	if (cli_open_one(cli, args, BPF_F_RDONLY, &m))
		return -1;
	err = cli_parse_entry(cli, args, &m, &want);
	if (err)
		goto close;
	do
		err = um_map_lookup_elem(m.map, m.key, m.value);
	while (try_again(err, &since));
	if (err == -ENOENT)
		print_not_found(cli, &m);
	else if (err)
		cli_err(cli, "lookup failed: %s", um_strerror(err, UM_LOOKUP));
	else if (cli->json)
		cli_json_entry(&cli->out, &m);
	else
		print_entry(&m);
close:
	cli_close(&m);
	return err;
}

static void print_next(struct cli *cli, const struct cli_map *m, bool has_key,
		       const unsigned char *next)
{
	uint32_t size = m->info.key_size;

	if (cli->json) {
		jw_open(&cli->out, '{');
		jw_key(&cli->out, "key");
		if (has_key)
			jw_bytes(&cli->out, m->key, size);
		else
			jw_put(&cli->out, json_null());
		jw_key(&cli->out, "next_key");
		jw_bytes(&cli->out, next, size);
		jw_close(&cli->out);
		return;
	}
	if (has_key)
		print_bytes("key:", m->key, size);
	else
		printf("key: None\n");
	print_bytes("next key:", next, size);
}

int cmd_getnext(struct cli *cli, struct args *args)
{
	struct entry_args want = { .key_optional = true };
	unsigned char *next = NULL;
	time_t since = 0;
	struct cli_map m;
	int err;

	if (cli_open_one(cli, args, BPF_F_RDONLY, &m))
		return -1;
	err = cli_parse_entry(cli, args, &m, &want);
	if (err)
		goto close;
	next = malloc(m.info.key_size);
	if (!next) {
		err = cli_err(cli, "out of memory");
		goto close;
	}
	do
		err = um_map_get_next_key(m.map, want.found_key ? m.key : NULL, next);
	while (try_again(err, &since));
	if (err)
		cli_err(cli, "can't get next key: %s",
			err == -ENOENT ? strerror(ENOENT) : um_strerror(err, UM_NEXT));
	else
		print_next(cli, &m, want.found_key, next);
close:
	free(next);
	cli_close(&m);
	return err;
}
