/* init_put_photos.c - writes the configuration of `fulgurite init` for image files: a model and a
 * size that suit the images, and where the validation samples are.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "init_put.h"

static const double CENTER_FRACTION = 0.875; /* the default of data.center_fraction */

/* The usual choices for the median of the shorter sides, below `under` pixels. */
typedef struct suit {
    int64_t under;
    int64_t size; /* 0: the median */
    const char *model, *stem, *why;
} suit;

static const suit *suit_of(const fgi_look_photos *p)
{
    static const suit suits[] = {
        {48, 0, "lenet", NULL, "small and fast; resnet18 with `stem: small` is more accurate"},
        {96, 64, "resnet18", "small", "resnet34 and resnet50 are larger and slower"},
        {192, 128, "resnet18", NULL, "resnet34 and resnet50 are larger and slower"},
        {INT64_MAX, 224, "resnet18", NULL, "resnet34 and resnet50 are larger and slower"},
    };
    size_t i = 0;
    while (p->short_median >= suits[i].under)
        i++;
    return &suits[i];
}

static bool is_gray(const fgi_look_photos *p) { return p->gray == p->probed - p->bad; }

/* ---- comments -------------------------------------------------------------------------------- */

/* The classes with the fewest and the most training images. */
static void extremes(const fgi_look_photos *p, int64_t *out_least, int64_t *out_most)
{
    const int64_t *counts = p->counts.train;
    *out_least = *out_most = 0;
    for (int64_t i = 1; i < p->counts.classes; i++) {
        *out_least = counts[i] < counts[*out_least] ? i : *out_least;
        *out_most = counts[i] > counts[*out_most] ? i : *out_most;
    }
}

static void put_line(void *self, fg_log_level level, const char *line)
{
    fgi_buf_printf(self, "# %s%s\n", level == FG_LOG_WARNING ? "check it: " : "", line);
}

