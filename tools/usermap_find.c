/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * usermap_find.c - MAP: which maps `pinned PATH`, `name NAME` and `id N` mean,
 * and opening them.
 *
 * Names and numbers are those of the maps in the directory of um_map_dir(); the
 * files there are looked into read-only. A map with several paths (hard links)
 * is several entries of the list, side by side, since the list is sorted by
 * number, device and inode.
 */
#include "usermap_cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of so many files that are no maps `show` prints the names. */
#define NOT_MAPS_NAMED 3

bool map_ref_same(const struct map_ref *a, const struct map_ref *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

void cli_free_list(struct map_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free(list->ref[i].path);
	free(list->ref);
	memset(list, 0, sizeof(*list));
}

/* The directory of maps; NULL if its path is too long. */
static const char *map_dir(void)
{
	static char dir[PATH_MAX];

	return um_map_dir(dir, sizeof(dir)) < 0 ? NULL : dir;
}

/* Where the library looks for a word given as a path. To be freed; NULL: no memory. */
char *cli_map_path(const char *word)
{
	const char *dir = map_dir();
	char *path;

	if (strchr(word, '/') || !dir)
		return strdup(word);
	return asprintf(&path, "%s/%s", dir, word) < 0 ? NULL : path;
}

/*
 * What there is to add to an error of a path: which directory is missing, or
 * that the directory of maps is another user's. In a static buffer, "" if nothing.
 */
const char *cli_dir_hint(const char *path, int err)
{
	static char hint[PATH_MAX + 80];
	const char *slash = strrchr(path, '/'), *dir = map_dir();
	char parent[PATH_MAX];

	if (!slash || slash == path ||
	    snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path) >= PATH_MAX)
		return "";
	if (err == -ENOENT && access(parent, F_OK)) {
		snprintf(hint, sizeof(hint), " (there is no directory %s)", parent);
		return hint;
	}
	if (err == -EACCES && dir && !strcmp(parent, dir) && access(dir, W_OK | X_OK)) {
		snprintf(hint, sizeof(hint),
			 " (set USERMAP_DIR to a directory of your own, not %s)", dir);
		return hint;
	}
	return "";
}

static int list_add(struct cli *cli, struct map_list *list, struct map_ref ref)
{
	struct map_ref *more = NULL;

	if (ref.path)
		more = reallocarray(list->ref, list->nr + 1, sizeof(*more));
	if (!more) {
		free(ref.path);
		return cli_err(cli, "out of memory");
	}
	list->ref = more;
	list->ref[list->nr++] = ref;
	return 0;
}

