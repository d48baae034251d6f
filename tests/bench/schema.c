/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* schema.c - what the JSON of usermap-bench must look like. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "schema.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum kind {
	TEXT,	  /* not empty */
	WHOLE,	  /* 0 or more */
	POSITIVE, /* above 0, whole */
	NUMBER,	  /* above 0 */
	OBJECT,
	ARRAY,
};

struct member {
	const char *name;
	enum kind kind;
};

static const struct member document[] = {
	{ "machine", OBJECT },
	{ "rows", ARRAY },
};

static const struct member machine[] = {
	{ "cpu", TEXT },      { "cpus", POSITIVE }, { "kernel", TEXT },
	{ "compiler", TEXT }, { "flags", TEXT },    { "commit", TEXT },
};

static const struct member row[] = {
	{ "bench", TEXT },	 { "case", TEXT },	  { "impl", TEXT },
	{ "metric", TEXT },	 { "threads", POSITIVE }, { "entries", WHOLE },
	{ "size", WHOLE },	 { "key_size", WHOLE },	  { "value_size", WHOLE },
	{ "nr_cpus", POSITIVE }, { "unit", TEXT },	  { "median", NUMBER },
	{ "min", NUMBER },	 { "max", NUMBER },	  { "repeat", POSITIVE },
	{ "ratio", OBJECT },
};

static const struct member ratio[] = {
	{ "to", TEXT },
	{ "median", NUMBER },
	{ "min", NUMBER },
	{ "max", NUMBER },
};

static const char *const units[] = { "ns/op", "us/op", "ops/s", "Mops/s", "bytes", "percent" };

static bool is_kind(const json_t *v, enum kind kind)
{
	switch (kind) {
	case TEXT:
		return json_is_string(v) && *json_string_value(v);
	case WHOLE:
		return json_is_integer(v) && json_integer_value(v) >= 0;
	case POSITIVE:
		return json_is_integer(v) && json_integer_value(v) > 0;
	case NUMBER:
		return json_is_number(v) && json_number_value(v) > 0;
	case OBJECT:
		return json_is_object(v);
	case ARRAY:
		return json_is_array(v);
	}
	return false;
}

/* These members, in this order, and no others. */
static int check_members(const json_t *object, const struct member *members, size_t nr,
			 const char *where, char *fault, size_t size)
{
	const char *name;
	json_t *value;
	size_t i = 0;

	if (!json_is_object(object)) {
		snprintf(fault, size, "%s is no object", where);
		return -1;
	}
	json_object_foreach((json_t *)object, name, value)
	{
		if (i == nr || strcmp(name, members[i].name)) {
			snprintf(fault, size, "%s has '%s' where '%s' belongs", where, name,
				 i == nr ? "nothing" : members[i].name);
			return -1;
		}
		if (!is_kind(value, members[i].kind)) {
			snprintf(fault, size, "%s: '%s' is not what it must be", where, name);
			return -1;
		}
		i++;
	}
	if (i == nr)
		return 0;
	snprintf(fault, size, "%s lacks '%s'", where, members[i].name);
	return -1;
}

/* The median lies between the least and the most. */
static int check_order(const json_t *object, const char *where, char *fault, size_t size)
{
	const double median = json_number_value(json_object_get(object, "median"));
	const double min = json_number_value(json_object_get(object, "min"));
	const double max = json_number_value(json_object_get(object, "max"));

	if (min <= median && median <= max)
		return 0;
	snprintf(fault, size, "%s: the median %g is not between %g and %g", where, median, min,
		 max);
	return -1;
}

static int check_unit(const json_t *object, char *fault, size_t size)
{
	const char *unit = json_string_value(json_object_get(object, "unit"));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(unit, units[i]))
			return 0;
	}
	snprintf(fault, size, "there is no unit '%s'", unit);
	return -1;
}

static int check_row(const json_t *object, char *fault, size_t size)
{
	const json_t *to = json_object_get(object, "ratio");

	if (check_members(object, row, ARRAY_SIZE(row), "a row", fault, size) ||
	    check_members(to, ratio, ARRAY_SIZE(ratio), "a ratio", fault, size) ||
	    check_order(object, "a row", fault, size) || check_order(to, "a ratio", fault, size))
		return -1;
	return check_unit(object, fault, size);
}

int schema_check(const json_t *doc, char *fault, size_t size)
{
	const json_t *rows = json_object_get(doc, "rows");
	json_t *object;
	size_t i;

	if (check_members(doc, document, ARRAY_SIZE(document), "the document", fault, size) ||
	    check_members(json_object_get(doc, "machine"), machine, ARRAY_SIZE(machine),
			  "the machine", fault, size))
		return -1;
	json_array_foreach(rows, i, object)
	{
		if (check_row(object, fault, size))
			return -1;
	}
	return (int)json_array_size(rows);
}
