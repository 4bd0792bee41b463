/* own_format.c - a data format of your own, which a YAML file can name: binary records of equal
 * size, side x side gray pixels and a class, a byte each.      usage: own_format CONFIG.yaml
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* for pread; NOLINT(bugprone-reserved-identifier) */
#include <fcntl.h>
#include <fulgurite/recipe.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLASSES = 10 };

struct records {
    int file;
    off_t pixels;
};

/* Reads record `index`. The loader calls this from several threads at once: pread has no state. */
static fg_status read_record(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const struct records *r = self;
    const off_t start = index * (r->pixels + 1);
    uint8_t class = CLASSES;
    const bool ok = pread(r->file, out_fields[0], (size_t)r->pixels, start) == r->pixels &&
                    pread(r->file, &class, 1, start + r->pixels) == 1 && class < CLASSES;
    *(int32_t *)out_fields[1] = class;
    if (!ok)
        (void)snprintf(err->message, sizeof err->message,
                       "record %ld: expected %ld pixels and a "
                       "class below %d",
                       (long)index, (long)r->pixels, CLASSES);
    return ok ? FG_OK : FG_EFORMAT;
}

static void close_records(void *self)
{
    (void)close(((struct records *)self)->file);
    free(self);
}

/* Opens data.path. There is only this file: data.val_fraction holds out some of its records. */
static fg_status open_part(const fg_option_values *values, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    static const fg_dataset_ops ops = {.read = read_record, .destroy = close_records};
    const int64_t side = fg_option_int(values, "side");
    const fg_field fields[] = {{"image", {.dtype = FG_U8, .rank = 3, .dim = {side, side, 1}}},
                               {"label", {.dtype = FG_S32}}};
    struct stat info;
    if (request->part != FG_PART_TRAIN)
        return FG_OK;
    struct records *r = calloc(1, sizeof *r);
    if (r == NULL)
        return FG_ENOMEM;
    *r = (struct records){open(fg_option_string(values, "path"), O_RDONLY), side * side};
    if (r->file < 0 || fstat(r->file, &info) != 0) {
        close_records(r);
        return fg_option_fail(values, "path", FG_ENOTFOUND, err, "cannot open this file");
    }
    const fg_dataset_spec spec = {.count = info.st_size / (r->pixels + 1),
                                  .fields = fields,
                                  .field_count = 2,
                                  .class_count = CLASSES};
    return fg_dataset_create(&ops, r, &spec, &out->samples, err);
}

static const fg_option options[] = {
    {.name = "path", .kind = FG_OPTION_STRING, .example = "digits.bin", .help = "The file."},
    {.name = "side",
     .kind = FG_OPTION_INT,
     .initial = "28",
     .min = 1,
     .max = 4096,
     .example = "8",
     .help = "Height and width of the images, in pixels."}};

static const fg_format_entry format = {
    .entry = {.name = "records", .help = "binary records", .options = options, .option_count = 2},
    .files = {.train = "path"},
    .fitted = "side",
    .open = open_part};

int main(int argc, char **argv)
{
    fg_registry *registry = NULL;
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    bool ok = fg_registry_create(&registry, &err) == FG_OK &&
              fg_registry_add_format(registry, &format, &err) == FG_OK;
    const fg_recipe_options run = {
        .config = argc > 1 ? argv[1] : "records.yaml", .registry = registry, .progress = stdout};
    ok = ok && fg_recipe_open(&run, &recipe, &err) == FG_OK && fg_recipe_run(recipe, &err) == FG_OK;
    if (!ok)
        (void)fg_error_print(&err, argv[0]);
    fg_recipe_close(recipe);
    fg_registry_destroy(registry);
    return ok ? 0 : 1;
}
