/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * check.h - what a test program is written in.
 *
 * Each test runs in a process of its own, under a watchdog: a crash or a hang is
 * the failure of that test and of no other, a failed check may end it from any
 * thread, and what a test leaves behind goes with it. Maps named without '/' live
 * in a directory that the program makes and removes.
 *
 * Options: -s SEED, -l to list, -x to run in this process (for a debugger), and
 * words to choose the tests whose names hold one of them.
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct test {
	const char *name; /* a sentence about behaviour */
	void (*run)(void);
};

extern uint64_t test_seed;

int run_tests(int argc, char **argv, const struct test *tests, size_t n);

#define TEST_MAIN(tests)                                                                           \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return run_tests(argc, argv, tests, sizeof(tests) / sizeof(*(tests)));             \
	}

/* The directory for this program's files; a name in it, in one of four buffers. */
const char *test_dir(void);
const char *test_path(const char *name);

/* "ENOENT" for -ENOENT, "0" for 0, the number for what has no name */
const char *errno_text(long err);

__attribute__((noreturn, format(printf, 3, 4))) void check_failed(const char *file, int line,
								  const char *fmt, ...);
__attribute__((noreturn, format(printf, 1, 2))) void skip_test(const char *fmt, ...);

#define fail(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

#define check(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail("%s", #cond);                                                         \
	} while (0)

#define check_msg(cond, ...)                                                                       \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail(__VA_ARGS__);                                                         \
	} while (0)

#define check_eq(got, want)                                                                        \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_)                                                                 \
			fail("%s is %lld, not %lld", #got, got_, want_);                           \
	} while (0)

/* a call of the library and what it has to answer */
#define check_err(call, want)                                                                      \
	do {                                                                                       \
		long got_ = (call), want_ = (want);                                                \
		if (got_ != want_) {                                                               \
			char buf_[32];                                                             \
			__builtin_snprintf(buf_, sizeof(buf_), "%s", errno_text(want_));           \
			fail("%s answers %s, not %s", #call, errno_text(got_), buf_);              \
		}                                                                                  \
	} while (0)

#define check_ok(call) check_err(call, 0)

#endif
