/* pack_json.c - the summary of a pack as one JSON object.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/catalog.h>
#include <string.h>

#include "base/print.h"
#include "input/json_file.h"
#include "report/helpers.h"
#include "report/pack_summary.h"

/* Sets a member; without memory, *object becomes NULL, which json_pack then refuses. */
static void put(json_t **object, const char *key, json_t *value)
{
    if (*object == NULL) {
        json_decref(value);
    } else if (json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

static void append(json_t **array, json_t *value)
{
    if (*array == NULL) {
        json_decref(value);
    } else if (json_array_append_new(*array, value) != 0) {
        json_decref(*array);
        *array = NULL;
    }
}

static json_t *spread_of(const fgi_pack_spread *s)
{
    if (s->count == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:f}", "min", (json_int_t)s->min, "median",
                     (json_int_t)s->median, "max", (json_int_t)s->max, "mean",
                     (double)s->sum / (double)s->count);
}

static json_t *codecs_of(const fgi_pack_summary *s)
{
    json_t *object = json_object();
    for (int i = 0; i < FGI_PACK_CODECS; i++)
        if (s->codecs[i] > 0)
            put(&object, fg_pack_codec_name((fg_pack_codec)i), json_integer(s->codecs[i]));
    if (s->other_codecs > 0)
        put(&object, "unknown", json_integer(s->other_codecs));
    return object;
}

static json_t *splits_of(const fgi_pack_summary *s)
{
    json_t *object = json_object();
    for (int i = 0; i < FGI_PACK_SPLITS; i++)
        put(&object, fgi_pack_split_names[i], json_integer(s->splits[i]));
    return object;
}

static json_t *files_of(const fgi_pack_summary *s)
{
    json_t *array = json_array();
    for (int i = 0; i < s->info->shard_count; i++)
        append(&array, fgi_json_name(fg_pack_path(s->pack, i)));
    return array;
}

static json_t *fields_of(const fg_pack_info *info)
{
    json_t *array = json_array();
    for (int i = 0; i < info->field_count; i++) {
        char type[96];
        append(&array, json_pack("{s:o, s:s}", "name", fgi_json_name(info->fields[i].name), "type",
                                 fg_type_format(&info->fields[i].type, type, sizeof type)));
    }
    return array;
}

static json_t *classes_of(const fgi_pack_summary *s)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < s->info->class_count; i++)
        append(&array,
               json_pack("{s:o, s:I}", "name", fgi_json_name(fg_pack_class_name(s->pack, i)),
                         "records", (json_int_t)s->classes[i]));
    return array;
}

static json_t *metadata_of(const fg_pack_info *info)
{
    if (info->metadata[0] == '\0')
        return json_null();
    json_t *value = fgi_json_load(info->metadata, strlen(info->metadata), JSON_DECODE_ANY, NULL);
    return value != NULL ? value : fgi_json_name(info->metadata);
}

void fgi_pack_summary_print_json(fgi_buf *out, const fgi_pack_summary *s)
{
    const fg_pack_info *info = s->info;
    char version[32];
    (void)fgi_snprintf(version, sizeof version, "%d.%d", info->version_major, info->version_minor);
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o}",
        "format_version", version, "uuid", info->uuid, "files", files_of(s), "size_bytes",
        (json_int_t)info->size_bytes, "records", (json_int_t)info->count, "variants",
        (json_int_t)info->variant_count, "codecs", codecs_of(s), "width", spread_of(&s->width),
        "height", spread_of(&s->height), "record_bytes", spread_of(&s->bytes), "splits",
        splits_of(s), "unlabeled", (json_int_t)s->unlabeled, "lost", (json_int_t)s->lost, "grouped",
        (json_int_t)s->grouped, "fields", fields_of(info), "classes", classes_of(s), "metadata",
        metadata_of(info));
    if (object != NULL)
        fgi_json_print(out, object, JSON_COMPACT);
    out->failed |= object == NULL;
    fgi_buf_putc(out, '\n');
    json_decref(object);
}
