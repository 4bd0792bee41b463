/* draft.c - fills a catalog: samples, labels, groups and skipped files. Labels are kept as
 * the source writes them until all are known, because only then it is clear whether they are class
 * indices or names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/draft.h"

#include <fulgurite/data.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"

/* ---- names ----------------------------------------------------------------------------------- */

fg_status fgi_check_class_names(const char *what, const char *const *names, int64_t count,
                                fg_error *err)
{
    if (count < 0 || count > FGI_CLASSES_MAX || (names != NULL) != (count > 0))
        return fgi_fail(err, FG_EINVAL, "%s: class_names and class_count disagree", what);
    for (int64_t i = 0; i < count; i++)
        if (names[i] == NULL)
            return fgi_fail(err, FG_EINVAL, "%s: class_names[%" PRId64 "] is NULL", what, i);
    return FG_OK;
}

const char *fgi_shown(const char *name, char shown[FGI_SHOWN_BYTES])
{
    (void)fgi_text_escape(fgi_str_of(name), shown, FGI_SHOWN_BYTES);
    return shown;
}

const char *fgi_shown_names(const char *const *names, size_t count, char *shown, size_t size)
{
    enum { REST = sizeof(" and 1234567890 more") };
    size_t used = 0;
    shown[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        char name[FGI_SHOWN_BYTES];
        const char *between = i == 0 ? "" : i == count - 1 ? " and " : ", ";
        const size_t more = strlen(fgi_shown(names[i], name)) + strlen(between) + 2;
        if (i > 0 && used + more + REST > size) {
            (void)fgi_snprintf(shown + used, size - used, " and %zu more", count - i);
            break;
        }
        (void)fgi_snprintf(shown + used, size - used, "%s'%s'", between, name);
        used = strlen(shown);
    }
    return shown;
}

static bool equals_nocase(fgi_str text, const char *word)
{
    return text.size == strlen(word) && fgi_begins_nocase(text.data, word);
}

