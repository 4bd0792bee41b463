/* photos.c - image folders of golden images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "photos.h"

static fg_error err;

void photos_put(const char *image, const char *folder, const char *name)
{
    (void)mkdir(folder, 0755);
    const char *target = fgt_path(FGT_SOURCE_DIR "/tests/golden/image", image);
    if (symlink(target, fgt_path(folder, name)) != 0)
        fail_msg("cannot make %s/%s", folder, name);
}

const char *photos_make(void)
{
    static const char *const cats[] = {"baseline.jpg", "cmyk.jpg", "gray.jpg", "orient6.jpg",
                                       "progressive.jpg"};
    static const char *const dogs[] = {"plain.gif", "lossy.webp", "rgba.png"};
    static char folder[512];
    (void)snprintf(folder, sizeof(folder), "%s/photos", fgt_temp_folder());
    assert_int_equal(mkdir(folder, 0755), 0);
    for (size_t i = 0; i < sizeof(cats) / sizeof(cats[0]); i++)
        photos_put(cats[i], fgt_path(folder, "cat"), cats[i]);
    for (size_t i = 0; i < sizeof(dogs) / sizeof(dogs[0]); i++)
        photos_put(dogs[i], fgt_path(folder, "dog"), dogs[i]);
    return folder;
}

char *photos_read(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *data = malloc(1 << 22);
    if (file == NULL || data == NULL)
        fail_msg("cannot read %s", path);
    *out_size = fread(data, 1, 1 << 22, file);
    (void)fclose(file);
    return data;
}

void photos_check_same(const char *a, const char *b)
{
    size_t a_size, b_size;
    char *a_data = photos_read(a, &a_size), *b_data = photos_read(b, &b_size);
    if (a_size != b_size || memcmp(a_data, b_data, a_size) != 0)
        fail_msg("%s and %s differ", a, b);
    free(a_data);
    free(b_data);
}

const fg_pack_build_options *photos_reported(const fg_pack_build_options *options,
                                             fg_pack_progress_fn *progress, void *self)
{
    static fg_pack_build_options reported;
    reported = *options;
    reported.progress = progress;
    reported.progress_self = self;
    return &reported;
}

void photos_pack(const char *source, const char *path, const fg_pack_build_options *options)
{
    fgt_ok(fg_pack_build(source, path, options, NULL, &err));
}

int64_t photos_find(fg_pack *pack, const char *name)
{
    fg_pack_entry entry;
    for (int64_t i = 0; i < fg_pack_count(pack); i++) {
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        if (strcmp(entry.name, name) == 0)
            return i;
    }
    fail_msg("the pack has no record '%s'", name);
    return -1;
}
