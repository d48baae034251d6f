/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* opening.c - trouble with a file is an error code with a sentence, and nothing worse. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "mem/arena.h"
#include "threads.h"

/* Both ways of opening have to give the same refusal, whatever the file is. */
static void refused_for(const char *what, const char *path, int want)
{
	UM_OPTS(um_open_opts, rdonly, .map_flags = BPF_F_RDONLY);
	struct um_map *map = NULL;
	int err = um_map_open(path, NULL, &map);

	check_msg(err == want, "%s: open answers %s", what, errno_text(err));
	err = um_map_open(path, &rdonly, &map);
	check_msg(err == want, "%s: read-only, open answers %s", what, errno_text(err));
	check(!map);
}

static void refused_as(const char *path, int want)
{
	refused_for(path, path, want);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0);
	check_eq(write(fd, bytes, size), size);
	close(fd);
}

static void what_is_no_map_is_refused(void)
{
	static char zeros[65536], text[65536];
	struct um_map *map;

	refused_as(test_path("nothing"), -ENOENT);
	refused_as("nothing", -ENOENT);
	refused_as(test_path("no/such/directory"), -ENOENT);
	write_file(test_path("empty"), "", 0);
	refused_as(test_path("empty"), -EMEDIUMTYPE);
	write_file(test_path("zeros"), zeros, sizeof(zeros));
	refused_as(test_path("zeros"), -EMEDIUMTYPE);
	memset(text, 'x', sizeof(text));
	write_file(test_path("text"), text, sizeof(text));
	refused_as(test_path("text"), -EMEDIUMTYPE);
	write_file(test_path("short"), "um", 2);
	refused_as(test_path("short"), -EMEDIUMTYPE);
	refused_as("/dev/null", -EMEDIUMTYPE);
	check(!mkdir(test_path("directory"), 0700));
	/* open(2) itself refuses a directory for writing */
	map = NULL;
	check(um_map_open(test_path("directory"), NULL, &map) < 0);
	check(!mkfifo(test_path("fifo"), 0600));
	check(um_map_open(test_path("fifo"), NULL, &map) < 0); /* without waiting */
	check(!symlink("loop", test_path("loop")));
	refused_as(test_path("loop"), -ELOOP);
	check(!map);
	/* and none of them is taken for a map to remove */
	check_err(um_map_unlink(test_path("text")), -EMEDIUMTYPE);
	check_err(um_map_unlink(test_path("empty")), -EMEDIUMTYPE);
	check(um_map_unlink(test_path("directory")) < 0);
	check_err(um_map_unlink(test_path("nothing")), -ENOENT);
	check(!access(test_path("text"), F_OK) && !access(test_path("empty"), F_OK));
}

/* A valid map in "map", with something in it. */
static void make_valid(uint32_t map_flags)
{
	struct shape s = { .max = 100, .map_flags = map_flags, .backing = IN_FILE };
	struct um_map *map = make_map(&s);

	check_eq(fill_up(map, 0), 100);
	um_map_close(map);
}

static void a_map_cut_short_is_refused(void)
{
	struct stat st;
	off_t size;
	int step;

	make_valid(0);
	check(!stat(test_path("map"), &st));
	for (step = 0, size = st.st_size - 1; size > 8; step++) {
		check(!truncate(test_path("map"), size));
		refused_as("map", -ENODATA);
		size -= step < 8 ? 1 : size / 7 + 1;
	}
	for (size = 7; size >= 0; size--) {
		check(!truncate(test_path("map"), size));
		refused_as("map", -EMEDIUMTYPE);
	}
}

/* Write a word of the header and put it back afterwards. */
static void refused_with_word(const char *what, size_t offset, const void *word, size_t size,
			      int want)
{
	int fd = open(test_path("map"), O_RDWR);
	char old[64];

	check(fd >= 0 && size <= sizeof(old));
	check_eq(pread(fd, old, size, (off_t)offset), size);
	check_eq(pwrite(fd, word, size, (off_t)offset), size);
	refused_for(what, "map", want);
	check_eq(pwrite(fd, old, size, (off_t)offset), size);
	close(fd);
}

