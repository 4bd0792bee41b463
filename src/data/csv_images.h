/* csv_images.h - columns of a table that name image files near it, as lists of images do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_CSV_IMAGES_H
#define FGI_DATA_CSV_IMAGES_H

#include "input/csv_table.h"

enum { FGI_MOST_IMAGE_PLACES = 64 }; /* those after them are not searched */

/* Where images may be: the folder of a table, and those in it, two levels deep. Zero-initialize
 * it. */
typedef struct fgi_image_places {
    fgi_arena arena;
    const char *base;
    const char **list; /* relative to it: "", then folders of training images, then others */
    size_t count, capacity;
    bool has_images[FGI_MOST_IMAGE_PLACES]; /* by place: in it, not in its folders */
} fgi_image_places;

/* Lists the folders unless they are listed already. There are fewer when out of memory. */
void fgi_image_places_list(fgi_image_places *places, const char *table);
void fgi_image_places_fini(fgi_image_places *places);
/* "base/name" in the arena, or NULL when out of memory. */
const char *fgi_image_place(fgi_image_places *places, const char *name);

/* What the cells of a column name. Strings are in the arena of the places, or static. */
typedef struct fgi_listed_images {
    const char *root;    /* the folder of the files; NULL: that of the table */
    const char *suffix;  /* what the cells lack; "": nothing */
    const char *example; /* one of the files */
} fgi_listed_images;

/* Whether the cells of a column name image files: half of a few that are looked at exist, so that a
 * missing one is reported later. Of numbers, and of words without digits, 3/4 must exist, and most
 * rows must be different: classes may have pictures, too. */
bool fgi_csv_lists_images(const fgi_csv *csv, size_t column, fgi_image_places *places,
                          fgi_listed_images *out);

#endif
