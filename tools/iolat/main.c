/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* main.c - usermap-iolat: latency histograms of any program's file I/O. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "frontend.h"

#define USAGE_STATUS 2
#define OWN_FAILURE 1
#define MAX_PREFIX 8 /* with ".starts" it is a map's name */
#define DEFAULT_FILES 65536

static const char usage_text[] =
	"Usage: usermap-iolat [OPTIONS] [--] COMMAND [ARGUMENT...]\n"
	"Trace the file I/O calls of COMMAND and all it starts into usermap maps, and\n"
	"print how long they took.\n"
	"\n"
	"  -i, --interval SECONDS  print a summary every so often\n"
	"  -j, --json              report as JSON\n"
	"  -n, --nanoseconds       histograms in nanoseconds, not microseconds\n"
	"  -o, --output FILE       report to FILE, not to standard error\n"
	"  -p, --prefix NAME       name the maps NAME.starts, NAME.hist and NAME.files\n"
	"                          (--name is the same)\n"
	"  -k, --keep              leave the maps there at the end\n"
	"  -f, --files NUM         room for so many files (65536)\n"
	"  -q, --quiet             do not say where the maps are\n"
	"  -h, --help              this text\n"
	"  -V, --version           the version\n";

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("usermap-iolat: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

__attribute__((noreturn)) static void usage_error(const char *what, const char *arg)
{
	complain("%s: %s; usermap-iolat --help lists the options", what, arg);
	exit(USAGE_STATUS);
}

static double parse_seconds(const char *arg)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (end == arg || *end || !(seconds >= 0.01 && seconds <= 1e6))
		usage_error("the interval has to be 0.01 to 1000000 seconds", arg);
	return seconds;
}

static uint32_t parse_files(const char *arg)
{
	char *end;
	unsigned long nr = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || nr < 1 || nr > 1u << 27)
		usage_error("the number of files has to be 1 to 134217728", arg);
	return (uint32_t)nr;
}

static const char *parse_prefix(const char *arg)
{
	size_t len = strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_.");

	if (!len || arg[len] || len > MAX_PREFIX || *arg == '.')
		usage_error("the maps' name has to be 1 to 8 of A-Z a-z 0-9 _ .", arg);
	return arg;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "nanoseconds", no_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "prefix", required_argument, NULL, 'p' },
		{ "name", required_argument, NULL, 'p' },
		{ "keep", no_argument, NULL, 'k' },
		{ "files", required_argument, NULL, 'f' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+i:jno:p:kf:qhV", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o->interval = parse_seconds(optarg);
			break;
		case 'j':
			o->json = true;
			break;
		case 'n':
			o->nanoseconds = true;
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'p':
			o->prefix = parse_prefix(optarg);
			break;
		case 'k':
			o->keep = true;
			break;
		case 'f':
			o->max_files = parse_files(optarg);
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case 'V':
			printf("usermap-iolat %s\n", um_version());
			exit(0);
		default:
			exit(USAGE_STATUS); /* getopt has said why */
		}
	}
	o->command = argv + optind;
	if (!*o->command) {
		complain("which command is to be traced? usermap-iolat [OPTIONS] -- COMMAND");
		exit(USAGE_STATUS);
	}
}

static FILE *open_output(const char *path)
{
	FILE *to = path ? fopen(path, "we") : stderr;

	if (!to)
		complain("%s cannot be written: %s", path, strerror(errno));
	return to;
}

static int trace(const struct options *o, struct report *r, struct outcome *outcome)
{
	int status;

	if (session_set_environment(r->session))
		return OWN_FAILURE;
	if (!o->quiet)
		fprintf(stderr,
			"usermap-iolat: maps %s.starts, .hist and .files; look with: "
			"usermap map dump pinned %s.hist\n",
			r->session->prefix, r->session->prefix);
	if (o->json)
		json_start(r);
	r->start_ns = r->last_ns = now_ns();
	status = run_command(o->command, o->interval, o->json ? json_interval : report_interval, r,
			     outcome);
	return status;
}

static int write_report(const struct options *o, struct report *r, const struct outcome *outcome)
{
	int err = o->json ? json_end(r, outcome) : report_end(r, outcome);

	if (err)
		complain("the maps cannot be read: %s", um_strerror(err, UM_READ));
	if (fflush(r->to) || ferror(r->to)) {
		complain("the report cannot be written: %s", strerror(errno));
		err = -EIO;
	}
	return err;
}

int main(int argc, char **argv)
{
	struct options o = { .max_files = DEFAULT_FILES };
	struct outcome outcome = { 0 };
	static struct session session;
	static struct report report;
	int status;

	parse_options(argc, argv, &o);
	status = check_program(o.command[0]);
	if (status)
		return status;
	report.to = open_output(o.output);
	if (!report.to)
		return OWN_FAILURE;
	if (session_open(&session, &o))
		return OWN_FAILURE;
	report.session = &session;
	report.command = o.command;
	report.nanoseconds = o.nanoseconds;
	status = trace(&o, &report, &outcome);
	if (!status && write_report(&o, &report, &outcome))
		status = OWN_FAILURE;
	session_close(&session, o.keep);
	if (status)
		return status;
	exit_like(outcome.status);
}