#define refused_with(member, v, want)                                                              \
	do {                                                                                       \
		__typeof__(((struct um_header *)0)->member) v_ = (v);                              \
		refused_with_word(#member, offsetof(struct um_header, member), &v_, sizeof(v_),    \
				  want);                                                           \
	} while (0)

static void maps_of_other_layouts_machines_and_boots_are_refused(void)
{
	unsigned char boot[16] = { 1, 2, 3 };
	struct um_map *map;

	make_valid(0);
	refused_with(magic, UM_MAGIC + 1, -EMEDIUMTYPE);
	refused_with(magic, __builtin_bswap64(UM_MAGIC), -ENOEXEC);
	refused_with(layout, UM_LAYOUT + 1, -EPROTONOSUPPORT);
	refused_with(incompat, 1, -EPROTONOSUPPORT);
	refused_with(params.hash_id, 0x7777, -EPROTONOSUPPORT);
	refused_with(byte_order, __builtin_bswap32(UM_BYTE_ORDER), -ENOEXEC);
	refused_with(machine, 0xf3, -ENOEXEC);
	refused_with(params.page_size, 65536, -ENOEXEC);
	refused_with_word("boot_id", offsetof(struct um_header, boot_id), boot, sizeof(boot),
			  -ESTALE);
	map = open_map("map", 0); /* all put back */
	check_counts(map, 100);
	um_map_close(map);
}

/* Flags that a later version may set: of no concern, of concern to writers. */
static void feature_words_say_who_may_open(void)
{
	uint32_t one = 1;
	int fd;

	make_valid(0);
	fd = open(test_path("map"), O_RDWR);
	check(fd >= 0);
	check_eq(pwrite(fd, &one, 4, offsetof(struct um_header, compat)), 4);
	um_map_close(open_map("map", 0));
	check_eq(pwrite(fd, &one, 4, offsetof(struct um_header, ro_compat)), 4);
	check_err(um_map_open("map", NULL, &(struct um_map *){ NULL }), -EPROTONOSUPPORT);
	um_map_close(open_map("map", BPF_F_RDONLY));
	close(fd);
}

static void contradictory_geometry_is_refused(void)
{
	static const uint64_t wrong[] = { 0, 1, 64, 1u << 30, 0x7fffffff, ~0ull };
	struct um_map *map;
	size_t i;

	make_valid(0);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		uint32_t w = (uint32_t)wrong[i];

		/* sizes of 1 would be laid out as 4 and 8 are */
		refused_with(params.key_size, w == 1 ? 9 : w, -EUCLEAN);
		refused_with(params.value_size, w == 1 ? 9 : w, -EUCLEAN);
		refused_with(params.max_entries, w, -EUCLEAN);
		refused_with(params.spares, w, -EUCLEAN);
		refused_with(params.nr_cpus, w == 1 || w == 64 ? 1023 : w, -EUCLEAN);
		refused_with(geo.nr_buckets, w, -EUCLEAN);
		refused_with(geo.nr_overflow, w, -EUCLEAN);
		refused_with(geo.nr_elems, w, -EUCLEAN);
		refused_with(geo.value_off, w, -EUCLEAN);
		refused_with(geo.stride, w, -EUCLEAN);
		refused_with(geo.buckets, wrong[i], -EUCLEAN);
		refused_with(geo.elems, wrong[i], -EUCLEAN);
		refused_with(geo.records, wrong[i], -EUCLEAN);
		refused_with(geo.size, wrong[i], -EUCLEAN);
	}
	refused_with_word("name", offsetof(struct um_header, name), "0123456789abcdef", 16,
			  -EUCLEAN);
	map = open_map("map", 0);
	check_counts(map, 100);
	um_map_close(map);
}

