/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * run.c - runs the command and waits for it.
 *
 * The command must not notice us: it has the signal mask and dispositions that
 * we were started with. What a terminal sends goes to its whole process group,
 * the command included; what somebody sends to us alone is passed on.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "frontend.h"

static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				 SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH };

static bool is_ignored(int sig)
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

/* Wait for these by sigtimedwait() from now on; ignored ones stay ignored. */
static void block_signals(sigset_t *waited, sigset_t *before, bool *no_children)
{
	size_t i;

	sigemptyset(waited);
	sigaddset(waited, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(passed_on); i++) {
		if (!is_ignored(passed_on[i]))
			sigaddset(waited, passed_on[i]);
	}
	sigprocmask(SIG_BLOCK, waited, before);
	*no_children = is_ignored(SIGCHLD);
	signal(SIGCHLD, SIG_DFL); /* else there would be no status to wait for */
}

static void start_command(char **argv, const sigset_t *mask, bool no_children)
{
	if (no_children)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	complain("%s cannot be started: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Time from now to the next tick, in @left; a day if there are no ticks. */
static void until(uint64_t next_ns, struct timespec *left)
{
	uint64_t now = now_ns(), ns = next_ns ? 0 : 86400000000000ull;

	if (next_ns > now)
		ns = next_ns - now;
	left->tv_sec = (time_t)(ns / 1000000000);
	left->tv_nsec = (long)(ns % 1000000000);
}

static int wait_for(pid_t pid, const sigset_t *waited, uint64_t interval_ns,
		    void (*tick)(void *ctx), void *ctx)
{
	uint64_t next = interval_ns ? now_ns() + interval_ns : 0;
	struct timespec left;
	siginfo_t info;
	int status, sig;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		until(next, &left);
		sig = sigtimedwait(waited, &info, &left);
		if (sig > 0 && sig != SIGCHLD && info.si_code <= 0)
			kill(pid, sig);
		if (next && now_ns() >= next) {
			tick(ctx);
			next += interval_ns;
		}
	}
}

int run_command(char **argv, double interval, void (*tick)(void *ctx), void *ctx,
		struct outcome *outcome)
{
	sigset_t waited, before;
	bool no_children;
	uint64_t start;

	fflush(NULL);
	block_signals(&waited, &before, &no_children);
	start = now_ns();
	outcome->pid = fork();
	if (outcome->pid < 0) {
		complain("%s cannot be started: %s", argv[0], strerror(errno));
		return 1;
	}
	if (outcome->pid == 0)
		start_command(argv, &before, no_children);
	outcome->status = wait_for(outcome->pid, &waited, (uint64_t)(interval * 1e9), tick, ctx);
	outcome->seconds = (double)(now_ns() - start) / 1e9;
	return 0;
}

void exit_like(int status)
{
	struct rlimit no_core = { 0, 0 };
	sigset_t set;
	int sig;

	fflush(NULL);
	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &no_core); /* the command has left its own */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig);
}
