/* catalog_tfrecord.c - TFRecord files of tf.Example. One pass over a file reads the lengths of the
 * records, their labels and where the image is, and skips the bytes of the image. The checksum of a
 * record is verified when its image is read. Sources: TensorFlow, "TFRecord and tf.train.Example"
 * (framing, masked CRC-32C), example.proto, feature.proto; Protocol Buffers, "Encoding".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/print.h"
#include "catalog/draft.h"
#include "catalog/tf_example.pb-c.h"

/* A record: length u64, its checksum u32, data, checksum u32; little-endian. */
enum { HEADER = 12, FOOTER = 4, SMALL_MAX = 4096, KEY_MAX = 256, VARINT_MAX = 10 };

/* A range of bytes in the shard. */
typedef struct span {
    uint64_t at, end;
} span;

typedef struct scan {
    fgi_draft *b;
    const fgi_shard_file *shard;
    fgi_window window;
    uint64_t record;                             /* byte offset */
    size_t number;                               /* of the record in the shard */
    span image;                                  /* empty: none */
    Fulgurite__Tf__Feature *label, *text, *name; /* NULL: none */
    ProtobufCAllocator memory;
    bool has_no_memory;
    fg_error *err;
} scan;

static bool is_tfrecord(const char *name)
{
    const char *of = strstr(name, "-of-");
    return strstr(name, ".tfrecord") != NULL ||
           (of != NULL && of - name >= 6 && strspn(of - 5, "0123456789") == 5 &&
            strspn(of + 4, "0123456789") == 5);
}

static fg_status fail_record(const scan *s, const char *what)
{
    return fgi_fail(s->err, FG_EFORMAT, "'%s': byte %llu: record %zu: %s", s->shard->path,
                    (unsigned long long)s->record, s->number, what);
}

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const unsigned char *p)
{
    return (uint64_t)get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

/* The bytes of the image; reads the whole record to verify its checksum. */
static fg_status read_record(const fg_catalog *catalog, const fgi_sample *sample,
                             fg_catalog_bytes *bytes, fg_error *err)
{
    const fgi_shard_file *shard = &catalog->shards.list[sample->shard];
    const size_t size = (size_t)sample->size;
    FGI_TRY(fgi_bytes_reserve(bytes, sample->size + FOOTER, sample->name, err));
    FGI_TRY(fgi_shard_read(shard, sample->offset, bytes->data, size + FOOTER, err));
    const uint32_t stored = get_u32(bytes->data + size),
                   found = fgi_crc32c_masked(bytes->data, size);
    if (stored != found)
        return fgi_fail(err, FG_EFORMAT,
                        "'%s': byte %llu: the checksum of the record does not match: 0x%08x, but "
                        "the data has 0x%08x",
                        shard->path, (unsigned long long)sample->offset, (unsigned)stored,
                        (unsigned)found);
    memmove(bytes->data, bytes->data + sample->part_offset, sample->part_size);
    bytes->size = sample->part_size;
    return FG_OK;
}

/* ---- the wire format ------------------------------------------------------------------------- */

static fg_status fail_example(const scan *s) { return fail_record(s, "not a tf.Example"); }

static fg_status get_varint(scan *s, span *in, uint64_t *out)
{
    const unsigned char *bytes;
    const uint64_t left = in->end - in->at;
    const size_t size = left < VARINT_MAX ? (size_t)left : VARINT_MAX;
    *out = 0;
    if (size == 0)
        return fail_example(s);
    FGI_TRY(fgi_window_get(&s->window, in->at, size, &bytes, s->err));
    for (size_t i = 0; i < size; i++) {
        *out |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            in->at += i + 1;
            return FG_OK;
        }
    }
    return fail_example(s);
}

/* Steps over the next field of a message. *out is its content if it has a length; *out_field is 0
 * for fields of other types. */