static void bad_options_are_refused(void)
{
	UM_OPTS(um_open_opts, both, .map_flags = BPF_F_RDONLY | BPF_F_WRONLY);
	UM_OPTS(um_open_opts, unknown, .map_flags = BPF_F_NO_PREALLOC);
	struct {
		struct um_open_opts opts;
		uint64_t more;
	} later = { { .sz = sizeof(later) }, 1 };
	struct um_map *map = NULL;

	make_valid(0);
	check_err(um_map_open("map", &both, &map), -EINVAL);
	check_err(um_map_open("map", &unknown, &map), -EINVAL);
	check_err(um_map_open("map", &later.opts, &map), -E2BIG);
	check_err(um_map_open(NULL, NULL, &map), -EFAULT);
	check_err(um_map_open("map", NULL, NULL), -EFAULT);
	check(!map);
	later.more = 0;
	check_ok(um_map_open("map", &later.opts, &map));
	um_map_close(map);
}

static void each_refusal_has_a_sentence_of_its_own(void)
{
	static const int errors[] = { ENOENT,  EACCES,	   EMEDIUMTYPE, ENODATA, EPROTONOSUPPORT,
				      ENOEXEC, ESTALE,	   EUCLEAN,	EUSERS,	 EINVAL,
				      E2BIG,   EOPNOTSUPP, ETIMEDOUT,	ENOMEM };
	size_t i, j, n = sizeof(errors) / sizeof(*errors);

	for (i = 0; i < n; i++) {
		const char *text = um_strerror(-errors[i], UM_OPEN);

		check(text && strlen(text) > 10);
		check_msg(strcmp(text, strerror(errors[i])), "only what strerror says: %s", text);
		check_msg(text[strlen(text) - 1] != '.' && text[strlen(text) - 1] != '\n',
			  "the sentence has an end: %s", text);
		for (j = 0; j < i; j++)
			check_msg(strcmp(text, um_strerror(-errors[j], UM_OPEN)),
				  "%s and %s are one sentence: %s", errno_text(-errors[i]),
				  errno_text(-errors[j]), text);
	}
	check(um_strerror(-99999, UM_OPEN) && um_strerror(0, UM_OPEN));
}

static int open_descriptors(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A process that meets all this prints nothing, keeps nothing and goes on. */
static void refusals_leave_nothing_behind(void)
{
	struct um_map *other = small_map(100, 0);
	int out = open(test_path("output"), O_RDWR | O_CREAT, 0600), before, i;
	struct stat st;

	check(out >= 0);
	fflush(NULL);
	check(dup2(out, 1) == 1);
	before = open_descriptors();
	for (i = 0; i < 3; i++) {
		what_is_no_map_is_refused();
		check(!system("rm -r $USERMAP_DIR/[a-n]* $USERMAP_DIR/[p-z]*"));
		maps_of_other_layouts_machines_and_boots_are_refused();
		check_ok(um_map_unlink("map"));
		a_map_cut_short_is_refused();
		check(!unlink(test_path("map")));
		check_eq(fill_up(other, 1000 * (uint32_t)i), 100);
		check_counts(other, 100);
		for (uint32_t key = 0; key < 100; key++)
			check_ok(
				um_map_delete_elem(other, &(uint32_t){ 1000 * (uint32_t)i + key }));
	}
	check_eq(open_descriptors(), before);
	fflush(NULL);
	check(!fstat(out, &st));
	check_eq(st.st_size, 0);
	um_map_close(other);
}

static const struct test tests[] = {
	{ "what_is_no_map_is_refused", what_is_no_map_is_refused },
	{ "a_map_cut_short_is_refused", a_map_cut_short_is_refused },
	{ "maps_of_other_layouts_machines_and_boots_are_refused",
	  maps_of_other_layouts_machines_and_boots_are_refused },
	{ "feature_words_say_who_may_open", feature_words_say_who_may_open },
	{ "contradictory_geometry_is_refused", contradictory_geometry_is_refused },
	{ "bad_options_are_refused", bad_options_are_refused },
	{ "each_refusal_has_a_sentence_of_its_own", each_refusal_has_a_sentence_of_its_own },
	{ "refusals_leave_nothing_behind", refusals_leave_nothing_behind },
};

TEST_MAIN(tests)
