/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* usermap_batch.c - `usermap batch file FILE`: one command a line, up to the first that fails. */
#include "usermap_cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line may go on in the next one, behind a backslash at its end. */
struct line {
	char *text;
	size_t size; /* bytes used, without NUL */
};

/* 1: a line was read; 0: the file is over; negative: an error. */
static int read_line(FILE *file, struct line *line)
{
	char *piece = NULL, *text;
	size_t room = 0;
	ssize_t n = -1;
	bool more = true;

	line->size = 0;
	while (more && (n = getline(&piece, &room, file)) > 0) {
		if (piece[n - 1] == '\n')
			n--;
		more = n > 0 && piece[n - 1] == '\\';
		if (more)
			piece[n - 1] = ' ';
		text = realloc(line->text, line->size + (size_t)n + 1);
		if (!text) {
			free(piece);
			return -ENOMEM;
		}
		line->text = text;
		memcpy(line->text + line->size, piece, (size_t)n);
		line->size += (size_t)n;
		line->text[line->size] = '\0';
	}
	free(piece);
	if (ferror(file))
		return -EIO;
	return n >= 0 || line->size > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * Cut the next word off *text, in place. Quotes of a kind hold blanks together, #
 * starts a comment. NULL: no more words, or a quote that does not end (*open).
 */
static char *cut_word(char **text, bool *open)
{
	char *p = *text, *word, *to, quote = '\0';

	while (is_blank(*p))
		p++;
	if (!*p || *p == '#')
		return NULL;
	for (word = to = p; *p; p++) {
		if (quote && *p == quote)
			quote = '\0';
		else if (quote)
			*to++ = *p;
		else if (*p == '\'' || *p == '"')
			quote = *p;
		else if (is_blank(*p) || *p == '#')
			break;
		else
			*to++ = *p;
	}
	if (*p == '#')
		p += strlen(p);
	*text = *p ? p + 1 : p;
	*to = '\0';
	*open = quote;
	return quote ? NULL : word;
}

/* The words of a line; to be freed. NULL: see *err. */
static char **cut_line(char *text, int *nr, int *err)
{
	/* A word is a character and a blank at least. */
	char **words = malloc((strlen(text) / 2 + 1) * sizeof(*words));
	bool open = false;
	char *word;

	*nr = 0;
	*err = words ? 0 : -ENOMEM;
	while (words && (word = cut_word(&text, &open)))
		words[(*nr)++] = word;
	if (open)
		*err = -EINVAL;
	if (*err) {
		free(words);
		words = NULL;
	}
	return words;
}

static json_t *json_words(const struct args *args)
{
	json_t *array = json_array();
	int i;

	for (i = 0; array && i < args->nr; i++)
		json_array_append_new(array, jw_text(args->v[i]));
	return array;
}

static int run_words(struct cli *cli, struct args *args)
{
	int ret;

	if (!cli->json)
		return cli_run(cli, args);
	jw_open(&cli->out, '{');
	jw_key(&cli->out, "command");
	jw_put(&cli->out, json_words(args));
	jw_key(&cli->out, "output");
	ret = cli_run(cli, args);
	jw_close(&cli->out);
	return ret;
}

static int run_line(struct cli *cli, char *text, unsigned long line_nr, unsigned long *nr_commands)
{
	struct args args;
	char **words;
	int ret, err;

	words = cut_line(text, &args.nr, &err);
	if (err == -EINVAL)
		return cli_err(cli, "line %lu: a quote does not end", line_nr);
	if (err)
		return cli_err(cli, "out of memory");
	args.v = words;
	ret = 0;
	if (args.nr > 0) {
		ret = run_words(cli, &args);
		++*nr_commands;
	}
	free(words);
	return ret;
}

static int run_file(struct cli *cli, FILE *file, const char *name)
{
	unsigned long line_nr = 0, nr_commands = 0;
	struct line line = { 0 };
	int ret = 0, got;

	if (cli->json)
		jw_open(&cli->out, '[');
	while (!ret && (got = read_line(file, &line)) > 0)
		ret = run_line(cli, line.text, ++line_nr, &nr_commands);
	if (!ret && got < 0)
		ret = cli_err(cli, "Can't read file (%s): %s", name, strerror(-got));
	if (!ret && !cli->json)
		printf("processed %lu commands\n", nr_commands);
	if (cli->json)
		jw_close(&cli->out);
	free(line.text);
	return ret;
}

int cli_batch(struct cli *cli, struct args *args)
{
	const char *word = cli_next(args), *name = cli_next(args);
	FILE *file;
	int ret;

	if (cli->in_batch)
		return cli_err(cli, "a batch can't run another batch");
	if (!name)
		return cli_err(cli, "too few parameters for batch, write: batch file FILE");
	if (!cli_is(word, "file"))
		return cli_err(cli, "expected 'file', got: %s", word);
	if (args->nr > 0)
		return cli_err(cli, "too many parameters for batch, write: batch file FILE");
	file = strcmp(name, "-") ? fopen(name, "re") : stdin;
	if (!file)
		return cli_err(cli, "Can't open file (%s): %s", name, strerror(errno));
	cli->in_batch = true;
	ret = run_file(cli, file, name);
	cli->in_batch = false;
	if (file != stdin)
		fclose(file);
	return ret;
}