static fg_status next_field(scan *s, span *in, uint64_t *out_field, span *out)
{
    uint64_t tag, size = 0;
    FGI_TRY(get_varint(s, in, &tag));
    *out_field = 0;
    switch (tag & 7) {
    case 0: return get_varint(s, in, &size);
    case 1: size = 8; break;
    case 2:
        FGI_TRY(get_varint(s, in, &size));
        *out_field = tag >> 3;
        break;
    case 5: size = 4; break;
    default: return fail_example(s);
    }
    if (size > in->end - in->at)
        return fail_example(s);
    *out = (span){in->at, in->at + size};
    in->at += size;
    return FG_OK;
}

/* The only value of a Feature that is a list of bytes: Feature.bytes_list (1), BytesList.value (1).
 */
static fg_status find_bytes(scan *s, span feature, span *out)
{
    span list, value;
    uint64_t field;
    int count = 0;
    while (feature.at < feature.end) {
        FGI_TRY(next_field(s, &feature, &field, &list));
        while (field == 1 && list.at < list.end) {
            uint64_t inner;
            FGI_TRY(next_field(s, &list, &inner, &value));
            if (inner != 1)
                continue;
            *out = value;
            count++;
        }
    }
    return count == 1 ? FG_OK : fail_record(s, "expected one value of bytes as the image");
}

static void free_feature(scan *s, Fulgurite__Tf__Feature **feature)
{
    if (*feature != NULL)
        fulgurite__tf__feature__free_unpacked(*feature, &s->memory);
    *feature = NULL;
}

static fg_status get_small(scan *s, span value, Fulgurite__Tf__Feature **out)
{
    const unsigned char *bytes = (const unsigned char *)"";
    const size_t size = (size_t)(value.end - value.at);
    free_feature(s, out);
    if (value.end - value.at > SMALL_MAX)
        return fail_record(s, "a label or name of more than 4096 bytes");
    if (size > 0)
        FGI_TRY(fgi_window_get(&s->window, value.at, size, &bytes, s->err));
    *out = fulgurite__tf__feature__unpack(&s->memory, size, bytes);
    if (*out != NULL)
        return FG_OK;
    return s->has_no_memory ? fgi_no_memory(s->err) : fail_example(s);
}

/* ---- tf.Example ------------------------------------------------------------------------------ */

static fg_status use_feature(scan *s, fgi_str key, span value)
{
    const fg_catalog_options *o = s->b->options;
    if (fgi_str_equal(key, o->image_feature))
        return find_bytes(s, value, &s->image);
    if (fgi_str_equal(key, o->label_feature))
        return get_small(s, value, &s->label);
    if (fgi_str_equal(key, o->text_feature))
        return get_small(s, value, &s->text);
    if (fgi_str_equal(key, o->name_feature))
        return get_small(s, value, &s->name);
    return FG_OK;
}

/* An entry of the map Features.feature: key (1), value (2). */
static fg_status use_entry(scan *s, span entry)
{
    span part, key = {0}, value = {0};
    uint64_t field;
    char name[KEY_MAX];
    while (entry.at < entry.end) {
        FGI_TRY(next_field(s, &entry, &field, &part));
        if (field == 1)
            key = part;
        else if (field == 2)
            value = part;
    }
    const uint64_t size = key.end - key.at;
    if (size == 0 || size > KEY_MAX) /* not one of ours */
        return FG_OK;
    const unsigned char *bytes;
    FGI_TRY(fgi_window_get(&s->window, key.at, (size_t)size, &bytes, s->err));
    memcpy(name, bytes, (size_t)size); /* the window moves */
    return use_feature(s, (fgi_str){name, (size_t)size}, value);
}

/* Example.features (1), Features.feature (1) */
static fg_status parse_example(scan *s, span example)
{
    span features, entry;
    uint64_t field;
    while (example.at < example.end) {
        FGI_TRY(next_field(s, &example, &field, &features));
        while (field == 1 && features.at < features.end) {
            uint64_t inner;
            FGI_TRY(next_field(s, &features, &inner, &entry));
            if (inner == 1)
                FGI_TRY(use_entry(s, entry));
        }
    }
    return FG_OK;
}

