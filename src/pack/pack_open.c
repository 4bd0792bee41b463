/* pack_open.c - opens the files of a pack together, and reads what describes it as a whole: class
 * names, fields, metadata.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map_guard.h"
#include "base/print.h"
#include "base/reserved.h"
#include "pack/pack_file.h"

/* ---- checks of a set ------------------------------------------------------------------------- */

static fg_status check_member(const fg_pack *pack, int i, uint64_t first, fg_error *err)
{
    const fgi_pack_page *p = &pack->files[i].page, *other = &pack->files[0].page;
    const char *path = pack->files[i].map.path;
    if (memcmp(p->uuid, other->uuid, sizeof p->uuid) != 0 ||
        p->shard_count != (uint32_t)pack->file_count || p->set_count != other->set_count ||
        p->variant_count != other->variant_count || p->class_count != other->class_count)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: byte 32: the file belongs to a different set from '%s': copy all files of "
            "one set",
            path, pack->files[0].map.path);
    if (p->shard == (uint32_t)i && p->first != first)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte 72: the first record is number %" PRIu64 " of its set, expected "
                        "%" PRIu64,
                        path, p->first, first);
    if (p->shard != (uint32_t)i)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte 88: the file is number %" PRIu32 " of its set, expected %d: was "
                        "it renamed?",
                        path, p->shard, i);
    return FG_OK;
}

static fg_status check_set(const fg_pack *pack, fg_error *err)
{
    uint64_t first = 0;
    for (int i = 0; i < pack->file_count; i++) {
        FGI_TRY(check_member(pack, i, first, err));
        first += pack->files[i].page.count;
    }
    if (first != pack->files[0].page.set_count)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte 80: the files have %" PRIu64 " records, expected %" PRIu64,
                        pack->files[0].map.path, first, pack->files[0].page.set_count);
    return FG_OK;
}

/* ---- small sections -------------------------------------------------------------------------- */

static fg_status bad_section(const fg_pack *pack, fgi_pack_kind kind, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": section '%s' is invalid",
                    pack->files[0].map.path, pack->files[0].sections[kind]->offset,
                    fgi_pack_section_name(kind));
}

static fg_status read_classes(fg_pack *pack, fg_error *err)
{
    const void *data;
    FGI_TRY(fgi_pack_file_section(&pack->files[0], FGI_PACK_CLASSES, &data, err));
    if (data == NULL)
        return pack->info.class_count == 0
                   ? FG_OK
                   : fgi_fail(err, FG_EFORMAT, "%s: byte 116: section 'class names' is missing",
                              pack->files[0].map.path);
    const char *at = data, *end = at + pack->files[0].sections[FGI_PACK_CLASSES]->size;
    const int64_t count = pack->info.class_count;
    if (count > end - at) /* each has a NUL at least */
        return bad_section(pack, FGI_PACK_CLASSES, err);
    pack->class_names = fgi_calloc((size_t)count + 1, sizeof *pack->class_names);
    if (pack->class_names == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < count; i++) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        if (nul == NULL)
            return bad_section(pack, FGI_PACK_CLASSES, err);
        pack->class_names[i] = at;
        at = nul + 1;
    }
    return at == end ? FG_OK : bad_section(pack, FGI_PACK_CLASSES, err);
}

static fg_status read_fields(fg_pack *pack, fg_error *err)
{
    const void *data;
    FGI_TRY(fgi_pack_file_section(&pack->files[0], FGI_PACK_FIELDS, &data, err));
    const int count = (int)pack->files[0].page.field_count;
    if (data == NULL)
        return count == 0 ? FG_OK
                          : fgi_fail(err, FG_EFORMAT, "%s: byte 120: section 'fields' is missing",
                                     pack->files[0].map.path);
    if (pack->files[0].sections[FGI_PACK_FIELDS]->size != (size_t)count * sizeof(fgi_pack_field))
        return bad_section(pack, FGI_PACK_FIELDS, err);
    const fgi_pack_field *fields = data;
    for (int i = 0; i < count; i++) {
        const fgi_pack_field *f = &fields[i];
        if (!fgi_pack_field_is_valid(f->name, f->dtype, f->rank, f->dim))
            return bad_section(pack, FGI_PACK_FIELDS, err);
        pack->fields[i] =
            (fg_field){.name = f->name, .type = {(fg_dtype)f->dtype, (int)f->rank, {0}}};
        memcpy(pack->fields[i].type.dim, f->dim, f->rank * sizeof *f->dim);
    }
    pack->info.fields = count > 0 ? pack->fields : NULL;
    pack->info.field_count = count;
    return FG_OK;
}

