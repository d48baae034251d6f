/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* usermap_map.c - `usermap map`: its table of commands and its usage. */
#include "usermap_cli.h"

#include <string.h>

static const char usage[] =
	"Usage: usermap [OPTIONS] map { show | list }   [MAP]\n"
	"       usermap [OPTIONS] map create     FILE type TYPE key KEY_SIZE value VALUE_SIZE \\\n"
	"                                             entries MAX_ENTRIES name NAME \\\n"
	"                                             [flags FLAGS] [cpus N] [spares N]\n"
	"       usermap [OPTIONS] map dump       MAP\n"
	"       usermap [OPTIONS] map update     MAP key DATA value DATA [UPDATE_FLAGS]\n"
	"       usermap [OPTIONS] map lookup     MAP key DATA\n"
	"       usermap [OPTIONS] map getnext    MAP [key DATA]\n"
	"       usermap [OPTIONS] map delete     MAP key DATA\n"
	"       usermap [OPTIONS] map pin        MAP FILE\n"
	"       usermap [OPTIONS] map freeze     MAP\n"
	"       usermap [OPTIONS] map help\n"
	"\n"
	"       MAP := { id MAP_ID | pinned FILE | name MAP_NAME }\n"
	"       DATA := { [hex] { BYTE | u8 N | u16 N | u32 N | u64 N } ... }\n"
	"       UPDATE_FLAGS := { any | exist | noexist }\n"
	"       TYPE := { hash }\n"
	"       OPTIONS := { {-j|--json} | {-p|--pretty} | {-f|--bpffs} | {-s|--stats} }\n"
	"\n"
	"       FILE without a '/' is in the directory of maps: $USERMAP_DIR, else\n"
	"       /dev/shm/usermap. MAP_ID and MAP_NAME are looked for there.\n";

static int cmd_help(struct cli *cli, struct args *args)
{
	fputs(usage, stderr);
	return 0;
}

/*
 * As in bpftool a word cut short means the first command here that it fits, so
 * the ones that change nothing stand first: `map d` dumps, it does not delete.
 */
static const struct command commands[] = {
	{ "show", 0, 2, cmd_show },	 { "list", 0, 2, cmd_show },
	{ "help", 0, -1, cmd_help },	 { "dump", 2, 2, cmd_dump },
	{ "lookup", 2, -1, cmd_lookup }, { "getnext", 2, -1, cmd_getnext },
	{ "create", 7, -1, cmd_create }, { "update", 2, -1, cmd_update },
	{ "delete", 2, -1, cmd_delete }, { "pin", 3, 3, cmd_pin },
	{ "freeze", 2, 2, cmd_freeze },
};

int cli_map(struct cli *cli, struct args *args)
{
	const char *word = cli_next(args);
	const struct command *cmd;
	size_t i;

	if (!word)
		word = "show";
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (cli_is(word, commands[i].name))
			break;
	if (i == sizeof(commands) / sizeof(commands[0]))
		return cli_usage_err(cli, usage, "unknown command 'map %s'", word);
	cmd = &commands[i];
	if (args->nr < cmd->min_args)
		return cli_usage_err(cli, usage, "'%s' needs at least %d arguments, %d found",
				     cmd->name, cmd->min_args, args->nr);
	if (cmd->max_args >= 0 && args->nr > cmd->max_args)
		return cli_usage_err(cli, usage, "'%s' takes %d arguments, %d found", cmd->name,
				     cmd->max_args, args->nr);
	return cmd->run(cli, args);
}