/* Up to a NUL byte: names are C strings. */
static fgi_str bytes_of(const ProtobufCBinaryData *data)
{
    const char *text = (const char *)data->data;
    return (fgi_str){text, data->len > 0 ? strnlen(text, data->len) : 0};
}

/* Integers are indices, whose names are the texts; without integers, the texts are labels. */
static fg_status set_labels(scan *s, fgi_sample *sample)
{
    int32_t ids[64];
    size_t count = 0;
    const Fulgurite__Tf__Int64List *list = s->label != NULL ? s->label->int64_list : NULL;
    const Fulgurite__Tf__BytesList *text = s->text != NULL ? s->text->bytes_list : NULL;
    const bool has_index = list != NULL && list->n_value > 0;
    const size_t values = has_index ? list->n_value : text != NULL ? text->n_value : 0;
    if (values > sizeof(ids) / sizeof(ids[0]))
        return fail_record(s, "more than 64 labels");
    for (size_t i = 0; i < values; i++) {
        char number[32];
        fgi_str label = has_index ? (fgi_str){number, 0} : bytes_of(&text->value[i]);
        if (has_index && list->value[i] == -1) /* how test sets mark that there is none */
            continue;
        if (has_index)
            label.size =
                (size_t)fgi_snprintf(number, sizeof(number), "%lld", (long long)list->value[i]);
        else if (label.size == 0)
            continue;
        const fgi_label_type type = has_index ? FGI_LABEL_INDEX : FGI_LABEL_NAME;
        FGI_TRY(fgi_draft_label(s->b, label, type, &ids[count], s->err));
        if (has_index && text != NULL && text->n_value == values &&
            bytes_of(&text->value[i]).size > 0)
            FGI_TRY(fgi_draft_name_class(s->b, ids[count], bytes_of(&text->value[i]), s->err));
        count++;
    }
    return fgi_draft_set_labels(s->b, sample, ids, count, s->err);
}

/* Verifies a record that is skipped: it may only seem to lack the image. */
static fg_status check_skipped(scan *s, uint64_t size)
{
    fg_catalog_bytes bytes = {0};
    fgi_sample sample = {.shard = (int32_t)(s->shard - s->b->catalog->shards.list),
                         .name = s->shard->name,
                         .offset = s->record + HEADER,
                         .size = size};
    const fg_status status = read_record(s->b->catalog, &sample, &bytes, s->err);
    fg_catalog_bytes_fini(&bytes);
    return status;
}

static fg_status add_record(scan *s, int32_t shard, uint64_t size)
{
    fgi_arena *arena = &s->b->catalog->arena;
    fgi_sample sample = {.shard = shard,
                         .offset = s->record + HEADER,
                         .size = size,
                         .part_offset = (uint32_t)(s->image.at - s->record - HEADER),
                         .part_size = (uint32_t)(s->image.end - s->image.at),
                         .split = s->shard->split};
    sample.name = fgi_arena_printf(arena, "%s:%zu", s->shard->name, s->number);
    if (sample.name == NULL)
        return fgi_no_memory(s->err);
    if (s->image.end == 0) {
        FGI_TRY(check_skipped(s, size));
        const char *reason = fgi_arena_printf(arena, "a record without the feature '%s'",
                                              s->b->options->image_feature);
        return reason != NULL ? fgi_draft_skip(s->b, sample.name, reason, s->err)
                              : fgi_no_memory(s->err);
    }
    const Fulgurite__Tf__BytesList *names = s->name != NULL ? s->name->bytes_list : NULL;
    if (names != NULL && names->n_value == 1 &&
        bytes_of(&names->value[0]).size > 0) /* see choose_names */
        FGI_TRY(fgi_draft_text(s->b, bytes_of(&names->value[0]), &sample.path, s->err));
    FGI_TRY(set_labels(s, &sample));
    return fgi_draft_add(s->b, &sample, s->err);
}

/* ---- records --------------------------------------------------------------------------------- */