uint8_t fgi_split_of_name(fgi_str name)
{
    static const struct {
        const char *name;
        uint8_t split;
    } names[] = {
        {"train", FG_TRAIN},    {"training", FG_TRAIN}, {"val", FG_VAL},      {"valid", FG_VAL},
        {"validation", FG_VAL}, {"test", FG_TEST},      {"testing", FG_TEST},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (equals_nocase(name, names[i].name))
            return names[i].split;
    return FG_CATALOG_NO_SPLIT;
}

uint8_t fgi_split_in_name(const char *name)
{
    uint8_t split = FG_CATALOG_NO_SPLIT;
    for (const char *at = name; *at != '\0' && split == FG_CATALOG_NO_SPLIT;) {
        const size_t size = strcspn(at, "_-. ");
        split = fgi_split_of_name((fgi_str){at, size});
        at += size + (at[size] != '\0');
    }
    return split;
}

/* The word of the list that the extension of a file is, NULL: none. */
static const char *find_extension(fgi_str name, const char *const *list, size_t count)
{
    size_t dot = name.size;
    while (dot > 0 && name.data[dot - 1] != '.')
        dot--;
    if (dot < 2) /* no dot, or a hidden file */
        return NULL;
    const fgi_str extension = {name.data + dot, name.size - dot};
    for (size_t i = 0; i < count; i++)
        if (equals_nocase(extension, list[i]))
            return list[i];
    return NULL;
}

bool fgi_is_image_name(fgi_str name)
{
    static const char *const list[] = {"jpg", "jpeg", "jfif", "png",  "ppm", "bmp",
                                       "pgm", "tif",  "tiff", "webp", "gif"};
    return find_extension(name, list, sizeof(list) / sizeof(list[0])) != NULL;
}

const char *fgi_foreign_image(const char *name)
{
    static const char *const list[] = {"heic", "heif", "avif", "jxl", "jp2", "j2k", "dng", "cr2",
                                       "cr3",  "nef",  "arw",  "orf", "rw2", "raf", "psd", "tga",
                                       "ico",  "svg",  "exr",  "hdr", "dcm", "pcx", "xcf"};
    return find_extension(fgi_str_of(name), list, sizeof(list) / sizeof(list[0]));
}

bool fgi_is_given_class(const fg_catalog_options *options, fgi_str name)
{
    for (int64_t i = 0; i < options->class_count; i++)
        if (fgi_str_equal(name, options->class_names[i]))
            return true;
    return false;
}

bool fgi_is_system_folder(const char *name)
{
    return fgi_is_one_of(name,
                         "__MACOSX|@eaDir|#recycle|@Recycle|$RECYCLE.BIN|#snapshot|lost+found|"
                         "System Volume Information|__pycache__");
}

fg_status fgi_draft_text(fgi_draft *b, fgi_str text, const char **out, fg_error *err)
{
    char *copy = fgi_arena_alloc(&b->catalog->arena, text.size + 1);
    *out = copy;
    if (copy == NULL)
        return fgi_no_memory(err);
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    return FG_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

fg_status fgi_draft_unique(fgi_draft *b, const char *name, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const fgi_hash hash = fgi_hash_text(name);
    if (fgi_map_get(&b->sample_of, hash) != NULL)
        return fgi_fail(err, FG_EFORMAT, "there are two samples with the name '%s'",
                        fgi_shown(name, shown));
    return fgi_map_put(&b->sample_of, hash, (void *)name) ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_draft_add(fgi_draft *b, const fgi_sample *sample, fg_error *err)
{
    fg_catalog *c = b->catalog;
    FGI_TRY_GROW(c->samples, c->count, c->capacity, err);
    c->samples[c->count++] = *sample;
    for (uint32_t i = 0; i < sample->label_count; i++) {
        fgi_label *label = b->labels[i == 0 ? sample->label : sample->labels[i]];
        if (label->first_name == NULL)
            label->first_name = sample->name;
    }
    return FG_OK;
}

fg_status fgi_draft_skip(fgi_draft *b, const char *path, const char *reason, fg_error *err)
{
    fg_catalog *c = b->catalog;
    FGI_TRY_GROW(c->skipped, c->skip_count, c->skip_capacity, err);
    const char *copy = fgi_arena_strdup(&c->arena, path);
    if (copy == NULL)
        return fgi_no_memory(err);
    c->skipped[c->skip_count++] = (fgi_skipped){copy, reason};
    return FG_OK;
}

fg_status fgi_draft_note(fgi_draft *b, fg_log_level level, fg_error *err, const char *format, ...)
{
    fg_catalog *c = b->catalog;
    va_list args;
    fgi_buf text = {0};
    FGI_TRY_GROW(c->notes, c->note_count, c->note_capacity, err);
    va_start(args, format);
    fgi_buf_vprintf(&text, format, args);
    va_end(args);
    const char *copy = text.failed ? NULL : fgi_arena_strdup(&c->arena, text.data);
    fgi_buf_fini(&text);
    if (copy == NULL)
        return fgi_no_memory(err);
    c->notes[c->note_count++] = (fgi_note){level, copy};
    return FG_OK;
}

fg_status fgi_draft_group(fgi_draft *b, fgi_str name, int32_t *out_group, fg_error *err)
{
    fg_catalog *c = b->catalog;
    *out_group = 0;
    if (name.size == 0)
        return FG_OK;
    const fgi_hash hash = fgi_hash_bytes(name.data, name.size);
    const int32_t *known = fgi_map_get(&b->group_of, hash);
    if (known != NULL) {
        *out_group = *known;
        return FG_OK;
    }
    const char **groups =
        fgi_grow((void *)c->groups, c->group_count, &c->group_capacity, sizeof(*groups));
    if (groups == NULL)
        return fgi_no_memory(err);
    c->groups = groups;
    FGI_TRY(fgi_draft_text(b, name, &groups[c->group_count], err));
    const int32_t number = (int32_t)c->group_count + 1;
    int32_t *value = fgi_arena_copy(&c->arena, &number, sizeof(number));
    if (value == NULL || !fgi_map_put(&b->group_of, hash, value))
        return fgi_no_memory(err);
    c->group_count++;
    *out_group = number;
    return FG_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

fg_status fgi_draft_label(fgi_draft *b, fgi_str text, fgi_label_type type, int32_t *out_id,
                          fg_error *err)
{
    fgi_hash hash = fgi_hash_bytes(text.data, text.size);
    hash.lo += (uint64_t)type;
    fgi_label *label = fgi_map_get(&b->label_of, hash);
    if (label == NULL) {
        FGI_TRY_GROW(b->labels, b->label_count, b->label_capacity, err);
        label = fgi_arena_alloc(&b->catalog->arena, sizeof(*label));
        if (label == NULL)
            return fgi_no_memory(err);
        *label = (fgi_label){.type = type, .id = (int32_t)b->label_count, .line = b->line};
        FGI_TRY(fgi_draft_text(b, text, &label->text, err));
        if (!fgi_map_put(&b->label_of, hash, label))
            return fgi_no_memory(err);
        b->labels[b->label_count++] = label;
    }
    *out_id = label->id;
    return FG_OK;
}

fg_status fgi_draft_name_class(fgi_draft *b, int32_t id, fgi_str name, fg_error *err)
{
    fgi_label *label = b->labels[id];
    if (label->class_name != NULL) {
        b->has_conflict |= !fgi_str_equal(name, label->class_name);
        return FG_OK;
    }
    return fgi_draft_text(b, name, &label->class_name, err);
}

fg_status fgi_draft_set_labels(fgi_draft *b, fgi_sample *sample, const int32_t *ids, size_t count,
                               fg_error *err)
{
    sample->label_count = (uint32_t)count;
    sample->label = count > 0 ? ids[0] : -1;
    sample->labels = NULL;
    if (count <= 1)
        return FG_OK;
    sample->labels = fgi_arena_copy(&b->catalog->arena, ids, count * sizeof(*ids));
    return sample->labels != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status fail_label(const fgi_draft *b, const fgi_label *label, const char *what,
                            fg_error *err)
{
    char text[FGI_SHOWN_BYTES], name[FGI_SHOWN_BYTES], line[32] = "";
    const bool is_list = label->line > 0, is_used = label->first_name != NULL;
    if (is_list)
        (void)fgi_snprintf(line, sizeof(line), ":%zu", label->line);
    return fgi_fail(err, FG_EFORMAT, "%s%.120s%s: %s%s%s has the class '%s': %s",
                    is_list ? "" : "'", b->catalog->path, is_list ? line : "'",
                    is_used ? "sample '" : "a skipped sample",
                    is_used ? fgi_shown(label->first_name, name) : "", is_used ? "'" : "",
                    fgi_shown(label->text, text), what);
}

/* A label that is none of the given classes. */
static fg_status fail_class(const fgi_draft *b, const fgi_label *label, fg_error *err)
{
    const fg_catalog_options *o = b->options;
    char classes[FGI_SHOWN_BYTES], what[FGI_SHOWN_BYTES + 32];
    (void)fgi_snprintf(
        what, sizeof(what), "expected one of %s",
        fgi_shown_names(o->class_names, (size_t)o->class_count, classes, sizeof(classes)));
    return fail_label(b, label, what, err);
}

static bool is_integer(const fgi_label *label)
{
    int64_t value;
    return label->type != FGI_LABEL_NAME && fgi_parse_i64(fgi_str_of(label->text), &value);
}

/* Sets the class of a label that is an index. */
static fg_status set_index(fgi_draft *b, fgi_label *label, fg_error *err)
{
    int64_t value = -1;
    const bool is_valid = fgi_parse_i64(fgi_str_of(label->text), &value);
    if (!is_valid || value < 0)
        return fail_label(b, label,
                          "expected a class index that is at least 0; omit the label of a "
                          "sample without one",
                          err);
    if (value >= FGI_CLASSES_MAX)
        return fail_label(b, label, "a class index must be below 16777216", err);
    if (b->options->class_count > 0 && value >= b->options->class_count)
        return fail_class(b, label, err);
    label->class_index = (int32_t)value;
    if (value >= b->catalog->class_count)
        b->catalog->class_count = value + 1;
    return FG_OK;
}

static fg_status use_indices(fgi_draft *b, fg_error *err)
{
    fg_catalog *c = b->catalog;
    bool has_names = !b->has_conflict && b->label_count > 0;
    for (size_t i = 0; i < b->label_count; i++) {
        FGI_TRY(set_index(b, b->labels[i], err));
        has_names &= b->labels[i]->class_name != NULL;
    }
    if (!has_names)
        return FG_OK;
    c->class_names = fgi_arena_alloc(&c->arena, (size_t)c->class_count * sizeof(char *));
    if (c->class_names == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < b->label_count; i++)
        c->class_names[b->labels[i]->class_index] = b->labels[i]->class_name;
    return FG_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp((*(fgi_label *const *)a)->text, (*(fgi_label *const *)b)->text);
}

/* The classes are the sorted names. */
static fg_status use_names(fgi_draft *b, fg_error *err)
{
    fg_catalog *c = b->catalog;
    if (b->label_count > FGI_CLASSES_MAX)
        return fgi_fail(err, FG_EFORMAT, "'%s': more than 16777216 classes", c->path);
    fgi_label **sorted = fgi_alloc((b->label_count + 1) * sizeof(fgi_label *));
    c->class_names = fgi_arena_alloc(&c->arena, (b->label_count + 1) * sizeof(char *));
    if (sorted != NULL && c->class_names != NULL) {
        memcpy(sorted, b->labels, b->label_count * sizeof(fgi_label *));
        qsort(sorted, b->label_count, sizeof(fgi_label *), by_text);
        for (size_t i = 0; i < b->label_count; i++) {
            const bool is_new = i == 0 || strcmp(sorted[i]->text, sorted[i - 1]->text) != 0;
            if (is_new)
                c->class_names[c->class_count++] = sorted[i]->text;
            sorted[i]->class_index = (int32_t)c->class_count - 1;
        }
    }
    const bool has_memory = sorted != NULL && c->class_names != NULL;
    fgi_free(sorted);
    return has_memory ? FG_OK : fgi_no_memory(err);
}

/* Looks the labels up in the classes that the caller gives. */
static fg_status use_given(fgi_draft *b, fg_error *err)
{
    const fg_catalog_options *o = b->options;
    fg_catalog *c = b->catalog;
    c->class_names = fgi_arena_alloc(&c->arena, (size_t)o->class_count * sizeof(char *));
    if (c->class_names == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < b->label_count; i++)
        b->labels[i]->class_index = -1;
    for (int64_t k = 0; k < o->class_count; k++) {
        const fgi_str name = fgi_str_of(o->class_names[k]);
        FGI_TRY(fgi_draft_text(b, name, &c->class_names[k], err));
        for (int type = FGI_LABEL_TEXT; type <= FGI_LABEL_NAME; type++) {
            fgi_hash hash = fgi_hash_bytes(name.data, name.size);
            hash.lo += (uint64_t)type;
            fgi_label *label = fgi_map_get(&b->label_of, hash);
            if (label != NULL)
                label->class_index = (int32_t)k;
        }
    }
    c->class_count = o->class_count;
    for (size_t i = 0; i < b->label_count; i++) {
        fgi_label *label = b->labels[i];
        if (label->class_index < 0 && !is_integer(label) && label->first_name != NULL)
            return fail_class(b, label, err);
        if (label->class_index < 0 && is_integer(label))
            FGI_TRY(set_index(b, label, err));
    }
    return FG_OK;
}

static fg_status resolve_labels(fgi_draft *b, fg_error *err)
{
    const fgi_label *index = NULL, *name = NULL;
    for (size_t i = 0; i < b->label_count; i++)
        if (b->labels[i]->type == FGI_LABEL_INDEX)
            index = b->labels[i];
        else if (!is_integer(b->labels[i]))
            name = b->labels[i];
    if (b->options->class_count > 0)
        return use_given(b, err);
    if (name == NULL)
        return use_indices(b, err);
    if (index != NULL)
        return fail_label(b, name, "a class name, but other samples have integers as labels", err);
    return use_names(b, err);
}

fg_status fgi_draft_finish(fgi_draft *b, fg_error *err)
{
    fg_catalog *c = b->catalog;
    if (c->count == 0) {
        char shown[FGI_SHOWN_BYTES] = "";
        if (c->skip_count > 0)
            (void)fgi_shown(c->skipped[0].path, shown);
        return fgi_fail(err, FG_ENOTFOUND, "'%s': no samples%s%s%s%s", c->path,
                        c->skip_count > 0 ? "\nskipped, for example: '" : "", shown,
                        c->skip_count > 0 ? "': " : "",
                        c->skip_count > 0 ? c->skipped[0].reason : "");
    }
    FGI_TRY(resolve_labels(b, err));
    for (size_t i = 0; i < c->count; i++) {
        fgi_sample *s = &c->samples[i];
        s->label = s->label_count == 0 ? -1 : b->labels[s->label]->class_index;
        for (uint32_t k = 0; s->labels != NULL && k < s->label_count; k++)
            s->labels[k] = b->labels[s->labels[k]]->class_index;
    }
    return FG_OK;
}
