/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* player.h - what the files of the script player share. Grammar: README.md. */
#ifndef PLAYER_H
#define PLAYER_H

#include <stddef.h>
#include <stdint.h>
#include "backend.h"

#define FAULT_PTR ((void *)8) /* never mapped: page zero */

/* text.c: growing text, sets of lines, counted outcomes */

struct text {
	char *s;
	size_t len, cap;
};

struct set {
	char **v;
	size_t n, cap;
};

struct runs {
	char name[24][24];
	int cnt[24], n;
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);
void *xcalloc(size_t n);
const char *error_name(long err);
__attribute__((format(printf, 2, 3))) void put(struct text *t, const char *fmt, ...);
void put_hex(struct text *t, const unsigned char *b, size_t n);
void add_line(struct set *s, char *line);
void put_set(struct text *t, struct set *s);
void note_run(struct runs *r, const char *e);
void put_runs(struct text *t, const struct runs *r);

/* words.c: the words of the line being played, and what they stand for */

extern const char *script;
extern int lineno, ncpu, nwords;
extern char *words[];

void split_words(char *line, struct text *echo);
const char *arg(int i);
const char *opt(const char *name, const char *dflt);
uint64_t num(const char *w);
uint64_t flagnum(const char *w);
uint32_t createflags(const char *w);
void bytes(const char *w, unsigned char *out, size_t n);
void range(const char *w, uint64_t *a, uint64_t *b);

/* maps.c: the maps of the script, their keys and values */

struct map {
	char name[32];
	int h;
	uint32_t type, ks, vs; /* vs: size of one value */
	uint32_t stride, buf;  /* one slot and whole buffer on the system call's side */
	int percpu;
};

struct map *find_map(const char *name);
struct map *get_map(const char *name);
struct map *new_map(const char *name, int h, const struct be_create_args *a);
void forget_map(struct map *m);
void skip_map(const char *name);
int is_skipped(const char *name, int forget);

void *key_of(const struct map *m, const char *w);
void *value_of(const struct map *m, const char *w);
void into_value(const struct map *m, const char *w, unsigned char *v);
void key_num(const struct map *m, uint64_t n, unsigned char *k);
void drop(void *p);
void put_value(struct text *t, const struct map *m, const unsigned char *v);
char *pair(const struct map *m, const unsigned char *k, const unsigned char *v);

/* batch.c */

void op_batch(struct text *t, int op);
void op_walk_batch(struct text *t, int op);

#endif