static fg_status read_metadata(fg_pack *pack, fg_error *err)
{
    const void *data;
    FGI_TRY(fgi_pack_file_section(&pack->files[0], FGI_PACK_METADATA, &data, err));
    pack->info.metadata = data != NULL ? data : "";
    if (data == NULL)
        return FG_OK;
    const size_t size = pack->files[0].sections[FGI_PACK_METADATA]->size;
    if (size == 0 || memchr(data, 0, size) != (const char *)data + size - 1)
        return bad_section(pack, FGI_PACK_METADATA, err);
    return FG_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void describe(fg_pack *pack)
{
    const fgi_pack_page *p = &pack->files[0].page;
    fg_pack_info *info = &pack->info;
    const uint8_t *u = p->uuid;
    (void)fgi_snprintf(info->uuid, sizeof info->uuid,
                       "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
                       u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
                       u[13], u[14], u[15]);
    info->version_major = p->major;
    info->version_minor = p->minor;
    info->count = (int64_t)p->set_count;
    info->variant_count = p->variant_count;
    info->shard_count = pack->file_count;
    info->class_count = p->class_count;
    for (int i = 0; i < pack->file_count; i++)
        info->size_bytes += pack->files[i].page.file_size;
}

static fg_status open_files(fg_pack *pack, char **paths, fg_error *err)
{
    for (int i = 0; i < pack->file_count; i++)
        FGI_TRY(fgi_pack_file_open(paths[i], &pack->files[i], err));
    FGI_TRY(check_set(pack, err));
    describe(pack);
    FGI_TRY(read_classes(pack, err));
    FGI_TRY(read_fields(pack, err));
    return read_metadata(pack, err);
}

fg_status fg_pack_open(const char *path, const fg_pack_options *options, fg_pack **out,
                       fg_error *err)
{
    *out = NULL;
    FGI_TRY_RESERVED(fg_pack_options, options, err);
    if (path == NULL || *path == '\0')
        return fgi_fail(err, FG_EINVAL, "fg_pack_open: path is empty");
    char **paths = NULL;
    int count = 0;
    FGI_TRY(fgi_pack_find(path, &paths, &count, err));
    fg_pack *pack = fgi_calloc(1, sizeof *pack);
    fg_status status = FG_OK;
    if (pack != NULL) {
        atomic_init(&pack->references, 1);
        pack->files = fgi_calloc((size_t)count, sizeof *pack->files);
        pack->file_count = pack->files != NULL ? count : 0;
        pack->check = options != NULL ? options->check : FG_PACK_CHECK_FIRST;
    }
    if (pack == NULL || pack->files == NULL)
        status = fgi_no_memory(err);
    else
        status = open_files(pack, paths, err);
    fgi_pack_find_free(paths, count);
    if (status == FG_OK)
        *out = pack;
    else
        fg_pack_close(pack);
    return status;
}

fg_pack *fgi_pack_retain(fg_pack *pack)
{
    atomic_fetch_add_explicit(&pack->references, 1, memory_order_relaxed);
    return pack;
}

void fg_pack_close(fg_pack *pack)
{
    if (pack == NULL || atomic_fetch_sub_explicit(&pack->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < pack->file_count; i++)
        fgi_pack_file_close(&pack->files[i]);
    fgi_free(pack->class_names);
    fgi_free(pack->files);
    fgi_free(pack);
}

int64_t fg_pack_count(const fg_pack *pack) { return pack->info.count; }

const fg_pack_info *fg_pack_info_of(const fg_pack *pack) { return &pack->info; }

const char *fg_pack_class_name(const fg_pack *pack, int64_t index)
{
    const bool exists = pack->class_names != NULL && index >= 0 && index < pack->info.class_count;
    return exists ? pack->class_names[index] : NULL;
}

const char *fg_pack_path(const fg_pack *pack, int shard)
{
    return shard >= 0 && shard < pack->file_count ? pack->files[shard].map.path : NULL;
}

fg_status fg_pack_intact(fg_pack *pack, fg_error *err)
{
    fgi_guard_renew();
    for (int i = 0; i < pack->file_count; i++)
        FGI_TRY(fgi_pack_map_check(&pack->files[i].map, err));
    return FG_OK;
}
