/* map.c - linear probing in a table that is never more than two thirds full. The low word of the
 * key determines the slot: keys are hashes and thus well mixed. Values are borrowed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <string.h>
#include "base/alloc.h"

enum { FIRST_CAPACITY = 16 };

void fgi_map_fini(fgi_map *map)
{
    fgi_free(map->slots);
    *map = (fgi_map){0};
}

void fgi_map_clear(fgi_map *map)
{
    if (map->slots != NULL)
        memset(map->slots, 0, map->capacity * sizeof(map->slots[0]));
    map->count = 0;
}

/* Returns the slot that contains the key, or the empty slot where it belongs. There is always an
 * empty slot. */
static fgi_map_slot *find(const fgi_map *map, fgi_hash key)
{
    const size_t mask = map->capacity - 1;
    size_t at = (size_t)key.lo & mask;
    while (map->slots[at].value != NULL && !fgi_hash_equal(map->slots[at].key, key))
        at = (at + 1) & mask;
    return &map->slots[at];
}

void *fgi_map_get(const fgi_map *map, fgi_hash key)
{
    return map->count == 0 ? NULL : find(map, key)->value;
}

static bool grow(fgi_map *map)
{
    fgi_map larger = {.count = map->count};
    larger.capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2;
    larger.slots = fgi_calloc(larger.capacity, sizeof(larger.slots[0]));
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value != NULL)
            *find(&larger, map->slots[i].key) = map->slots[i];
    fgi_free(map->slots);
    *map = larger;
    return true;
}

bool fgi_map_put(fgi_map *map, fgi_hash key, void *value)
{
    if ((map->count + 1) > map->capacity / 3 * 2 && !grow(map))
        return false;
    fgi_map_slot *slot = find(map, key);
    if (slot->value == NULL)
        map->count++;
    *slot = (fgi_map_slot){.key = key, .value = value};
    return true;
}
