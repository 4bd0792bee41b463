/* csv_images.c - see csv_images.h. Folders of training images come before others: files with the
 * same names may be in those of the test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/csv_images.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/map.h"
#include "base/print.h"
#include "catalog/draft.h"

enum { MOST_ENTRIES = 100000, PROBES = 8, CELL_BYTES = 512, PATH_BYTES = 4096 };

/* ---- folders --------------------------------------------------------------------------------- */

static const char *join(fgi_arena *arena, const char *folder, const char *name)
{
    const bool is_here = strcmp(folder, ".") == 0 && *name != '\0';
    const size_t size = is_here ? 0 : strlen(folder);
    const bool is_plain = size == 0 || *name == '\0' || folder[size - 1] == '/';
    return fgi_arena_printf(arena, "%.*s%s%s", (int)size, folder, is_plain ? "" : "/", name);
}

const char *fgi_image_place(fgi_image_places *places, const char *name)
{
    return join(&places->arena, places->base, name);
}

static int rank_of(const char *place)
{
    const int rank = fgi_contains_nocase(place, "train")  ? 1
                     : fgi_contains_nocase(place, "test") ? 3
                                                          : 2;
    return *place == '\0' ? 0 : 2 * rank + (strchr(place, '/') != NULL);
}

static int by_rank(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const int difference = rank_of(x) - rank_of(y);
    return difference != 0 ? difference : strcmp(x, y);
}

static void sort(fgi_image_places *p)
{
    if (p->count > 1)
        qsort((void *)p->list, p->count, sizeof(*p->list), by_rank);
    p->count = p->count < FGI_MOST_IMAGE_PLACES ? p->count : FGI_MOST_IMAGE_PLACES;
}

static void add(fgi_image_places *p, const char *place)
{
    const char **list = fgi_grow((void *)p->list, p->count, &p->capacity, sizeof(*list));
    if (list == NULL || place == NULL)
        return;
    p->list = list;
    p->list[p->count++] = place;
}

static bool is_folder(const char *folder, const struct dirent *e)
{
    char path[PATH_BYTES];
    if (e->d_name[0] == '.' || fgi_is_system_folder(e->d_name))
        return false;
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return e->d_type == DT_DIR;
    return fgi_snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < PATH_BYTES &&
           fgi_is_folder(path);
}

/* Adds the folders in a place. */
static void add_folders(fgi_image_places *p, const char *place)
{
    const char *folder = fgi_image_place(p, place);
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *e;
    if (entries == NULL)
        return;
    for (int i = 0; i < MOST_ENTRIES && (e = readdir(entries)) != NULL; i++) /* not shared */
        if (is_folder(folder, e))
            add(p, join(&p->arena, place, e->d_name));
    (void)closedir(entries);
}

static bool has_images(const char *folder)
{
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *e;
    bool is_found = false;
    if (entries == NULL)
        return false;
    for (int i = 0; !is_found && i < MOST_ENTRIES && (e = readdir(entries)) != NULL; i++)
        is_found = fgi_is_image_name(fgi_str_of(e->d_name));
    (void)closedir(entries);
    return is_found;
}

void fgi_image_places_list(fgi_image_places *places, const char *table)
{
    if (places->base != NULL)
        return;
    char *base = fgi_path_parent(table);
    places->base = base != NULL ? fgi_arena_strdup(&places->arena, base) : NULL;
    fgi_free(base);
    if (places->base == NULL)
        return;
    add_folders(places, "");
    sort(places);
    for (size_t i = 0, end = places->count; i < end; i++)
        add_folders(places, places->list[i]);
    add(places, "");
    sort(places);
    for (size_t i = 0; i < places->count; i++)
        places->has_images[i] = has_images(fgi_image_place(places, places->list[i]));
}

void fgi_image_places_fini(fgi_image_places *places)
{
    fgi_free((void *)places->list);
    fgi_arena_fini(&places->arena);
    *places = (fgi_image_places){0};
}

/* ---- cells ----------------------------------------------------------------------------------- */

typedef struct probes {
    char cells[PROBES][CELL_BYTES]; /* "" for one that cannot be a name */
    size_t count, found;            /* found: that name a file */
    bool has_folder;                /* one of them is in a folder */
} probes;

/* Cells of rows at equal distances. */
static void read_probes(const fgi_csv *csv, size_t column, fgi_csv_row *row, probes *out)
{
    *out = (probes){.count = csv->row_count < PROBES ? csv->row_count : PROBES};
    for (size_t i = 0; i < out->count; i++) {
        fgi_csv_read(csv, i * csv->row_count / out->count, row);
        const fgi_str cell = row->cells[column];
        const bool is_name = cell.size < CELL_BYTES && memchr(cell.data, '\0', cell.size) == NULL;
        memcpy(out->cells[i], cell.data, is_name ? cell.size : 0);
        out->cells[i][is_name ? cell.size : 0] = '\0';
        out->has_folder |= strchr(out->cells[i], '/') != NULL;
    }
}