static void put_findings(fgi_buf *out, const fgi_look_files *files, const fgi_look_photos *p)
{
    fgi_buf_puts(out, "# detected: ");
    fgi_class_counts_put(out, &p->counts);
    fgi_buf_putc(out, '\n');
    if (p->val > 0 || p->test > 0)
        fgi_buf_printf(out,
                       "# detected: %" PRId64 " validation image%s and %" PRId64 " test image%s\n",
                       p->val, fgi_s(p->val), p->test, fgi_s(p->test));
    fgi_buf_printf(out,
                   "# %" PRId64 " image%s read: the shorter side has %" PRId64 " to %" PRId64
                   " pixels, the median is %" PRId64 "; a file has %s on average\n",
                   p->probed, p->probed == 1 ? " was" : "s were", p->short_min, p->short_max,
                   p->short_median, fgi_bytes_words(p->mean_bytes));
    if (files->photos != NULL && fg_catalog_describe(files->photos, put_line, out, NULL) != FG_OK)
        out->failed = true;
    fgi_class_counts_warn(&p->counts, put_line, out);
    if (p->bad > 0)
        fgi_buf_printf(out, "# check it: %" PRId64 " of these images cannot be read: %s\n", p->bad,
                       p->bad_reason);
    if (p->many_labels > 0)
        fgi_buf_printf(
            out, "# check it: %" PRId64 " image%s several labels; only the first one is used\n",
            p->many_labels, p->many_labels == 1 ? " has" : "s have");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void put_model(fgi_buf *out, const fgi_look_photos *p)
{
    const suit *s = suit_of(p);
    fgi_buf_puts(out, "\ntask: classification\n\nmodel:\n");
    fgi_put(out, "name", s->model, s->why);
    if (s->stem != NULL)
        fgi_put(out, "stem", s->stem, "for small images");
}

static void put_predict(fgi_buf *out, const char *folder)
{
    fgi_put_string(out, "predict", folder, "detected: images without classes");
}

/* The folder of the test images, if they have no classes: they are to be predicted. */
static void put_unlabeled(fgi_buf *out, const fgi_look_files *files)
{
    fg_catalog_item item;
    fg_error unused;
    for (int64_t i = 0; i < fg_catalog_count(files->photos); i++) {
        if (fg_catalog_item_at(files->photos, i, &item, &unused) != FG_OK ||
            item.split != FG_TEST || strrchr(item.name, '/') == NULL)
            continue;
        char *file = fgi_path_join(files->path, item.name);
        char *folder = file != NULL ? fgi_path_parent(file) : NULL;
        out->failed = out->failed || folder == NULL;
        if (folder != NULL)
            put_predict(out, folder);
        fgi_free(folder);
        fgi_free(file);
        return;
    }
}

/* The first file of a list that does not exist; NULL: there is none. */
static const char *find_missing(const fgi_look_files *files, const char **out_reason)
{
    const char *kind = files->photos != NULL ? fg_catalog_kind_of(files->photos) : "";
    const bool is_list = strcmp(kind, "csv") == 0 || strcmp(kind, "jsonl") == 0;
    return is_list ? fg_catalog_skip(files->photos, 0, out_reason) : NULL;
}

static void put_parts(fgi_buf *out, const fgi_look_files *files, const fgi_look_photos *p)
{
    const bool has_val = p->val > 0 || files->val != NULL;
    const char *reason;
    fgi_put_file(out, "train", files->path);
    if (p->val > 0)
        fgi_put_string(out, "val", files->path, "detected: the images of the split val");
    else
        fgi_put_file(out, "val", files->val);
    if (p->test > p->unlabeled_test)
        fgi_put_string(out, "test", files->path, "detected: the images of the split test");
    else
        fgi_put_file(out, "test", files->test);
    if (files->source != NULL)
        fgi_put_string(out, "source_options", files->source, "given by --source");
    fgi_put_list(out, files);
    if (find_missing(files, &reason) != NULL)
        fgi_put(out, "damaged", "skip", "check it: not all files of the list exist");
    if (files->list.predict != NULL)
        put_predict(out, files->list.predict);
    else if (p->test == p->unlabeled_test && files->photos != NULL &&
             strcmp(fg_catalog_kind_of(files->photos), "folder") == 0)
        put_unlabeled(out, files);
    if (!has_val)
        fgi_put(out, "val_fraction", "0.2", "hold out a fifth of the images for validation");
}

static int64_t size_of(const fgi_look_photos *p)
{
    const suit *s = suit_of(p);
    const int64_t size = s->size > 0 ? s->size : p->short_median;
    return size < 8 ? 8 : size;
}

/* Images that are decoded on the device are cropped there, too. */
static void put_device_crops(fgi_buf *out, const fgi_look_photos *p)
{
    char value[96];
    (void)fgi_snprintf(value, sizeof(value),
                       "[random_resized_crop(height=%" PRId64 ", width=%" PRId64 "), random_flip]",
                       size_of(p), size_of(p));
    fgi_put(out, "augment", value, "check it: can a small crop still show the class?");
}

/* Images that are cropped or mirrored at random must still show their class. */
static void put_crops(fgi_buf *out, const fgi_look_photos *p)
{
    char value[24], why[96];
    const suit *s = suit_of(p);
    const int64_t size = size_of(p);
    (void)fgi_snprintf(value, sizeof(value), "%" PRId64, size);
    (void)fgi_snprintf(why, sizeof(why),
                       "inferred, check it: the images have about %" PRId64 " pixels",
                       p->short_median);
    fgi_put(out, "size", value, why);
    if (is_gray(p))
        fgi_put(out, "channels", "1", "detected: all images that were read are gray");
    if (s->size == 0) {
        fgi_put(out, "crop", "center", "random: random crops, different in each epoch");
        fgi_put(out, "center_fraction", "1", "the largest square in the center");
    } else
        fgi_put(out, "crop", "random", "check it: can a small crop still show the class?");
    if (s->size != 0)
        fgi_put(out, "flip", "0.5", "check it: 0 if a mirrored image may belong to another class");
}

static void put_statistics(fgi_buf *out, const fgi_look_photos *p)
{
    const bool gray = is_gray(p);
    fgi_put(out, "mean", gray ? "[0.449]" : "[0.485, 0.456, 0.406]",
            "ImageNet's values, which suit most photos and published weights");
    fgi_put(out, "std", gray ? "[0.226]" : "[0.229, 0.224, 0.225]", NULL);
}

static void put_balance(fgi_buf *out, const fgi_look_photos *p)
{
    int64_t least, most;
    extremes(p, &least, &most);
    if (p->counts.train[most] >= 5 * p->counts.train[least])
        fgi_buf_puts(out, "  # sampling: balanced               # suggested: some classes have far "
                          "fewer images than others\n");
}

/* ---- the configuration ----------------------------------------------------------------------- */

/* Classes with training images. */
static int64_t used_classes(const fgi_look_photos *p)
{
    int64_t used = 0;
    for (int64_t i = 0; i < p->counts.classes; i++)
        used += p->counts.train[i] > 0;
    return used;
}

/* Images in one folder whose names may begin with their classes, such as cat.1.jpg: how to list
 * them. */
static bool refuse_named(const char *folder, const char *name, size_t size, fg_error *err)
{
    const bool has_slash = folder[strlen(folder) - 1] == '/';
    const char *slash = has_slash ? "" : "/";
    const char *quote = strpbrk(folder, " $&();<>|\"") != NULL ? "'" : "";
    return cli_refuse(err,
                      "'%s' contains images without classes\nif their names begin with the class, "
                      "such as '%.*s' in '%s', list them in a CSV file, and use it as the data:\n  "
                      "(cd %s%s%s && echo path,label && ls | sed -nE "
                      "'s/^(.*)[._-][0-9]+\\.[^.]+$/&,\\1/p') > %s%s%slabels.csv%s\n  "
                      "fulgurite init %s%s%slabels.csv%s",
                      folder, (int)size, name, name, quote, folder, quote, quote, folder, slash,
                      quote, quote, folder, slash, quote);
}

static bool check(const fgi_look_files *files, const fgi_look_photos *p, fg_error *err)
{
    const bool is_tar =
        files->photos != NULL && strcmp(fg_catalog_kind_of(files->photos), "tar") == 0;
    const char *reason, *missing = find_missing(files, &reason);
    const char *name;
    size_t size;
    if (missing != NULL && used_classes(p) < 2)
        return cli_refuse(err,
                          "'%s': the files that exist are not of two classes; missing: '%s' (%s)",
                          files->path, missing, reason);
    if (p->counts.classes == 0 && files->photos != NULL &&
        fgi_look_photos_are_named(files->photos, &name, &size))
        return refuse_named(files->path, name, size, err);
    if (p->counts.classes < 2)
        return cli_refuse(
            err, "'%s' contains images %s: expected %s", files->path,
            p->counts.classes == 0 ? "without classes" : "of only one class",
            is_tar ? "the class of each KEY.jpg in KEY.cls or KEY.json, or a folder for each class"
                   : "a folder for each class, or a list with a column of image files and a column "
                     "of classes");
    if (p->is_arrays)
        return cli_refuse(err,
                          "'%s' is a pack of arrays, for which a model cannot be inferred: write a "
                          "configuration with data.format pack",
                          files->path);
    if (p->train == 0)
        return cli_refuse(err, "'%s' has no training images: all are in the splits val and test",
                          files->path);
    if (p->bad == p->probed)
        return cli_refuse(err, "'%s': none of %" PRId64 " image%s can be read: %s", files->path,
                          p->probed, fgi_s(p->probed), p->bad_reason);
    return true;
}

static bool put_photos(fgi_buf *out, const fgi_look_files *files, const char *target, fg_error *err)
{
    fgi_look_photos photos;
    const bool is_read = files->pack != NULL ? fgi_look_pack_read(files->pack, &photos, err)
                                             : fgi_look_photos_read(files->photos, &photos, err);
    if (!is_read)
        return false;
    const bool is_good = check(files, &photos, err);
    if (is_good) {
        put_findings(out, files, &photos);
        fgi_put_pack(out, files, &photos, size_of(&photos),
                     suit_of(&photos)->size > 0 ? CENTER_FRACTION : 1);
        put_model(out, &photos);
        fgi_buf_printf(out, "\ndata:\n  format: %s\n", files->kind->format);
        put_parts(out, files, &photos);
        if (photos.is_dct)
            put_device_crops(out, &photos);
        else
            put_crops(out, &photos);
        put_statistics(out, &photos);
        put_balance(out, &photos);
    }
    fgi_look_photos_free(&photos);
    return is_good;
}

const fgi_look_kind fgi_look_images = {.format = "images", .put = put_photos};
const fgi_look_kind fgi_look_pack = {.format = "pack", .put = put_photos};
