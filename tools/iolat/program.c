/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * program.c - can a preloaded library get into this program?
 *
 * The loader does the preloading, so a program needs glibc's. It ignores
 * $LD_PRELOAD where a program gains privileges. A script is what its
 * interpreter is.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "frontend.h"

#define MAX_SCRIPTS 5
#define NOT_TRACEABLE 1
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static int not_traceable(const char *path, const char *why)
{
	complain("%s is not traceable: %s", path, why);
	return NOT_TRACEABLE;
}

/* ---- look-up along $PATH ---- */

static int is_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : NOT_EXECUTABLE;
}

static int find_along_path(const char *name, char found[PATH_MAX])
{
	const char *dir = getenv("PATH"), *end;
	int best = NOT_FOUND;

	if (!dir)
		dir = "/bin:/usr/bin";
	for (;; dir = end + 1) {
		int len, status;

		end = strchrnul(dir, ':');
		len = (int)(end - dir);
		if (snprintf(found, PATH_MAX, "%.*s%s%s", len, dir, len ? "/" : "", name) <
		    PATH_MAX) {
			status = is_executable(found);
			if (status == 0)
				return 0;
			if (status == NOT_EXECUTABLE)
				best = status;
		}
		if (!*end)
			return best;
	}
}

static int find_program(const char *name, char found[PATH_MAX])
{
	int status;

	if (strlen(name) >= PATH_MAX) {
		complain("the name of the program is too long");
		return NOT_FOUND;
	}
	if (strchr(name, '/')) {
		strcpy(found, name);
		status = is_executable(found);
	} else {
		status = *name ? find_along_path(name, found) : NOT_FOUND;
	}
	if (status == NOT_FOUND)
		complain("%s: no such program", name);
	else if (status)
		complain("%s cannot be executed: it is no program, or you lack the permission",
			 name);
	return status;
}

/* ---- ELF ---- */

/* 0, or why not */
static const char *check_interpreter(int fd, const Elf64_Phdr *ph)
{
	char name[PATH_MAX] = "";

	if (ph->p_filesz >= sizeof(name) ||
	    pread(fd, name, ph->p_filesz, (off_t)ph->p_offset) != (ssize_t)ph->p_filesz)
		return "its program header is damaged";
	if (strstr(name, "ld-musl"))
		return "it is linked with musl, and the tracing library needs glibc";
	return NULL;
}

static const char *check_elf(int fd, const Elf64_Ehdr *eh)
{
	Elf64_Phdr ph;
	unsigned int i;

	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return "it is a 32-bit program, and the tracing library is a 64-bit one";
	if (eh->e_machine != MACHINE)
		return "it is for another kind of machine than the tracing library";
	if (eh->e_phentsize != sizeof(ph))
		return "its program header is damaged";
	for (i = 0; i < eh->e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh->e_phoff + i * sizeof(ph))) !=
		    (ssize_t)sizeof(ph))
			return "its program header is damaged";
		if (ph.p_type == PT_INTERP)
			return check_interpreter(fd, &ph);
	}
	return "it is statically linked, so no library can be preloaded into it";
}

/* ---- scripts ---- */

/* The interpreter that "#!" names, in place. NULL: there is none. */
static const char *interpreter_of(char *line)
{
	char *name = line + 2 + strspn(line + 2, " \t");

	name[strcspn(name, " \t\n")] = 0;
	return *name ? name : NULL;
}

static const char *check_privileges(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return "it cannot be looked at";
	if (st.st_mode & S_ISUID)
		return "it is a set-user-ID program, and the loader preloads nothing into those";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		return "it is a set-group-ID program, and the loader preloads nothing into those";
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return "it has file capabilities, and the loader preloads nothing into such a "
		       "program";
	return NULL;
}

/*
 * 0 or a status. A program that may be run but not read passes: what it is
 * cannot be told.
 */
static int check_file(const char *path, int depth)
{
	union {
		Elf64_Ehdr eh;
		char text[PATH_MAX];
	} head = { .text = "" };
	const char *why, *interpreter;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return 0;
	len = pread(fd, &head, sizeof(head) - 1, 0);
	if (len > 1 && memcmp(head.text, "#!", 2) == 0) {
		close(fd);
		interpreter = interpreter_of(head.text);
		if (!interpreter)
			return 0;
		if (depth == MAX_SCRIPTS)
			return not_traceable(path,
					     "its interpreters are scripts, too many of them");
		return check_file(interpreter, depth + 1);
	}
	why = check_privileges(fd);
	if (!why && len >= (ssize_t)sizeof(head.eh) && memcmp(head.text, ELFMAG, SELFMAG) == 0)
		why = check_elf(fd, &head.eh);
	close(fd);
	return why ? not_traceable(path, why) : 0;
}

int check_program(const char *name)
{
	char path[PATH_MAX];
	int status = find_program(name, path);

	return status ? status : check_file(path, 0);
}
