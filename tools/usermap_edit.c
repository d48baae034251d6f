/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* usermap_edit.c - the commands that write: create, update, delete, freeze, pin. */
#include "usermap_cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel's text where bpftool prints it, else the library's, which says more. */
static const char *error_text(int err, enum um_what what)
{
	switch (err) {
	case -ENOENT:
	case -EEXIST:
	case -E2BIG:
	case -EPERM:
		return strerror(-err);
	default:
		return um_strerror(err, what);
	}
}

/* What `create` was told; a number not given is 0, as in bpftool. */
struct create_args {
	const char *file;
	const char *type;
	const char *name;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t map_flags;
	uint32_t nr_cpus;
	uint32_t spares;
};

#define NR_CREATE_WORDS 8
#define MAX_CPUS 1024 /* as usermap.h says of nr_cpus */

static int set_text(struct cli *cli, const char **to, const char *what, const char *word)
{
	if (*to)
		return cli_err(cli, "%s already specified", what);
	*to = word;
	return 0;
}

static int set_number(struct cli *cli, bool *seen, uint32_t *to, const char *what, const char *word)
{
	uint64_t number;

	if (*seen)
		return cli_err(cli, "%s already specified", what);
	if (cli_number(word, 0, UINT32_MAX, &number))
		return cli_err(cli, "can't parse %s as %s", word, what);
	*seen = true;
	*to = (uint32_t)number;
	return 0;
}

static int parse_create(struct cli *cli, struct args *args, struct create_args *c)
{
	const struct {
		const char *word;
		const char *what;
		const char **text;
		uint32_t *number;
	} words[NR_CREATE_WORDS] = {
		{ "type", "map type", &c->type, NULL },
		{ "name", "map name", &c->name, NULL },
		{ "key", "key size", NULL, &c->key_size },
		{ "value", "value size", NULL, &c->value_size },
		{ "entries", "max entries", NULL, &c->max_entries },
		{ "flags", "flags", NULL, &c->map_flags },
		{ "cpus", "number of CPUs", NULL, &c->nr_cpus },
		{ "spares", "number of spares", NULL, &c->spares },
	};
	bool seen[NR_CREATE_WORDS] = { false };
	const char *word, *arg;
	int i, err;

	c->file = cli_next(args);
	while ((word = cli_next(args))) {
		for (i = 0; i < NR_CREATE_WORDS && !cli_is(word, words[i].word); i++)
			;
		if (i == NR_CREATE_WORDS)
			return cli_err(cli, "unknown arg %s", word);
		arg = cli_next(args);
		if (!arg)
			return cli_err(cli, "'%s' needs a word behind it: the %s", word,
				       words[i].what);
		err = words[i].text
			      ? set_text(cli, words[i].text, words[i].what, arg)
			      : set_number(cli, &seen[i], words[i].number, words[i].what, arg);
		if (err)
			return err;
	}
	return 0;
}

/* Behind the kernel's text, for words of which bpftool's users know no bare text. */
static const char *what_is_wrong(const struct create_args *c)
{
	if (!c->key_size || !c->max_entries)
		return "";
	if (!c->type)
		return " (there is no type)";
	if (!c->value_size)
		return " (the value size must not be 0)";
	if (c->nr_cpus > MAX_CPUS)
		return " (cpus is at most 1024)";
	return "";
}

/*
 * bpftool makes a map, then pins it, and has a sentence for each. Here it is one
 * call; codes that only a path can cause are the pin's.
 */
static int create_err(struct cli *cli, const struct create_args *c, int err)
{
	char *path;

	switch (err) {
	case -EINVAL:
		return cli_err(cli, "map create failed: %s%s", strerror(EINVAL), what_is_wrong(c));
	case -E2BIG:
	case -ENOMEM:
	case -UM_ENOTSUPP:
		return cli_err(cli, "map create failed: %s", um_strerror(err, UM_CREATE));
	}
	path = cli_map_path(c->file);
	cli_err(cli, "can't pin the object (%s): %s%s", path ? path : c->file,
		error_text(err, UM_CREATE), path ? cli_dir_hint(path, err) : "");
	free(path);
	return err;
}

int cmd_create(struct cli *cli, struct args *args)
{
	enum bpf_map_type type = BPF_MAP_TYPE_UNSPEC;
	struct create_args c = { 0 };
	struct um_map *map;
	int err;

	if (parse_create(cli, args, &c))
		return -1;
	if (!c.name)
		return cli_err(cli, "map name not specified");
	if (strlen(c.name) >= UM_NAME_LEN)
		return cli_err(cli, "map name %s is longer than %d characters", c.name,
			       UM_NAME_LEN - 1);
	if (c.type) {
		type = cli_type(c.type);
		if (type == BPF_MAP_TYPE_UNSPEC)
			return cli_err(cli, "unrecognized map type: %s", c.type);
	}
	UM_OPTS(um_map_opts, opts, .map_flags = c.map_flags, .nr_cpus = c.nr_cpus,
		.spares = c.spares, .path = c.file);
	err = um_map_create(type, c.name, c.key_size, c.value_size, c.max_entries, &opts, &map);
	if (err)
		return create_err(cli, &c, err);
	um_map_close(map);
	return 0;
}

int cmd_update(struct cli *cli, struct args *args)
{
	struct entry_args want = { .has_value = true };
	struct cli_map m;
	int err;

	if (cli_open_one(cli, args, 0, &m))
		return -1;
	err = cli_parse_entry(cli, args, &m, &want);
	if (!err) {
		err = um_map_update_elem(m.map, m.key, m.value, want.flags);
		if (err)
			cli_err(cli, "update failed: %s", error_text(err, UM_UPDATE));
	}
	cli_close(&m);
	return err;
}

int cmd_delete(struct cli *cli, struct args *args)
{
	struct entry_args want = { 0 };
	struct cli_map m;
	int err;

	if (cli_open_one(cli, args, 0, &m))
		return -1;
	err = cli_parse_entry(cli, args, &m, &want);
	if (!err) {
		err = um_map_delete_elem(m.map, m.key);
		if (err)
			cli_err(cli, "delete failed: %s", error_text(err, UM_DELETE));
	}
	cli_close(&m);
	return err;
}

int cmd_freeze(struct cli *cli, struct args *args)
{
	struct cli_map m;
	int err;

	if (cli_open_one(cli, args, 0, &m))
		return -1;
	err = um_map_freeze(m.map);
	cli_close(&m);
	if (err)
		return cli_err(cli, "failed to freeze map: %s", error_text(err, UM_UPDATE));
	return 0;
}

/* Another path for a map: a hard link, so it has to be on the same file system. */
int cmd_pin(struct cli *cli, struct args *args)
{
	char link_to[sizeof("/proc/self/fd/") + 11];
	char *path = NULL;
	struct cli_map m;
	int err = 0;

	if (cli_open_one(cli, args, BPF_F_RDONLY, &m))
		return -1;
	path = cli_map_path(*args->v);
	if (!path) {
		err = cli_err(cli, "out of memory");
		goto close;
	}
	/* By descriptor: the very map that was opened, whatever its path has become. */
	snprintf(link_to, sizeof(link_to), "/proc/self/fd/%d", um_map_fd(m.map));
	if (linkat(AT_FDCWD, link_to, AT_FDCWD, path, AT_SYMLINK_FOLLOW)) {
		err = -errno;
		cli_err(cli, "can't pin the object (%s): %s%s", path,
			err == -EXDEV ? "it is on another file system than the map"
				      : strerror(-err),
			cli_dir_hint(path, err));
	}
close:
	free(path);
	cli_close(&m);
	return err;
}
