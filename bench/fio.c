/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * fio.c - runs fio: jobs that read 4 KiB at random places of one tmpfs file.
 *
 * The file and fio's output have no names, so nothing is left behind whenever
 * and however the benchmark ends; fio reaches them as /proc/PID/fd/N.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "iolat.h"

#define DATA_DIR "/dev/shm"
#define DATA_BYTES (64U << 20)
#define ARGS_MAX 32
#define ARG_MAX_LEN 96
#define OUTPUT_MAX (1U << 20)

struct args {
	char text[ARGS_MAX][ARG_MAX_LEN];
	char *v[ARGS_MAX + 1];
	unsigned int nr;
};

__attribute__((format(printf, 2, 3))) static void add_arg(struct args *args, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(args->text[args->nr], ARG_MAX_LEN, fmt, ap);
	va_end(ap);
	args->v[args->nr] = args->text[args->nr];
	args->nr++;
}

/*
 * Run a command with its standard output and error in @output. Answers its exit
 * status, 127 if it cannot be started, -1 if a signal ended it.
 */
static int run_command(char *const *argv, int output)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return 127;
	if (!pid) {
		dup2(output, STDOUT_FILENO);
		dup2(output, STDERR_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int fio_probe(struct why *why)
{
	char *argv[] = { (char *)"fio", (char *)"--version", NULL };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), status;

	status = run_command(argv, null);
	close(null);
	if (!status)
		return 0;
	why_set(why, "fio is missing, install the package fio");
	return -1;
}

static int fill_data(int fd)
{
	static char block[1 << 16];
	uint32_t done, i;

	for (i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 + i / 256);
	for (done = 0; done < DATA_BYTES; done += sizeof(block)) {
		errno = ENOSPC;
		if (pwrite(fd, block, sizeof(block), done) != sizeof(block))
			return -1;
	}
	return 0;
}

int fio_open(struct fio *fio, struct why *why)
{
	fio->data = open(DATA_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	fio->output = memfd_create("fio-output", MFD_CLOEXEC);
	fio->report = memfd_create("fio-report", MFD_CLOEXEC);
	if (fio->data >= 0 && fio->output >= 0 && fio->report >= 0 && !fill_data(fio->data))
		return 0;
	why_set(why, "cannot make a file of %u MiB in " DATA_DIR ": %s", DATA_BYTES >> 20,
		strerror(errno));
	fio_close(fio);
	return -1;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void fio_close(struct fio *fio)
{
	close_if_open(fio->data);
	close_if_open(fio->output);
	close_if_open(fio->report);
}

static void tracer_args(struct args *args, const struct fio *fio, const char *tracer)
{
	args->v[args->nr++] = (char *)tracer;
	add_arg(args, "-q");
	add_arg(args, "-j");
	add_arg(args, "-o");
	add_arg(args, "/proc/%d/fd/%d", (int)getpid(), fio->report);
	add_arg(args, "--");
}

static void fio_args(struct args *args, const struct fio *fio, uint32_t jobs, double warmup,
		     double duration)
{
	add_arg(args, "fio");
	add_arg(args, "--name=bench");
	add_arg(args, "--filename=/proc/%d/fd/%d", (int)getpid(), fio->data);
	add_arg(args, "--size=%u", DATA_BYTES);
	add_arg(args, "--rw=randread");
	add_arg(args, "--bs=4k");
	add_arg(args, "--ioengine=psync");
	add_arg(args, "--numjobs=%u", jobs);
	add_arg(args, "--group_reporting");
	add_arg(args, "--time_based");
	add_arg(args, "--ramp_time=%.0fms", warmup * 1e3);
	add_arg(args, "--runtime=%.0fms", duration * 1e3);
	/* Or fio reads the clock twice a call and so hides a part of what is added. */
	add_arg(args, "--gtod_reduce=1");
	add_arg(args, "--norandommap");
	add_arg(args, "--output-format=json");
	add_arg(args, "--output=/proc/%d/fd/%d", (int)getpid(), fio->output);
}

/* All of @fd as text; NULL without memory. */
static char *read_all(int fd)
{
	char *text = malloc(OUTPUT_MAX);
	ssize_t len;

	if (!text)
		return NULL;
	len = pread(fd, text, OUTPUT_MAX - 1, 0);
	text[len < 0 ? 0 : len] = '\0';
	return text;
}

/* The JSON in a file; fio may have put a warning before it. */
static json_t *read_json(int fd)
{
	char *text = read_all(fd);
	const char *begin = text ? strchr(text, '{') : NULL;
	json_t *doc = begin ? json_loads(begin, JSON_DISABLE_EOF_CHECK, NULL) : NULL;

	free(text);
	return doc;
}

static int parse_output(const struct fio *fio, struct fio_result *result)
{
	json_t *doc = read_json(fio->output);
	json_int_t reads = 0, error = 1;
	int bad;

	result->iops = 0;
	bad = json_unpack(doc, "{s:[{s:I, s:{s:F, s:I}}]}", "jobs", "error", &error, "read", "iops",
			  &result->iops, "total_ios", &reads);
	result->reads = (uint64_t)reads;
	json_decref(doc);
	return bad || error || !(result->iops > 0) ? -1 : 0;
}

/* Calls of every operation that the tracer reports. */
static int parse_report(const struct fio *fio, struct fio_result *result)
{
	json_t *doc = read_json(fio->report), *operation;
	const json_t *operations = json_object_get(doc, "operations");
	const bool bad = !json_is_array(operations);
	size_t i;

	result->traced = 0;
	json_array_foreach(operations, i, operation)
	{
		result->traced += (uint64_t)json_integer_value(json_object_get(operation, "calls"));
	}
	json_decref(doc);
	return bad ? -1 : 0;
}

static void say_why(int status, int messages, struct why *why)
{
	char *said = read_all(messages);
	const char *line = said ? said + strspn(said, "\n ") : "";

	why_set(why, "fio ended with status %d: %.*s", status, (int)strcspn(line, "\n"), line);
	free(said);
}

int fio_run(const struct fio *fio, const char *tracer, uint32_t jobs, double warmup,
	    double duration, struct fio_result *result, struct why *why)
{
	int messages = memfd_create("fio-messages", MFD_CLOEXEC), status, ret = 0;
	struct args args = { .nr = 0 };

	if (messages < 0 || ftruncate(fio->output, 0) || ftruncate(fio->report, 0)) {
		why_set(why, "cannot make a file for fio's output: %s", strerror(errno));
		close_if_open(messages);
		return -1;
	}
	if (tracer)
		tracer_args(&args, fio, tracer);
	fio_args(&args, fio, jobs, warmup, duration);
	status = run_command(args.v, messages);
	if (status || parse_output(fio, result)) {
		say_why(status, messages, why);
		ret = -1;
	} else if (tracer && parse_report(fio, result)) {
		why_set(why, "%s made no report", tracer);
		ret = -1;
	}
	close(messages);
	return ret;
}
