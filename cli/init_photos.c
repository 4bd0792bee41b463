/* init_photos.c - images for `fulgurite init`: inspects those of a catalog or pack, how many each
 * class has and the sizes of a sample of them, and writes their configuration: a model and a size
 * that suit them, where the validation samples are, and a suggestion to pack images that are much
 * larger than training needs, or many files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/image.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "option/option.h"
#include "init.h"
#include "recipe/plan/run_plan.h"

enum { PROBES = 64, MANY_FILES = 2000 };

static const double CENTER_FRACTION = 0.875; /* the default of data.center_fraction */
/* A pack of images with less than half the pixels is worth the time to make it. */
static const double LARGE = 2;

/* ---- counts ---------------------------------------------------------------------------------- */

/* Counts a sample of a split. */
static void count(init_photos *out, int split, const int32_t *labels, size_t label_count)
{
    const bool is_val = split == FG_VAL, is_test = split == FG_TEST;
    const fgi_class_counts *c = &out->counts;
    out->train += !is_val && !is_test;
    out->val += is_val;
    out->test += is_test;
    out->unlabeled_test += is_test && label_count == 0;
    out->many_labels += label_count > 1;
    for (size_t i = 0; i < label_count; i++)
        if (labels[i] >= 0 && labels[i] < c->classes)
            (is_val ? c->val : is_test ? c->test : c->train)[labels[i]]++;
}

static fg_status count_images(const fg_catalog *catalog, init_photos *out, fg_error *err)
{
    fg_catalog_item item;
    FGI_TRY(fgi_class_counts_init(&out->counts, "image", fg_catalog_class_count(catalog), err));
    for (int64_t i = 0; i < out->counts.classes; i++)
        out->counts.names[i] = fg_catalog_class_name(catalog, i);
    for (int64_t i = 0; i < fg_catalog_count(catalog); i++) {
        FGI_TRY(fg_catalog_item_at(catalog, i, &item, err));
        count(out, item.split, item.labels, item.label_count);
    }
    return FG_OK;
}

static fg_status count_records(fg_pack *pack, init_photos *out, fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(pack);
    fg_pack_entry e;
    FGI_TRY(fgi_class_counts_init(&out->counts, "image", info->class_count, err));
    for (int64_t i = 0; i < out->counts.classes; i++)
        out->counts.names[i] = fg_pack_class_name(pack, i);
    for (int64_t i = 0; i < fg_pack_count(pack); i += info->variant_count) {
        FGI_TRY(fg_pack_entry_at(pack, i, &e, err));
        const bool is_list = e.label_count > 0;
        count(out, e.split, is_list ? e.labels : &e.label,
              is_list ? e.label_count : e.label != FG_PACK_NO_LABEL);
    }
    return FG_OK;
}

/* ---- a sample of the images ------------------------------------------------------------------ */

typedef struct probe {
    fg_catalog_bytes bytes;
    int64_t short_side[PROBES];
    int64_t good;
    double total_bytes;
} probe;

/* Notes the first line of the reason. */
static void note_bad(init_photos *out, const char *name, const fg_error *err)
{
    char shown[128];
    if (out->bad++ > 0)
        return;
    (void)fg_catalog_escape(name, shown, sizeof(shown));
    (void)fgi_snprintf(out->bad_reason, sizeof(out->bad_reason), "'%s': %.*s", shown,
                       (int)strcspn(err->message, "\n"), err->message);
}

