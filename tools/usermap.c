/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * usermap.c - the command usermap: options, version, exit status.
 *
 * Command line, output and exit status are laid out as bpftool's, so that what
 * people know and what scripts do carries over.
 */
#include "usermap_cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STR(x) #x
#define VERSION_STR(major, minor, patch) STR(major) "." STR(minor) "." STR(patch)
#define VERSION VERSION_STR(UM_VERSION_MAJOR, UM_VERSION_MINOR, UM_VERSION_PATCH)

static const char usage[] =
	"Usage: usermap [OPTIONS] OBJECT { COMMAND | help }\n"
	"       usermap batch file FILE\n"
	"       usermap version\n"
	"\n"
	"       OBJECT := { map }\n"
	"       OPTIONS := { {-j|--json} | {-p|--pretty} | {-f|--bpffs} | {-s|--stats} |\n"
	"                    {-h|--help} | {-V|--version} }\n";

/* In JSON an error is the command's value, else a line on standard error. */
int cli_err(struct cli *cli, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		text = NULL;
	if (!cli->json || !jw_error(&cli->out, text ? text : fmt)) {
		fflush(stdout);
		fprintf(stderr, "Error: %s\n", text ? text : fmt);
	}
	free(text);
	return -1;
}

int cli_usage_err(struct cli *cli, const char *text, const char *fmt, ...)
{
	char *first;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&first, fmt, ap);
	va_end(ap);
	cli_err(cli, "%s", n < 0 ? "out of memory" : first);
	if (n >= 0)
		free(first);
	if (!cli->json)
		fputs(text, stderr);
	return -1;
}

static int cmd_usage(struct cli *cli, struct args *args)
{
	fputs(usage, stderr);
	return 0;
}

static int cmd_version(struct cli *cli, struct args *args)
{
	if (cli->json)
		jw_put(&cli->out, json_pack("{s:s, s:s}", "version", VERSION, "libusermap_version",
					    um_version()));
	else
		printf("usermap v%s\nusing libusermap v%s\n", VERSION, um_version());
	return 0;
}

static const struct command objects[] = {
	{ "map", 0, -1, cli_map },
	{ "batch", 0, -1, cli_batch },
	{ "help", 0, -1, cmd_usage },
	{ "version", 0, -1, cmd_version },
};

/* Run one command; whatever happens in it, it is one value in JSON. */
int cli_run(struct cli *cli, struct args *args)
{
	const char *word = cli_next(args);
	unsigned int outer = cli->out.base;
	size_t i;
	int ret;

	if (!word)
		word = "help";
	if (cli->json)
		jw_begin(&cli->out);
	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (cli_is(word, objects[i].name))
			break;
	if (i < sizeof(objects) / sizeof(objects[0]))
		ret = objects[i].run(cli, args);
	else
		ret = cli_usage_err(cli, usage, "unknown object '%s'", word);
	if (cli->json)
		jw_end(&cli->out);
	cli->out.base = outer;
	return ret;
}

#define LETTERS "jpfsndlhV"

/* What getopt_long() refused: a long word, a number, or the letter inside a word of letters. */
static void bad_option(char *buf, size_t size, char **argv)
{
	int i = 1;

	if (!optopt || strchr(LETTERS, optopt)) {
		snprintf(buf, size, "%s", argv[optind - 1]);
		return;
	}
	while (argv[i] && (argv[i][0] != '-' || argv[i][1] != optopt))
		i++;
	if (argv[i] && isdigit(optopt))
		snprintf(buf, size, "%s", argv[i]);
	else
		snprintf(buf, size, "-%c", optopt);
}

/* The word that is run instead of the command line's, or NULL; bad stays empty if all is well. */
static const char *parse_options(struct cli *cli, int argc, char **argv, char *bad, size_t size)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },    { "pretty", no_argument, NULL, 'p' },
		{ "bpffs", no_argument, NULL, 'f' },   { "stats", no_argument, NULL, 's' },
		{ "nomount", no_argument, NULL, 'n' }, { "debug", no_argument, NULL, 'd' },
		{ "legacy", no_argument, NULL, 'l' },  { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 },
	};
	const char *instead = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, LETTERS, options, NULL)) != -1) {
		switch (c) {
		case 'p':
			cli->out.pretty = true;
			/* fallthrough */
		case 'j':
			cli->json = true;
			break;
		case 'f':
			cli->show_paths = true;
			break;
		case 's':
			cli->show_stats = true;
			break;
		case 'h':
			instead = "help";
			break;
		case 'V':
			instead = "version";
			break;
		case '?':
			if (!*bad)
				bad_option(bad, size, argv);
			break;
		default: /* bpftool's n, d and l mean nothing here and harm nothing */
			break;
		}
	}
	return instead;
}

/* The file of a map that is open may be cut short by whoever may write to it. */
static void on_sigbus(int sig)
{
	static const char text[] = "Error: the file of the map was cut short while it was open\n";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)n; /* the exit status says it too */
	_exit(255);
}

/* -1 becomes 255, a negative errno its low byte; failure never becomes 0. */
static int exit_status(int ret)
{
	return ret && !(ret & 255) ? 255 : ret & 255;
}

static int finish_output(struct cli *cli, int ret)
{
	if (cli->json)
		putchar('\n');
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "Error: can't write the output: %s\n", strerror(errno));
		return -1;
	}
	if (cli->out.no_memory) {
		fprintf(stderr, "Error: out of memory, the output is not complete\n");
		return -1;
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_sigbus };
	struct cli cli = { .out = { .file = stdout } };
	struct args args;
	char bad[64] = "";
	char *instead;
	int ret;

	sigaction(SIGBUS, &action, NULL);
	instead = (char *)parse_options(&cli, argc, argv, bad, sizeof(bad));
	args.nr = instead ? 1 : argc - optind;
	args.v = instead ? &instead : argv + optind;
	if (bad[0] == '-' && isdigit((unsigned char)bad[1])) {
		jw_begin(&cli.out);
		ret = cli_err(&cli, "error parsing number: %s has a sign", bad);
	} else if (*bad) {
		jw_begin(&cli.out);
		ret = cli_usage_err(&cli, usage, "unrecognized option '%s'", bad);
	} else {
		ret = cli_run(&cli, &args);
	}
	return exit_status(finish_output(&cli, ret));
}
