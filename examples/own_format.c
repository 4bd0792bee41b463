/* own_format.c - a data format of your own, which a YAML file can name: binary records of equal
 * size, 8x8 gray pixels and a class, a byte each.      usage: own_format CONFIG.yaml
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/recipe.h>
#include <string.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10 };

typedef struct records {
    const char *path;
} records;

/* Gives record `index` of the file's content. The loader calls this from several threads at once.
 */
static fg_status read_record(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const uint8_t *record = (const uint8_t *)self + index * (PIXELS + 1);
    if (record[PIXELS] >= CLASSES)
        return fg_error_set(err, FG_EFORMAT, "record %ld has the class %d: expected 0 to %d",
                            (long)index, record[PIXELS], CLASSES - 1);
    memcpy(out_fields[0], record, PIXELS);
    *(int32_t *)out_fields[1] = record[PIXELS];
    return FG_OK;
}

/* Opens data.path. There is only this file: data.val_fraction holds out some of its records. */
static fg_status load_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    const records *r = own;
    static const fg_dataset_ops ops = {.read = read_record, .destroy = fg_free};
    const fg_field fields[] = {{"image", {.dtype = FG_U8, .rank = 3, .dim = {SIDE, SIDE, 1}}},
                               {"label", {.dtype = FG_S32}}};
    fg_dataset_spec spec = {.fields = fields, .field_count = 2, .class_count = CLASSES};
    void *data;
    size_t size;
    if (request->part != FG_PART_TRAIN)
        return FG_OK;
    if (fg_file_read(r->path, &data, &size, err) != FG_OK)
        return err->status;
    spec.count = (int64_t)size / (PIXELS + 1);
    return fg_dataset_create(&ops, data, &spec, &out->samples, err); /* frees the data */
}

static const fg_option options[] = {
    FG_OPTION(records, path, STRING, NULL, NULL, "digits.bin", "The file."),
};

static const fg_format_entry format = {
    .entry = {.name = "records", .help = "binary records", FG_OPTIONS(options, records)},
    .files = {.train = "path"},
    .load = load_part};

int main(int argc, char **argv)
{
    fg_recipe_options run = {.config = argc > 1 ? argv[1] : "records.yaml", .progress = stdout};
    fg_registry *registry = NULL;
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    bool ok = fg_registry_create(&registry, &err) == FG_OK &&
              fg_registry_add(registry, FG_REGISTRY_FORMAT, &format.entry, &err) == FG_OK;
    run.registry = registry;
    ok = ok && fg_recipe_open(&run, NULL, &recipe, &err) == FG_OK &&
         fg_recipe_run(recipe, &err) == FG_OK;
    fg_recipe_close(recipe);
    fg_registry_destroy(registry);
    return ok ? 0 : fg_error_print(&err, argv[0]);
}