static void probe_image(const fg_catalog *catalog, int64_t index, probe *p, init_photos *out)
{
    fg_catalog_item item;
    fg_image_info info = {.format = FG_IMAGE_UNKNOWN};
    fg_error err = {0};
    if (fg_catalog_item_at(catalog, index, &item, &err) != FG_OK)
        return;
    out->probed++;
    fg_status status = fg_catalog_read(catalog, index, &p->bytes, &err);
    if (status == FG_OK)
        status = fg_image_probe(item.name, p->bytes.data, p->bytes.size, &info, &err);
    if (status != FG_OK) {
        note_bad(out, item.name, &err);
        return;
    }
    p->short_side[p->good++] = info.width < info.height ? info.width : info.height;
    p->total_bytes += (double)p->bytes.size;
    out->gray += info.channels < 3;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void summarize(probe *p, init_photos *out)
{
    if (p->good == 0)
        return;
    qsort(p->short_side, (size_t)p->good, sizeof(p->short_side[0]), ascending);
    out->short_min = p->short_side[0];
    out->short_median = p->short_side[p->good / 2];
    out->short_max = p->short_side[p->good - 1];
    out->mean_bytes = p->total_bytes / (double)p->good;
}

/* Reads images at equal distances. */
static void probe_images(const fg_catalog *catalog, init_photos *out)
{
    probe p = {.good = 0};
    const int64_t images = fg_catalog_count(catalog);
    const int64_t probes = images < PROBES ? images : PROBES;
    for (int64_t i = 0; i < probes; i++)
        probe_image(catalog, i * images / probes, &p, out);
    fg_catalog_bytes_fini(&p.bytes);
    summarize(&p, out);
}

/* The columns of the index are read, no records. */
static void probe_records(fg_pack *pack, init_photos *out)
{
    probe p = {.good = 0};
    fg_pack_entry e;
    const int64_t records = fg_pack_count(pack);
    const int64_t probes = records < PROBES ? records : PROBES;
    for (int64_t i = 0; i < probes; i++) {
        if (fg_pack_entry_at(pack, i * records / probes, &e, NULL) != FG_OK)
            continue;
        p.short_side[p.good++] = e.width < e.height ? e.width : e.height;
        p.total_bytes += e.size_bytes;
        out->is_dct = out->is_dct || e.codec == FG_PACK_DCT;
        out->is_arrays = out->is_arrays || e.codec == FG_PACK_ARRAYS;
    }
    out->probed = p.good;
    summarize(&p, out);
}

fg_status init_photos_read(const fg_catalog *catalog, init_photos *out, fg_error *err)
{
    *out = (init_photos){.train = 0};
    FGI_TRY(count_images(catalog, out, err));
    probe_images(catalog, out);
    return FG_OK;
}

static fg_status read_pack(fg_pack *pack, init_photos *out, fg_error *err)
{
    *out = (init_photos){.train = 0};
    FGI_TRY(count_records(pack, out, err));
    probe_records(pack, out);
    return FG_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The length of the class in "CLASS.NUMBER.EXTENSION", also with another separator; 0: none. */
static size_t class_size(const char *name)
{
    const char *dot = strrchr(name, '.');
    const bool is_plain = dot != NULL && strpbrk(name, "/,\"\n\r") == NULL;
    size_t size = is_plain ? (size_t)(dot - name) : 0;
    const size_t end = size;
    while (size > 0 && name[size - 1] >= '0' && name[size - 1] <= '9')
        size--;
    return size > 1 && size < end && strchr("._-", name[size - 1]) != NULL ? size - 1 : 0;
}

bool init_photos_are_named(const fg_catalog *catalog, const char **out_name, size_t *out_size)
{
    fg_catalog_item item;
    const char *last = NULL; /* names of one class are adjacent: a folder is sorted */
    const int64_t images = fg_catalog_count(catalog);
    int64_t classes = 0;
    size_t last_size = 0;
    if (strcmp(fg_catalog_kind_of(catalog), "folder") != 0)
        return false;
    for (int64_t i = 0; i < images; i++) {
        const fg_status status = fg_catalog_item_at(catalog, i, &item, NULL);
        const size_t size = status == FG_OK ? class_size(item.name) : 0;
        if (size == 0)
            return false;
        classes += size != last_size || strncmp(item.name, last, size) != 0;
        last = item.name;
        last_size = size;
        *out_size = i == 0 ? size : *out_size;
        *out_name = i == 0 ? item.name : *out_name;
    }
    return classes > 1 && 2 * classes <= images;
}

char *init_name(const char *data, const char *suffix)
{
    const char *name = fgi_path_name(data).data;
    const int stem = (int)strcspn(name, "./");
    return cli_printf("%.*s%s", stem > 0 ? stem : 3, stem > 0 ? name : "run", suffix);
}

static bool is_plain(char c)
{
    return fgi_is_alnum(c) || strchr("_-./,:=+@%", c) != NULL || (unsigned char)c >= 0x80;
}

void init_put_word(fgi_buf *out, const char *word)
{
    const char *at = word;
    while (*at != '\0' && is_plain(*at))
        at++;
    if (*at == '\0' && at > word) {
        fgi_buf_puts(out, word);
        return;
    }
    fgi_buf_putc(out, '\'');
    for (at = word; *at != '\0'; at++)
        if (*at == '\'')
            fgi_buf_puts(out, "'\\''");
        else
            fgi_buf_putc(out, *at);
    fgi_buf_putc(out, '\'');
}

static bool has_controls(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

/* The usual choices for the median of the shorter sides, below `under` pixels. */
typedef struct suit {
    int64_t under;
    int64_t size; /* 0: the median */
    const char *model, *stem, *why;
} suit;

static const suit *suit_of(const init_photos *p)
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

static bool is_gray(const init_photos *p) { return p->gray == p->probed - p->bad; }

/* ---- comments -------------------------------------------------------------------------------- */

/* The classes with the fewest and the most training images. */
static void extremes(const init_photos *p, int64_t *out_least, int64_t *out_most)
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

static void put_findings(fgi_buf *out, const init_files *files, const init_photos *p)
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
        fgi_buf_printf(out, "# detected: %" PRId64 " image%s several labels\n", p->many_labels,
                       p->many_labels == 1 ? " has" : "s have");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void put_model(fgi_buf *out, const init_photos *p)
{
    const suit *s = suit_of(p);
    fgi_buf_printf(out, "\ntask: %s\n\nmodel:\n",
                   p->is_multilabel ? "multilabel" : "classification");
    init_put(out, "name", s->model, s->why);
    if (s->stem != NULL)
        init_put(out, "stem", s->stem, "for small images");
}

static void put_predict(fgi_buf *out, const char *folder)
{
    init_put_text(out, "predict", folder, "detected: images without classes");
}

/* The folder of the test images, if they have no classes: they are to be predicted. */
static void put_unlabeled(fgi_buf *out, const init_files *files)
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
static const char *find_missing(const init_files *files, const char **out_reason)
{
    const char *kind = files->photos != NULL ? fg_catalog_kind_of(files->photos) : "";
    const bool is_list = strcmp(kind, "csv") == 0 || strcmp(kind, "jsonl") == 0;
    return is_list ? fg_catalog_skip(files->photos, 0, out_reason) : NULL;
}

static void put_parts(fgi_buf *out, const init_files *files, const init_photos *p)
{
    const bool has_val = p->val > 0 || files->val != NULL;
    char options[1024];
    const char *reason;
    init_put_text(out, "train", files->path, NULL);
    if (p->val > 0)
        init_put_text(out, "val", files->path, "detected: the images of the split val");
    else
        init_put_text(out, "val", files->val, NULL);
    if (p->test > p->unlabeled_test)
        init_put_text(out, "test", files->path, "detected: the images of the split test");
    else
        init_put_text(out, "test", files->test, NULL);
    if (files->source != NULL)
        init_put(out, "source_options",
                 fgi_option_format_entry(files->source, options, sizeof(options)),
                 "given by --source");
    init_list_put(out, files);
    if (find_missing(files, &reason) != NULL)
        init_put(out, "damaged", "skip", "check it: not all files of the list exist");
    if (files->list.predict != NULL)
        put_predict(out, files->list.predict);
    else if (p->test == p->unlabeled_test && files->photos != NULL &&
             strcmp(fg_catalog_kind_of(files->photos), "folder") == 0)
        put_unlabeled(out, files);
    if (!has_val)
        init_put(out, "val_fraction", "0.2", "hold out a fifth of the images for validation");
}

static int64_t size_of(const init_photos *p)
{
    const suit *s = suit_of(p);
    const int64_t size = s->size > 0 ? s->size : p->short_median;
    return size < 8 ? 8 : size;
}

/* Images that are decoded on the device are cropped there, too. */
static void put_device_crops(fgi_buf *out, const init_photos *p)
{
    char value[96];
    (void)fgi_snprintf(value, sizeof(value),
                       "[random_resized_crop: {height: %" PRId64 ", width: %" PRId64
                       "}, random_flip]",
                       size_of(p), size_of(p));
    init_put(out, "augment", value, "check it: can a small crop still show the class?");
}

/* Images that are cropped or mirrored at random must still show their class. */
static void put_crops(fgi_buf *out, const init_photos *p)
{
    char value[24], why[96];
    const suit *s = suit_of(p);
    const int64_t size = size_of(p);
    (void)fgi_snprintf(value, sizeof(value), "%" PRId64, size);
    (void)fgi_snprintf(why, sizeof(why),
                       "inferred, check it: the images have about %" PRId64 " pixels",
                       p->short_median);
    init_put(out, "size", value, why);
    if (is_gray(p))
        init_put(out, "channels", "1", "detected: all images that were read are gray");
    if (s->size == 0) {
        init_put(out, "crop", "center", "random: random crops, different in each epoch");
        init_put(out, "center_fraction", "1", "the largest square in the center");
    } else
        init_put(out, "crop", "random", "check it: can a small crop still show the class?");
    if (s->size != 0)
        init_put(out, "flip", "0.5", "check it: 0 if a mirrored image may belong to another class");
}

static void put_statistics(fgi_buf *out, const init_photos *p)
{
    const bool gray = is_gray(p);
    init_put(out, "mean", gray ? "[0.449]" : "[0.485, 0.456, 0.406]",
             "ImageNet's values, which suit most photos and published weights");
    init_put(out, "std", gray ? "[0.226]" : "[0.229, 0.224, 0.225]", NULL);
}

static void put_balance(fgi_buf *out, const init_photos *p)
{
    int64_t least, most;
    extremes(p, &least, &most);
    if (!p->is_multilabel && p->counts.train[most] >= 5 * p->counts.train[least])
        fgi_buf_puts(out, "  # sampling: balanced               # suggested: some classes have far "
                          "fewer images than others\n");
}

/* ---- the suggestion of a pack ---------------------------------------------------------------- */

/* The commands that make a pack and inspect it. Of photos/train with photos/val next to it, photos
 * is packed, with its splits. */
static void put_commands(fgi_buf *out, const init_files *files, const fgi_buf *list,
                         int64_t presize)
{
    char *parent = files->val != NULL ? fgi_path_parent(files->val) : NULL;
    const char *source = parent != NULL ? parent : files->path;
    char *pack = init_name(source, ".pack");
    fgi_buf_puts(out, "#   fulgurite pack ");
    init_put_word(out, source);
    fgi_buf_putc(out, ' ');
    init_put_word(out, pack);
    if (list->size > 0) {
        fgi_buf_puts(out, " --source ");
        init_put_word(out, list->data);
    }
    if (presize > 0)
        fgi_buf_printf(out, " --presize short=%" PRId64, presize);
    fgi_buf_puts(out, "\n#   fulgurite init ");
    init_put_word(out, pack);
    fgi_buf_putc(out, '\n');
    free(pack);
    fgi_free(parent);
}

/* A comment with the command that makes a pack of the images, if that is worth it. */
static void put_pack(fgi_buf *out, const init_files *files, const init_photos *p)
{
    const double center_fraction = suit_of(p)->size > 0 ? CENTER_FRACTION : 1;
    const int64_t presize = fgi_presize_short(size_of(p), center_fraction);
    const double fewer = pow((double)p->short_median / (double)presize, 2);
    const int64_t images = p->train + p->val + p->test;
    const char *kind = files->photos != NULL ? fg_catalog_kind_of(files->photos) : "";
    const bool is_files = !fgi_is_one_of(kind, "tar|tfrecord");
    fgi_buf list = {0};
    const bool can_say =
        files->photos != NULL && !has_controls(files->path) && init_list_put_source(&list, files);
    if (can_say && fewer >= LARGE)
        fgi_buf_printf(out,
                       "# suggested: a pack of smaller images, which decode faster; with a shorter "
                       "side of %" PRId64 " pixels they have %.0f %% of the pixels:\n",
                       presize, 100 / fewer);
    else if (can_say && is_files && images >= MANY_FILES)
        fgi_buf_printf(
            out, "# suggested: a pack, because %" PRId64 " files are slow to read and copy:\n",
            images);
    if (can_say && (fewer >= LARGE || (is_files && images >= MANY_FILES)))
        put_commands(out, files, &list, fewer >= LARGE ? presize : 0);
    fgi_buf_fini(&list);
}

/* ---- the configuration ----------------------------------------------------------------------- */

/* Classes with training images. */
static int64_t used_classes(const init_photos *p)
{
    int64_t used = 0;
    for (int64_t i = 0; i < p->counts.classes; i++)
        used += p->counts.train[i] > 0;
    return used;
}

/* Images in one folder whose names may begin with their classes, such as cat.1.jpg: how to list
 * them. */
static fg_status refuse_named(const char *folder, const char *name, size_t size, fg_error *err)
{
    fgi_buf place = {0}, list = {0};
    char *path = cli_printf("%s%slabels.csv", folder, fgi_ends_with(folder, "/") ? "" : "/");
    init_put_word(&place, folder);
    init_put_word(&list, path);
    const fg_status status = fgi_fail(
        err, FG_EINVAL,
        "'%s' contains images without classes\nif their names begin with the class, such as '%.*s' "
        "in '%s', list them in a CSV file, and use it as the data:\n  (cd %s && echo path,label && "
        "ls | sed -nE 's/^(.*)[._-][0-9]+\\.[^.]+$/&,\\1/p') > %s\n  fulgurite init %s",
        folder, (int)size, name, name, place.data, list.data, list.data);
    free(path);
    fgi_buf_fini(&place);
    fgi_buf_fini(&list);
    return status;
}

static fg_status refuse_classes(const init_files *files, const init_photos *p, fg_error *err)
{
    const char *kind = files->photos != NULL ? fg_catalog_kind_of(files->photos) : "";
    const char *name;
    size_t size;
    if (p->counts.classes == 0 && files->photos != NULL &&
        init_photos_are_named(files->photos, &name, &size))
        return refuse_named(files->path, name, size, err);
    return fgi_fail(
        err, FG_EINVAL, "'%s' contains images %s: expected %s", files->path,
        p->counts.classes == 0 ? "without classes" : "of only one class",
        strcmp(kind, "tar") == 0
            ? "the class of each KEY.jpg in KEY.cls or KEY.json, or a folder for each class"
            : "a folder for each class, or a list with a column of image files and a column "
              "of classes");
}

static fg_status check(const init_files *files, const init_photos *p, fg_error *err)
{
    const char *reason, *missing = find_missing(files, &reason);
    if (missing != NULL && used_classes(p) < 2)
        return fgi_fail(err, FG_EINVAL,
                        "'%s': the files that exist are not of two classes; missing: '%s' (%s)",
                        files->path, missing, reason);
    if (p->counts.classes < 2)
        return refuse_classes(files, p, err);
    if (p->is_arrays)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' is a pack of arrays, for which a model cannot be inferred: write a "
                        "configuration with data.format pack",
                        files->path);
    if (p->train == 0)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' has no training images: all are in the splits val and test",
                        files->path);
    if (p->bad == p->probed)
        return fgi_fail(err, FG_EINVAL, "'%s': none of %" PRId64 " image%s can be read: %s",
                        files->path, p->probed, fgi_s(p->probed), p->bad_reason);
    return FG_OK;
}

static fg_status put_photos(fgi_buf *out, const init_files *files, const char *target,
                            fg_error *err)
{
    init_photos photos;
    (void)target;
    if (files->pack != NULL && init_pack_has_tokens(files->pack)) {
        init_put_tokens(out, files);
        return FG_OK;
    }
    fg_status status = files->pack != NULL ? read_pack(files->pack, &photos, err)
                                           : init_photos_read(files->photos, &photos, err);
    photos.is_multilabel = photos.many_labels > 0 || files->list.label_columns != NULL ||
                           files->list.separator != NULL;
    if (photos.is_multilabel)
        photos.counts.unit = "label";
    if (status == FG_OK)
        status = check(files, &photos, err);
    if (status == FG_OK) {
        put_findings(out, files, &photos);
        put_pack(out, files, &photos);
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
    fgi_class_counts_fini(&photos.counts);
    return status;
}

const init_kind init_images = {.format = "images", .put = put_photos};
const init_kind init_pack = {.format = "pack", .put = put_photos};
