#include <stdio.h>
#include <usermap/usermap.h>

int main(void)
{
	UM_OPTS(um_map_opts, opts, .path = "words"); /* NULL: for this process alone */
	struct um_map *map;
	char word[16] = "";
	uint64_t n = 0;
	int err = um_map_create(BPF_MAP_TYPE_HASH, "words", 16, 8, 100000, &opts, &map);

	if (err) {
		fprintf(stderr, "cannot create the map: %s\n", um_strerror(err, UM_CREATE));
		return 1;
	}
	for (; scanf("%15s", word) == 1; __builtin_memset(word, 0, sizeof(word)))
		um_map_add_elem(map, word, 0, 1);
	if (um_map_lookup_elem(map, "the\0\0\0\0\0\0\0\0\0\0\0\0", &n) == 0)
		printf("\"the\" came %lu times\n", n);
	um_map_close(map);
	return 0;
}
