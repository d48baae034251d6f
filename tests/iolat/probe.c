/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * probe.c - programs whose calls are known, for the tests of usermap-iolat.
 *
 *   probe threads N CALLS     CALLS preads in each of N threads
 *   probe tree DEPTH          a fork and an exec at each step, two writes each
 *   probe execs               becomes another program by each exec call in turn
 *   probe timer CALLS         preads while a timer's handler writes; prints how often
 *   probe altstack CALLS      the same with the handler on a stack above
 *   probe longjmp             leaves a blocked read by siglongjmp(), then goes on
 *   probe cancel              cancels a thread in a blocked read, then another
 *   probe descriptors DIR     makes one number mean many files, one after the other
 *   probe vfork DIR           a child of vfork() redirects a number its parent uses
 *   probe vforkblock          a thread blocks in a read, another execs by vfork(),
 *                             says "ready" and reads standard input to its end
 *   probe rawfork             a child made by clone(2) behind glibc's back
 *   probe lowest              prints the lowest free descriptor
 *   probe block               says "ready" and reads standard input until its end
 *   probe kill SIGNAL         two reads, then a signal to itself
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char buf[4096];

static void must(int good, const char *what)
{
	if (good)
		return;
	dprintf(2, "probe: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static int zero(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	must(fd >= 0, "open /dev/zero");
	return fd;
}

static void wait_for(pid_t pid)
{
	int status;

	must(pid > 0, "fork");
	must(waitpid(pid, &status, 0) == pid && status == 0, "a child failed");
}

/* ---- threads ---- */

static int shared_fd;

static void *preads(void *arg)
{
	long i, n = (long)arg;
	char mine[16];

	for (i = 0; i < n; i++)
		must(pread(shared_fd, mine, sizeof(mine), i) == sizeof(mine), "pread");
	return NULL;
}

static int threads(char **argv)
{
	int n = atoi(argv[0]), i;
	pthread_t t[256];

	shared_fd = zero();
	for (i = 0; i < n; i++)
		must(!pthread_create(&t[i], NULL, preads, (void *)atol(argv[1])), "thread");
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* ---- processes ---- */

static int tree(char **argv)
{
	int depth = atoi(argv[0]), null = open("/dev/null", O_WRONLY);
	char next[16];
	pid_t pid;

	must(write(null, buf, 1) == 1, "write");
	if (depth > 0) {
		snprintf(next, sizeof(next), "%d", depth - 1);
		pid = fork();
		if (pid == 0) {
			must(write(null, buf, 1) == 1, "write");
			execl("/proc/self/exe", "probe", "tree", next, NULL);
			_exit(99);
		}
		wait_for(pid);
	}
	return 0;
}

/* Each step checks what it was given, writes once, and becomes the next. */
static int execs(char **argv)
{
	static const char *const steps[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
	char *envp[] = { NULL, NULL, NULL, (char *)"STEP=env", NULL };
	int step = argv[0] ? atoi(argv[0]) : 0, fd, null = open("/dev/null", O_WRONLY);
	char *args[] = { (char *)"probe", (char *)"execs", NULL, NULL };
	static char self[4096], preload[8192], maps[8192];

	must(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0, "readlink");
	must(write(null, buf, 1) == 1, "write");
	must(close(null) == 0, "close");
	if (step == 7)
		return 0;
	must(step < 5 || (getenv("STEP") && !strcmp(getenv("STEP"), "env")), "environment");
	args[2] = (char *)steps[step + 1];
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
	snprintf(maps, sizeof(maps), "USERMAP_IOLAT=%s", getenv("USERMAP_IOLAT"));
	envp[0] = preload;
	envp[1] = maps;
	envp[2] = (char *)"PATH=/bin";
	switch (step) {
	case 0:
		execl(self, "probe", "execs", args[2], NULL);
		break;
	case 1:
		execlp(self, "probe", "execs", args[2], NULL);
		break;
	case 2:
		execv(self, args);
		break;
	case 3:
		execvp(self, args);
		break;
	case 4:
		execle(self, "probe", "execs", args[2], NULL, envp);
		break;
	case 5:
		execvpe(self, args, envp);
		break;
	case 6:
		fd = open(self, O_RDONLY);
		fexecve(fd, args, envp);
		break;
	}
	must(0, "exec");
	return 99;
}

static int rawfork(char **argv)
{
	int null = open("/dev/null", O_WRONLY), i;
	pid_t pid;

	for (i = 0; i < 10; i++)
		must(write(null, buf, 1) == 1, "write");
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	for (i = 0; i < 10; i++)
		must(write(null, buf, 1) == 1, "write");
	if (pid == 0)
		exit(0);
	wait_for(pid);
	return 0;
}

/* ---- handlers ---- */

static int null_fd;
static volatile sig_atomic_t handled;

static void on_timer(int sig)
{
	int saved = errno;

	must(write(null_fd, buf, 1) == 1, "write in a handler");
	handled++;
	errno = saved;
}

static const stack_t *handler_stack;
static const struct sigaction *handler_action;

static int timer(char **argv)
{
	struct itimerval every = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	long n = atol(argv[0]), i;
	int fd = zero();

	null_fd = open("/dev/null", O_WRONLY);
	must(!handler_stack || sigaltstack(handler_stack, NULL) == 0, "sigaltstack");
	sigaction(SIGALRM, handler_action ? handler_action : &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < n; i++) {
		errno = 4711;
		must(pread(fd, buf, 16, 0) == 16 && errno == 4711, "pread");
	}
	setitimer(ITIMER_REAL, &never, NULL);
	dprintf(1, "%d\n", (int)handled);
	return 0;
}

/* On a thread whose stack lies below the handler's. */
static void *timed_preads(void *arg)
{
	char *n[] = { arg, NULL };

	timer(n);
	return NULL;
}

static int altstack(char **argv)
{
	size_t size = 1 << 20;
	char *stacks =
		mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART | SA_ONSTACK };
	stack_t high = { .ss_sp = stacks + size, .ss_size = size };
	pthread_attr_t attr;
	sigset_t set;
	pthread_t t;

	must(stacks != MAP_FAILED, "mmap");
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stacks, size);
	handler_stack = &high;
	handler_action = &sa;
	must(!pthread_create(&t, &attr, timed_preads, argv[0]), "thread");
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_join(t, NULL);
	return 0;
}

static sigjmp_buf back;

static void jump(int sig)
{
	siglongjmp(back, 1);
}

static int long_jump(char **argv)
{
	volatile int times = 0;
	int pipes[2];

	must(pipe(pipes) == 0, "pipe");
	signal(SIGALRM, jump);
	while (times < 3) {
		if (sigsetjmp(back, 1)) {
			times++;
			continue;
		}
		ualarm(20000, 0);
		must(read(pipes[0], buf, 1) == 0, "this read must not end");
	}
	must(write(pipes[1], buf, 1) == 1 && read(pipes[0], buf, 1) == 1, "read");
	return 0;
}

static int cancelled[2];

static void *blocked_read(void *arg)
{
	must(read(cancelled[0], buf, 1) == 0, "this read must not end");
	return NULL;
}

static int cancel(char **argv)
{
	void *result;
	pthread_t t;
	int i;

	must(pipe(cancelled) == 0, "pipe");
	for (i = 0; i < 3; i++) {
		must(!pthread_create(&t, NULL, blocked_read, NULL), "thread");
		usleep(20000);
		pthread_cancel(t);
		must(!pthread_join(t, &result) && result == PTHREAD_CANCELED, "cancel");
	}
	return 0;
}

/* ---- descriptors ---- */

static const char *in(const char *dir, const char *name)
{
	static char paths[4][4096];
	static int next;

	next = (next + 1) % 4;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s", dir, name);
	return paths[next];
}

static void writes(int fd, int n)
{
	while (n--)
		must(write(fd, "x", 1) == 1, "write");
}

#define CREATE (O_WRONLY | O_CREAT | O_TRUNC)

/*
 * Bytes written to each file: close 3, dup2 5, dup3 7, range 11, stream 13,
 * reopen 17. Everything goes through the same number.
 */
static int descriptors(char **argv)
{
	int fd = open(in(argv[0], "close"), CREATE, 0600), other;
	FILE *stream;

	writes(fd, 3);
	must(close(fd) == 0 && open(in(argv[0], "dup2"), CREATE, 0600) == fd, "close");
	writes(fd, 4);
	other = open(in(argv[0], "dup3"), CREATE, 0600);
	must(dup2(fd, other) == other, "dup2");
	writes(other, 1);
	must(close(other) == 0, "close");
	other = open(in(argv[0], "dup3"), CREATE, 0600);
	must(dup3(other, fd, O_CLOEXEC) == fd && close(other) == 0, "dup3");
	writes(fd, 7);
	must(close_range((unsigned int)fd, (unsigned int)fd, 0) == 0, "close_range");
	must(open(in(argv[0], "range"), CREATE, 0600) == fd, "open");
	writes(fd, 11);
	closefrom(fd);
	stream = fopen(in(argv[0], "stream"), "w");
	must(stream && fileno(stream) == fd, "fopen");
	writes(fd, 13);
	must(freopen(in(argv[0], "reopen"), "w", stream) && fileno(stream) == fd, "freopen");
	writes(fd, 17);
	must(fclose(stream) == 0, "fclose");
	return 0;
}

/* The parent writes 3 and 4 bytes to "parent", the child 5 to "child". */
static int vforking(char **argv)
{
	int fd = open(in(argv[0], "parent"), CREATE, 0600), other;
	pid_t pid;

	writes(fd, 3);
	pid = vfork();
	if (pid == 0) {
		other = open(in(argv[0], "child"), CREATE, 0600);
		dup2(other, fd);
		writes(fd, 5);
		execl("/bin/true", "true", NULL);
		_exit(99);
	}
	writes(fd, 4);
	wait_for(pid);
	return 0;
}

static int block(char **argv)
{
	must(write(1, "ready\n", 6) == 6, "write");
	while (read(0, buf, sizeof(buf)) > 0)
		;
	return 0;
}

static int vforkblock(char **argv)
{
	pthread_t t;
	pid_t pid;

	must(pipe(cancelled) == 0, "pipe");
	must(!pthread_create(&t, NULL, blocked_read, NULL), "thread");
	usleep(50000);
	pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(99);
	}
	wait_for(pid);
	return block(argv);
}

static int lowest(char **argv)
{
	int fd = open("/dev/null", O_RDONLY);

	dprintf(1, "%d\n", fd);
	return 0;
}

static int kill_self(char **argv)
{
	int fd = zero();

	must(read(fd, buf, 1) == 1 && read(fd, buf, 1) == 1, "read");
	raise(atoi(argv[0]));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} probes[] = {
	{ "threads", threads },
	{ "tree", tree },
	{ "execs", execs },
	{ "timer", timer },
	{ "longjmp", long_jump },
	{ "cancel", cancel },
	{ "descriptors", descriptors },
	{ "vfork", vforking },
	{ "rawfork", rawfork },
	{ "lowest", lowest },
	{ "block", block },
	{ "kill", kill_self },
	{ "altstack", altstack },
	{ "vforkblock", vforkblock },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(probes) / sizeof(*probes); i++) {
		if (strcmp(probes[i].name, argv[1]) == 0)
			return probes[i].run(argv + 2);
	}
	dprintf(2, "probe NAME [ARGUMENT...]; the names stand in probe.c\n");
	return 2;
}