static fg_status check_length(scan *s, uint64_t *out_size)
{
    const unsigned char *header;
    const uint64_t left = s->shard->size - s->record;
    if (left < HEADER + FOOTER)
        return fail_record(s, "the file is truncated in the header of the record");
    FGI_TRY(fgi_window_get(&s->window, s->record, HEADER, &header, s->err));
    *out_size = get_u64(header);
    const bool is_right = fgi_crc32c_masked(header, 8) == get_u32(header + 8);
    if (!is_right && s->record == 0) /* a length can look like the start of a gzip file */
        FGI_TRY(fgi_check_compression(&s->window, s->err));
    if (!is_right)
        return fail_record(s, s->record == 0 ? "not a TFRecord file (the checksum of the length "
                                               "does not match)"
                                             : "the checksum of the length does not match");
    if (*out_size > left - HEADER - FOOTER)
        return fail_record(s, "the file is truncated in the record");
    if (*out_size > FGI_SAMPLE_BYTES_MAX)
        return fail_record(s, "more than 2 GiB");
    return FG_OK;
}

static fg_status scan_record(scan *s, int32_t shard)
{
    uint64_t size = 0;
    FGI_TRY(check_length(s, &size));
    s->image = (span){0};
    fg_status status = parse_example(s, (span){s->record + HEADER, s->record + HEADER + size});
    if (status == FG_OK)
        status = add_record(s, shard, size);
    free_feature(s, &s->label);
    free_feature(s, &s->text);
    free_feature(s, &s->name);
    s->record += HEADER + size + FOOTER;
    s->number++;
    return status;
}

static fg_status scan_shard(fgi_draft *b, size_t shard, fg_error *err)
{
    scan *s = fgi_calloc(1, sizeof(*s)); /* the window is large */
    if (s == NULL)
        return fgi_no_memory(err);
    s->b = b;
    s->shard = s->window.shard = &b->catalog->shards.list[shard];
    s->memory = (ProtobufCAllocator){
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &s->has_no_memory};
    s->err = err;
    fg_status status = FG_OK;
    while (status == FG_OK && s->record < s->shard->size)
        status = scan_record(s, (int32_t)shard);
    fgi_free(s);
    return status;
}

/* Samples have the names in the feature (in `path`, until now) if all have one and none is equal to
 * another; else SHARD:NUMBER. */
static fg_status choose_names(fgi_draft *b, fg_error *err)
{
    fg_catalog *c = b->catalog;
    bool is_unique = true;
    for (size_t i = 0; i < c->count && is_unique; i++) {
        const char *name = c->samples[i].path;
        is_unique = name != NULL;
        if (!is_unique)
            break;
        const fgi_hash hash = fgi_hash_text(name);
        is_unique = fgi_map_get(&b->sample_of, hash) == NULL;
        if (!fgi_map_put(&b->sample_of, hash, (void *)name))
            return fgi_no_memory(err);
    }
    for (size_t i = 0; i < c->count; i++) {
        if (is_unique)
            c->samples[i].name = c->samples[i].path;
        c->samples[i].path = NULL;
    }
    return FG_OK;
}

static fg_status open_tfrecord(fgi_draft *b, const char *path, fg_error *err)
{
    fg_catalog *c = b->catalog;
    FGI_TRY(fgi_shards_open(path, is_tfrecord, &c->shards, err));
    for (size_t i = 0; i < c->shards.count; i++)
        FGI_TRY(scan_shard(b, i, err));
    if (c->count == 0 && c->skip_count > 0)
        return fgi_fail(
            err, FG_ENOTFOUND,
            "'%s': no record has the feature '%s' with an image\nset data.source_options to "
            "{image_feature: image, label_feature: label} (fulgurite pack "
            "--source='{image_feature: image, label_feature: label}')",
            path, b->options->image_feature);
    return choose_names(b, err);
}

const fgi_catalog_kind fgi_catalog_tfrecord_row = {
    .name = "tfrecord",
    .help = "TFRecord files of tf.Example with the feature image/encoded",
    .target = "the feature 'image/class/label' (another one: label_feature in data.source_options)",
    .is_file = is_tfrecord,
    .open = open_tfrecord,
    .read = read_record,
};