/* The image file that a cell names: with the suffix, unless it ends in it. */
static bool find_file(const char *folder, const char *cell, const char *suffix,
                      char path[PATH_BYTES])
{
    const char *end = fgi_ends_with(cell, suffix) ? "" : suffix;
    const int size = *cell == '/' ? fgi_snprintf(path, PATH_BYTES, "%s%s", cell, end)
                                  : fgi_snprintf(path, PATH_BYTES, "%s/%s%s", folder, cell, end);
    return *cell != '\0' && size < PATH_BYTES && fgi_is_image_name(fgi_str_of(path)) &&
           fgi_is_file(path);
}

/* The number of cells that name a file; gives up once it cannot be most of them. */
static size_t count_files(const probes *p, const char *folder, const char *suffix,
                          char path[PATH_BYTES])
{
    char other[PATH_BYTES];
    size_t found = 0;
    for (size_t i = 0; i < p->count && 2 * (i - found) <= p->count; i++)
        found += find_file(folder, p->cells[i], suffix, found == 0 ? path : other);
    return 2 * found >= p->count ? found : 0;
}

/* The suffix with the most files in the folder. */
static bool find_suffix(probes *p, const char *folder, fgi_image_places *places,
                        fgi_listed_images *out)
{
    static const char *const suffixes[] = {"",      ".jpg", ".jpeg", ".png", ".JPG",
                                           ".JPEG", ".PNG", ".webp", ".tif", ".tiff",
                                           ".bmp",  ".gif", ".ppm",  ".pgm"};
    char path[PATH_BYTES];
    p->found = 0;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && p->found < p->count; i++) {
        const size_t found = count_files(p, folder, suffixes[i], path);
        if (found <= p->found)
            continue;
        p->found = found;
        out->suffix = suffixes[i];
        out->example = fgi_arena_strdup(&places->arena, path);
    }
    return p->found > 0 && out->example != NULL;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* An extension, digits in a word, or zeros in front of a number: values of features have no such
 * form, unless there are files by coincidence. */
static bool has_form_of_name(const char *cell)
{
    size_t digits = 0;
    for (const char *c = cell; *c != '\0'; c++)
        digits += is_digit(*c);
    const bool is_number = digits == strlen(cell);
    return fgi_is_image_name(fgi_str_of(cell)) ||
           (digits > 0 && (!is_number || (cell[0] == '0' && digits > 1)));
}

/* Whether more than half of the cells are different. */
static bool are_different(const fgi_csv *csv, size_t column, fgi_csv_row *row)
{
    static char there;
    fgi_map seen = {0};
    bool is_good = true;
    for (size_t i = 0; is_good && i < csv->row_count; i++) {
        fgi_csv_read(csv, i, row);
        is_good = fgi_map_put(
            &seen, fgi_hash_bytes(row->cells[column].data, row->cells[column].size), &there);
    }
    is_good = is_good && 2 * seen.count > csv->row_count;
    fgi_map_fini(&seen);
    return is_good;
}

/* Numbers are not names because one of them happens to be that of a file. */
static bool are_names(const fgi_csv *csv, size_t column, const probes *p, fgi_csv_row *row)
{
    for (size_t i = 0; i < p->count; i++)
        if (has_form_of_name(p->cells[i]))
            return true;
    return 4 * p->found >= 3 * p->count && are_different(csv, column, row);
}

bool fgi_csv_lists_images(const fgi_csv *csv, size_t column, fgi_image_places *places,
                          fgi_listed_images *out)
{
    fgi_csv_row row;
    probes p;
    bool is_found = false;
    if (fgi_csv_row_init(csv, &row, NULL) != FG_OK)
        return false;
    *out = (fgi_listed_images){.suffix = ""};
    read_probes(csv, column, &row, &p);
    for (size_t i = 0; i < places->count && !is_found; i++) {
        if (!places->has_images[i] && !p.has_folder)
            continue;
        const char *folder = fgi_image_place(places, places->list[i]);
        is_found = folder != NULL && find_suffix(&p, folder, places, out);
        out->root = is_found && *places->list[i] != '\0' ? folder : NULL;
    }
    is_found = is_found && are_names(csv, column, &p, &row);
    fgi_csv_row_fini(&row);
    return is_found;
}
