/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* usermap_cli.h - what the files of the usermap command share. */
#ifndef USERMAP_CLI_H
#define USERMAP_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <usermap/usermap.h>

#include "usermap_json.h"

/* Options and output of one run; a batch shares it between its commands. */
struct cli {
	bool json;
	bool show_paths; /* -f */
	bool show_stats; /* -s */
	bool in_batch;
	struct jw out;
};

/* The words of a command that are still to be read. */
struct args {
	int nr;
	char **v;
};

/*
 * A command answers 0, -1 or a negative errno; the low byte of that is the exit
 * status. It has then said what is wrong, by cli_err().
 */
struct command {
	const char *name;
	int min_args;
	int max_args; /* -1: no limit */
	int (*run)(struct cli *cli, struct args *args);
};

/* A path of a map; those of one map stand together in a list, see map_ref_same(). */
struct map_ref {
	char *path;
	dev_t dev;
	ino_t ino;
	uint32_t id; /* 0: not looked at yet */
	bool chosen;
};

struct map_list {
	struct map_ref *ref;
	size_t nr;
	size_t not_maps; /* files seen that are no maps, without those hidden by a dot */
};

/* A map that is open, with what it says of itself and room for one entry. */
struct cli_map {
	struct um_map *map;
	struct um_map_info info;
	unsigned char *key;
	unsigned char *value;
};

/* What the words after MAP may and must hold. */
struct entry_args {
	bool key_optional;
	bool has_value; /* update: value and flags too */
	bool found_key; /* out */
	uint64_t flags; /* out */
};

/* usermap.c */
int cli_err(struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int cli_usage_err(struct cli *cli, const char *usage, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int cli_run(struct cli *cli, struct args *args);

/* usermap_batch.c */
int cli_batch(struct cli *cli, struct args *args);

/* usermap_map.c */
int cli_map(struct cli *cli, struct args *args);

/* usermap_edit.c */
int cmd_create(struct cli *cli, struct args *args);
int cmd_update(struct cli *cli, struct args *args);
int cmd_delete(struct cli *cli, struct args *args);
int cmd_freeze(struct cli *cli, struct args *args);
int cmd_pin(struct cli *cli, struct args *args);

/* usermap_show.c */
int cmd_show(struct cli *cli, struct args *args);
int cmd_dump(struct cli *cli, struct args *args);
int cmd_lookup(struct cli *cli, struct args *args);
int cmd_getnext(struct cli *cli, struct args *args);

/* usermap_find.c */
bool map_ref_same(const struct map_ref *a, const struct map_ref *b);
int cli_find(struct cli *cli, struct args *args, struct map_list *list);
int cli_find_all(struct cli *cli, struct map_list *list);
void cli_free_list(struct map_list *list);
int cli_open(struct cli *cli, const struct map_ref *ref, uint32_t map_flags, struct cli_map *m);
int cli_open_one(struct cli *cli, struct args *args, uint32_t map_flags, struct cli_map *m);
void cli_close(struct cli_map *m);
char *cli_map_path(const char *word);
const char *cli_dir_hint(const char *path, int err);

/* usermap_parse.c */
char *cli_next(struct args *args);
bool cli_is(const char *word, const char *full);
int cli_number(const char *word, int base, uint64_t max, uint64_t *number);
int cli_parse_entry(struct cli *cli, struct args *args, struct cli_map *m, struct entry_args *want);
enum bpf_map_type cli_type(const char *name);
const char *cli_type_name(uint32_t type);

/* usermap_print.c */
void print_entry(const struct cli_map *m);
void print_bytes(const char *label, const unsigned char *bytes, uint32_t size);
void print_map(struct cli *cli, const struct cli_map *m, const struct map_list *list, size_t i);
void print_map_line(const struct um_map_info *info);
void cli_json_entry(struct jw *out, const struct cli_map *m);
json_t *cli_json_map(struct cli *cli, const struct cli_map *m, const struct map_list *list,
		     size_t i);
void cli_json_map_line(struct jw *out, const struct um_map_info *info);

#endif
