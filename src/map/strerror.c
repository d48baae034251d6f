/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* strerror.c - sentences for errors, and the library's version. */
#include <errno.h>
#include <string.h>
#include "base/compiler.h"
#include "usermap/usermap.h"

struct sentence {
	int err;
	const char *text;
};

static const struct sentence create[] = {
	{ EEXIST, "a file of that name exists; choose another name or remove it" },
	{ ENAMETOOLONG, "the name is too long" },
	{ EINVAL, "the type, a size, the name or a flag is not valid for a map" },
	{ E2BIG, "the sizes or the number of entries are too large for a map" },
	{ ENOMEM, "there is not enough memory for a map of this size" },
	{ ENOSPC, "the file system has no room for a map of this size" },
	{ EFBIG, "a map of this size is above the limit on file sizes; raise ulimit -f" },
	{ ENOENT, "the directory for the map does not exist" },
	{ EACCES, "no permission to create a map there" },
	{ UM_ENOTSUPP, "this version does not have maps of this type" },
	{ EUSERS, "too many processes have the map open" },
	{ EFAULT, "a pointer that the call needs is NULL" },
};

static const struct sentence open_[] = {
	{ ENOENT, "there is no such map" },
	{ EACCES, "no permission to open the map; looking takes permission to read its file, "
		  "changing to write it" },
	{ ENAMETOOLONG, "the name is too long" },
	{ EPERM, "opening the map this way is not permitted" },
	{ EMEDIUMTYPE, "this is not a map" },
	{ ENODATA, "the map's file is cut short; it cannot be used any more" },
	{ EPROTONOSUPPORT, "the map was made by a version of usermap with another layout" },
	{ ENOEXEC, "the map was made on a machine of another endianness or architecture" },
	{ ESTALE, "the map was made before this machine was last started" },
	{ EUCLEAN, "the map is damaged: its parts contradict each other" },
	{ EUSERS, "too many processes have the map open" },
	{ EOPNOTSUPP, "this system lacks membarrier(2), which the map's other users rely on" },
	{ ETIMEDOUT, "a stopped process keeps the map from being repaired; continue or end it" },
	{ EBADF, "the descriptor is not open" },
	{ ENOMEM, "there is not enough memory to open the map" },
	{ EINVAL, "the options are not valid" },
	{ E2BIG, "the options are those of a newer version of usermap" },
	{ EFAULT, "a pointer that the call needs is NULL" },
};

static const struct sentence common[] = {
	{ ENOENT, "the key is not in the map" },
	{ EEXIST, "the key is in the map already" },
	{ E2BIG, "the map is full" },
	{ EPERM, "this handle may not do that: it is for the other direction only, or the map is "
		 "frozen" },
	{ EBUSY, "the map is busy: this thread was interrupted in the middle of a change, or "
		 "readers hold every spare element" },
	{ EAGAIN, "the entry changed faster than it could be read; try again" },
	{ ETIMEDOUT, "another process was stopped in the middle of a change; continue or end it" },
	{ ENOMEM, "there is no memory left for another element" },
	{ EINVAL, "a flag is not valid for this call" },
	{ EFAULT, "a pointer that the call needs is NULL" },
	{ EUCLEAN, "the map is damaged: its parts contradict each other" },
	{ ENOTRECOVERABLE, "a process died in the middle of a change, and this one has no descriptor, "
			   "no /proc or no permission to repair the map; another can" },
	{ EUSERS, "too many processes have the map open" },
};

static const struct sentence read_[] = {
	{ EPERM, "this handle of the map has no read sections; use look-ups that copy" },
	{ ENOMEM, "there is no room for another thread of this map's readers" },
};

static const struct sentence next_[] = {
	{ ENOENT, "there is no further key" },
};

static const struct sentence unlink_[] = {
	{ ENOENT, "there is no such map" },
	{ EACCES, "no permission to remove the map" },
	{ EMEDIUMTYPE, "this is not a map, so it is left alone" },
	{ ENAMETOOLONG, "the name is too long" },
};

static const char *find(const struct sentence *list, size_t nr, int err)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (list[i].err == err)
			return list[i].text;
	return NULL;
}

#define LIST(l) { l, ARRAY_SIZE(l) }

const char *um_strerror(int err, enum um_what what)
{
	static const struct {
		const struct sentence *list;
		size_t nr;
	} lists[] = {
		[UM_CREATE] = LIST(create), [UM_OPEN] = LIST(open_), [UM_NEXT] = LIST(next_),
		[UM_READ] = LIST(read_),
		[UM_UNLINK] = LIST(unlink_),
	};
	const char *text = NULL;

	err = err < 0 ? -err : err;
	if (!err)
		return "success";
	if ((unsigned int)what < ARRAY_SIZE(lists))
		text = find(lists[what].list, lists[what].nr, err);
	if (!text && what != UM_CREATE && what != UM_OPEN && what != UM_UNLINK)
		text = find(common, ARRAY_SIZE(common), err);
	if (!text)
		text = strerrordesc_np(err);
	return text ? text : "an error that has no name here";
}

#define STR(x) #x
#define VERSION(a, b, c) STR(a) "." STR(b) "." STR(c)

const char *um_version(void)
{
	return VERSION(UM_VERSION_MAJOR, UM_VERSION_MINOR, UM_VERSION_PATCH);
}
