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
#define ARGS_MAX 24
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
	fio->output = -1;
	fio->data = open(DATA_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fio->data >= 0)
		fio->output = memfd_create("fio-output", MFD_CLOEXEC);
	if (fio->output >= 0 && !fill_data(fio->data))
		return 0;
	why_set(why, "cannot make a file of %u MiB in " DATA_DIR ": %s", DATA_BYTES >> 20,
		strerror(errno));
	fio_close(fio);
	return -1;
}

void fio_close(struct fio *fio)
{
	if (fio->data >= 0)
		close(fio->data);
	if (fio->output >= 0)
		close(fio->output);
}

static void fio_args(struct args *args, const struct fio *fio, const char *tracer, uint32_t jobs,
		     double warmup, double duration)
{
	if (tracer) {
		args->v[args->nr++] = (char *)tracer;
		add_arg(args, "--");
	}
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

/* The reads in fio's JSON, before which it may have put a warning. */
static int parse_output(const char *text, double *iops, uint64_t *reads)
{
	const char *begin = strchr(text, '{');
	json_t *doc = begin ? json_loads(begin, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	double rate = 0;
	json_int_t nr = 0, error = 1;
	int bad = !doc || json_unpack(doc, "{s:[{s:I, s:{s:F, s:I}}]}", "jobs", "error", &error,
				      "read", "iops", &rate, "total_ios", &nr);

	json_decref(doc);
	if (bad || error || rate <= 0)
		return -1;
	*iops = rate;
	*reads = (uint64_t)nr;
	return 0;
}

/* The first line of what fio or the tracer said. */
static void first_line(const char *text, char *line, size_t size)
{
	text += strspn(text, "\n ");
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
}

int fio_run(const struct fio *fio, const char *tracer, uint32_t jobs, double warmup,
	    double duration, double *iops, uint64_t *reads, struct why *why)
{
	struct args args = { .nr = 0 };
	char line[200], *said, *json;
	int messages, status, ret = -1;

	messages = memfd_create("fio-messages", MFD_CLOEXEC);
	if (messages < 0 || ftruncate(fio->output, 0)) {
		why_set(why, "cannot make a file for fio's output: %s", strerror(errno));
		return -1;
	}
	fio_args(&args, fio, tracer, jobs, warmup, duration);
	status = run_command(args.v, messages);
	said = read_all(messages);
	json = read_all(fio->output);
	close(messages);
	if (said && json && !status && !parse_output(json, iops, reads)) {
		ret = 0;
	} else {
		first_line(said && *said ? said : json ? json : "", line, sizeof(line));
		why_set(why, "%s ended with status %d: %s", tracer ? tracer : "fio", status, line);
	}
	free(said);
	free(json);
	return ret;
}