static int compare_refs(const void *pa, const void *pb)
{
	const struct map_ref *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Which maps of a directory are wanted. */
struct wanted {
	bool all; /* and say which files could not be looked into */
	const char *name;
	uint32_t id;
	int name_err; /* out: why the file of that name is not in the list */
};

static bool is_wanted(const struct wanted *want, const struct um_map_info *info, const char *file)
{
	if (want->name)
		return !strcmp(want->name, file) || !strcmp(want->name, info->name);
	return want->all || (want->id && want->id == info->id);
}

/* A program's own file is hidden by a dot; of other files that are no maps a few are named. */
static void say_left_out(struct map_list *list, const char *path, const char *file, int err)
{
	if (err == -EMEDIUMTYPE && (file[0] == '.' || list->not_maps++ >= NOT_MAPS_NAMED))
		return;
	fprintf(stderr, "Left out %s: %s\n", path, um_strerror(err, UM_OPEN));
}

static int look_into(struct cli *cli, struct map_list *list, struct wanted *want, const char *path,
		     const char *file)
{
	struct um_map_info info = { .sz = sizeof(info) };
	UM_OPTS(um_open_opts, opts, .map_flags = BPF_F_RDONLY);
	struct um_map *map;
	struct stat st;
	int err;

	/* Opening a pipe or a device that is no map could wait or have an effect. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	err = um_map_open(path, &opts, &map);
	if (err) {
		if (want->name && !strcmp(want->name, file))
			want->name_err = err;
		if (want->all && err != -ENOENT)
			say_left_out(list, path, file, err);
		return 0;
	}
	um_map_get_info(map, &info);
	um_map_close(map);
	return list_add(cli, list,
			(struct map_ref){ .path = strdup(path),
					  .dev = st.st_dev,
					  .ino = st.st_ino,
					  .id = info.id,
					  .chosen = is_wanted(want, &info, file) });
}

/* Keep the maps of which at least one path is chosen, with all their paths. */
static void keep_chosen(struct map_list *list)
{
	size_t first, end, i, nr = 0;

	if (list->nr > 1)
		qsort(list->ref, list->nr, sizeof(*list->ref), compare_refs);
	for (first = 0; first < list->nr; first = end) {
		bool chosen = false;

		for (end = first;
		     end < list->nr && map_ref_same(&list->ref[first], &list->ref[end]); end++)
			chosen |= list->ref[end].chosen;
		for (i = first; i < end; i++) {
			if (chosen)
				list->ref[nr++] = list->ref[i];
			else
				free(list->ref[i].path);
		}
	}
	list->nr = nr;
}

/* Without a directory no map was ever made; or the user's word for it has a slip. */
static int no_dir(const struct wanted *want, const char *dir)
{
	const char *env = getenv("USERMAP_DIR");

	if (want->all && env && *env)
		fprintf(stderr, "There is no directory %s, which USERMAP_DIR names\n", dir);
	return 0;
}

static int scan(struct cli *cli, struct map_list *list, struct wanted *want)
{
	const char *dir = map_dir();
	struct dirent *entry;
	int ret = 0;
	char *path;
	DIR *d;

	if (!dir)
		return cli_err(cli, "the path in USERMAP_DIR is too long");
	d = opendir(dir);
	if (!d) {
		if (errno == ENOENT)
			return no_dir(want, dir);
		return cli_err(
			cli, "can't read the directory of maps (%s): %s%s", dir, strerror(errno),
			errno == EACCES ? " (set USERMAP_DIR to a directory of your own)" : "");
	}
	while (!ret && (entry = readdir(d))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (asprintf(&path, "%s/%s", dir, entry->d_name) < 0) {
			ret = cli_err(cli, "out of memory");
			break;
		}
		ret = look_into(cli, list, want, path, entry->d_name);
		free(path);
	}
	closedir(d);
	return ret;
}

int cli_find_all(struct cli *cli, struct map_list *list)
{
	struct wanted want = { .all = true };
	int ret = scan(cli, list, &want);

	if (list->not_maps > NOT_MAPS_NAMED) {
		size_t more = list->not_maps - NOT_MAPS_NAMED;

		fprintf(stderr, "Left out %zu more file%s in %s: not a map\n", more,
			more == 1 ? "" : "s", map_dir());
	}
	keep_chosen(list);
	return ret;
}

static int open_err(struct cli *cli, const char *path, int err)
{
	return cli_err(cli, "bpf obj get (%s): %s%s", path,
		       err == -ENOENT ? strerror(ENOENT) : um_strerror(err, UM_OPEN),
		       err == -EACCES ? cli_dir_hint(path, err) : "");
}

static int find_id(struct cli *cli, struct map_list *list, const char *word)
{
	struct wanted want = { 0 };
	uint64_t id;

	if (cli_number(word, 0, UINT32_MAX, &id))
		return cli_err(cli, "can't parse %s as ID", word);
	want.id = (uint32_t)id;
	if (scan(cli, list, &want))
		return -1;
	keep_chosen(list);
	if (!list->nr)
		return cli_err(cli, "get map by id (%u): %s", want.id, strerror(ENOENT));
	return 0;
}

static int find_name(struct cli *cli, struct map_list *list, const char *name)
{
	struct wanted want = { .name = name };
	char *path;
	int ret;

	if (strchr(name, '/'))
		return cli_err(cli, "can't parse name: %s is a path, write `pinned %s`", name,
			       name);
	if (scan(cli, list, &want))
		return -1;
	keep_chosen(list);
	if (list->nr)
		return 0;
	if (!want.name_err)
		return cli_err(cli, "no map in %s is named %s", map_dir(), name);
	path = cli_map_path(name);
	ret = open_err(cli, path ? path : name, want.name_err);
	free(path);
	return ret;
}

/* With the option -f the map's other paths in the directory of maps too. */
static int find_pinned(struct cli *cli, struct map_list *list, const char *word)
{
	struct wanted want = { 0 };
	struct map_ref ref = { .path = cli_map_path(word), .chosen = true };
	struct stat st;
	size_t i;

	if (ref.path && !stat(ref.path, &st)) {
		ref.dev = st.st_dev;
		ref.ino = st.st_ino;
	}
	if (cli->show_paths && scan(cli, list, &want)) {
		free(ref.path);
		return -1;
	}
	for (i = 0; ref.path && i < list->nr; i++) {
		if (!map_ref_same(&list->ref[i], &ref))
			continue;
		ref.id = list->ref[i].id;
		if (strcmp(list->ref[i].path, ref.path))
			continue;
		list->ref[i].chosen = true;
		free(ref.path);
		keep_chosen(list);
		return 0;
	}
	if (list_add(cli, list, ref))
		return -1;
	keep_chosen(list);
	return 0;
}

/* Read MAP from the words; at least one map is in the list after success. */
int cli_find(struct cli *cli, struct args *args, struct map_list *list)
{
	char *kind = cli_next(args);
	char *word = cli_next(args);
	int (*find)(struct cli *, struct map_list *, const char *);

	if (!kind)
		return cli_err(cli, "expected 'id', 'name' or 'pinned'");
	if (cli_is(kind, "id"))
		find = find_id;
	else if (cli_is(kind, "name"))
		find = find_name;
	else if (cli_is(kind, "pinned"))
		find = find_pinned;
	else
		return cli_err(cli, "expected 'id', 'name' or 'pinned', got: '%s'?", kind);
	if (!word)
		return cli_err(cli, "what is '%s'?", kind);
	return find(cli, list, word);
}

void cli_close(struct cli_map *m)
{
	um_map_close(m->map);
	free(m->key);
	free(m->value);
}

int cli_open(struct cli *cli, const struct map_ref *ref, uint32_t map_flags, struct cli_map *m)
{
	UM_OPTS(um_open_opts, opts, .map_flags = map_flags);
	int err;

	memset(m, 0, sizeof(*m));
	err = um_map_open(ref->path, &opts, &m->map);
	if (err)
		return open_err(cli, ref->path, err);
	m->info.sz = sizeof(m->info);
	um_map_get_info(m->map, &m->info);
	if (ref->id && m->info.id != ref->id) {
		/* The file was replaced by another map after it was chosen. */
		cli_close(m);
		return open_err(cli, ref->path, -ENOENT);
	}
	m->key = malloc(m->info.key_size);
	m->value = malloc(m->info.value_size);
	if (!m->key || !m->value) {
		cli_close(m);
		return cli_err(cli, "out of memory");
	}
	return 0;
}

/* Read MAP and open it; it must mean one map. */
int cli_open_one(struct cli *cli, struct args *args, uint32_t map_flags, struct cli_map *m)
{
	struct map_list list = { 0 };
	int ret = cli_find(cli, args, &list);

	if (!ret && !map_ref_same(&list.ref[0], &list.ref[list.nr - 1]))
		ret = cli_err(cli, "several maps match this handle");
	if (!ret)
		ret = cli_open(cli, &list.ref[0], map_flags, m);
	cli_free_list(&list);
	return ret;
}
