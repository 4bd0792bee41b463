/* pack_create.c - creates a writer: checks the options, locks the output, and starts or resumes its
 * first file.
 *
 * The lock is a flock on the first partial file, which exists as long as the pack is unfinished. It
 * ends with the process, so a killed writer leaves no stale lock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack_create.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/reserved.h"
#include "pack/pack_file.h"

/* ---- options --------------------------------------------------------------------------------- */

static fg_status check_path(const char *path, fg_error *err)
{
    static const char suffix[] = ".pack";
    const size_t size = path != NULL ? strlen(path) : 0, end = sizeof suffix - 1;
    if (size <= end || strcmp(path + size - end, suffix) != 0 || path[size - end - 1] == '/')
        return fgi_fail(err, FG_EINVAL, "the path of a pack must end in 'NAME.pack', got '%s'",
                        path != NULL ? path : "");
    return FG_OK;
}

static fg_status add_fields(fg_pack_writer *w, const fg_pack_writer_options *o, fg_error *err)
{
    if (o->field_count < 0 || o->field_count > FG_MAX_FIELDS)
        return fgi_fail(err, FG_EINVAL, "a pack has %d fields: expected 0 to %d", o->field_count,
                        FG_MAX_FIELDS);
    for (int i = 0; i < o->field_count; i++) {
        const fg_field *f = &o->fields[i];
        fgi_pack_field out = {.dtype = (uint32_t)f->type.dtype, .rank = (uint32_t)f->type.rank};
        if (f->name == NULL || !fgi_pack_field_is_valid(f->name, out.dtype, out.rank, f->type.dim))
            return fgi_fail(err, FG_EINVAL,
                            "field %d of a pack is invalid: expected a name of 1 to 47 bytes and a "
                            "type with dimensions of at least 1",
                            i);
        memcpy(out.name, f->name, strlen(f->name));
        memcpy(out.dim, f->type.dim, out.rank * sizeof *out.dim);
        fgi_buf_add(&w->fields, &out, sizeof out);
    }
    w->identity.field_count = (uint32_t)o->field_count;
    return fgi_buf_status(&w->fields, err);
}

static fg_status add_classes(fg_pack_writer *w, const fg_pack_writer_options *o, fg_error *err)
{
    if (o->class_count < 0 || o->class_count > INT32_MAX)
        return fgi_fail(err, FG_EINVAL, "class_count of a pack is out of range");
    for (int64_t i = 0; i < o->class_count; i++) {
        const char *name = o->class_names != NULL ? o->class_names[i] : NULL;
        if (name != NULL)
            fgi_buf_puts(&w->classes, name);
        else
            fgi_buf_put_int(&w->classes, i);
        fgi_buf_putc(&w->classes, '\0');
    }
    w->identity.class_count = (uint32_t)o->class_count;
    return fgi_buf_status(&w->classes, err);
}

static void hash_options(fg_pack_writer *w, const fg_pack_writer_options *o)
{
    const char *fingerprint = o->fingerprint != NULL ? o->fingerprint : "";
    const uint64_t numbers[2] = {o->shard_bytes, w->identity.variant_count};
    fgi_hash hash = fgi_hash_bytes(numbers, sizeof numbers);
    hash = fgi_hash_more(hash, fingerprint, strlen(fingerprint) + 1);
    hash = fgi_hash_more(hash, w->classes.data != NULL ? w->classes.data : "", w->classes.size);
    hash = fgi_hash_more(hash, w->fields.data != NULL ? w->fields.data : "", w->fields.size);
    memcpy(w->identity.options, &hash, sizeof hash);
}

static fg_status apply_options(fg_pack_writer *w, const fg_pack_writer_options *o, fg_error *err)
{
    if (o->variant_count < 0 || o->variant_count > 1 << 20)
        return fgi_fail(err, FG_EINVAL, "variant_count of a pack is out of range");
    memcpy(w->identity.magic, FGI_PACK_MAGIC, sizeof w->identity.magic);
    w->identity.major = FGI_PACK_MAJOR;
    w->identity.minor = FGI_PACK_MINOR;
    w->identity.variant_count = o->variant_count > 0 ? (uint32_t)o->variant_count : 1;
    w->shard_bytes = o->shard_bytes;
    w->is_set = o->shard_bytes > 0;
    w->replace = o->replace;
    w->kept = o->kept;
    w->kept_self = o->kept_self;
    FGI_TRY(add_classes(w, o, err));
    FGI_TRY(add_fields(w, o, err));
    hash_options(w, o);
    return FG_OK;
}

/* ---- lock ------------------------------------------------------------------------------------ */

/* Locks the first partial file, and makes sure that it still has this name: another writer may have
 * finished and renamed it in between. */
static fg_status lock(fg_pack_writer *w, const char *path, fg_error *err)
{
    struct stat locked, named;
    w->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (w->lock_fd < 0)
        return fgi_fail_errno(err, "create", path);
    const bool is_locked = flock(w->lock_fd, LOCK_EX | LOCK_NB) == 0;
    if (!is_locked && errno != EWOULDBLOCK && errno != ENOLCK && errno != EOPNOTSUPP)
        return fgi_fail_errno(err, "lock", path);
    if ((!is_locked && errno == EWOULDBLOCK) || fstat(w->lock_fd, &locked) != 0 ||
        stat(path, &named) != 0 || locked.st_ino != named.st_ino || locked.st_dev != named.st_dev)
        return fgi_fail(err, FG_EIO,
                        "cannot write '%s': another process is writing it; wait for it to end, or "
                        "choose another name",
                        w->path);
    return FG_OK;
}

/* A single file and a set with the same name are one pack: the other kind must not exist either. */
static fg_status check_existing(const fg_pack_writer *w, fg_error *err)
{
    fg_status status = FG_OK;
    for (int i = 0; i < 2 && !w->replace && status == FG_OK; i++) {
        char *path = i == 0 ? fgi_strdup(w->path) : fgi_pack_shard_path(w->path, 0);
        if (path == NULL)
            status = fgi_no_memory(err);
        else if (fgi_file_exists(path))
            status = fgi_fail(
                err, FG_EINVAL,
                "'%s' exists: remove it, replace it (--replace), or choose another name", path);
        fgi_free(path);
    }
    return status;
}

/* ---- creation -------------------------------------------------------------------------------- */

static fg_status begin(fg_pack_writer *w, bool resume, fg_error *err)
{
    FGI_TRY(check_existing(w, err));
    char *path = fgi_pack_partial_path(w, 0);
    if (path == NULL)
        return fgi_no_memory(err);
    fg_status status = lock(w, path, err);
    fgi_free(path);
    FGI_TRY(status);
    if (resume)
        return fgi_pack_writer_resume(w, err);
    for (uint32_t i = 1, is_more = w->is_set; is_more; i++) {
        path = fgi_pack_partial_path(w, i);
        is_more = path != NULL && unlink(path) == 0;
        fgi_free(path);
    }
    return fgi_pack_writer_start(w, 0, err);
}

static fg_status allocate(const char *path, fg_pack_writer **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(check_path(path, err));
    fg_pack_writer *w = fgi_calloc(1, sizeof *w);
    if (w == NULL)
        return fgi_no_memory(err);
    w->lock_fd = -1;
    w->path = fgi_strdup(path);
    if (w->path == NULL) {
        fg_pack_writer_destroy(w);
        return fgi_no_memory(err);
    }
    *out = w;
    return FG_OK;
}

fg_status fgi_pack_writer_create_as(const char *path, const fg_pack_writer_options *options,
                                    const fgi_pack_page *identity, fg_pack_writer **out,
                                    fg_error *err)
{
    fg_pack_writer *w;
    *out = NULL;
    FGI_TRY(allocate(path, &w, err));
    fg_status status = apply_options(w, options, err);
    w->is_set = false;
    w->replace = true;
    w->is_rebuilt = true;
    if (identity != NULL) {
        w->keeps_identity = true;
        memcpy(w->identity.uuid, identity->uuid, sizeof identity->uuid);
        memcpy(w->identity.options, identity->options, sizeof identity->options);
        w->identity.optional = identity->optional;
        w->identity.first = identity->first;
        w->identity.set_count = identity->set_count;
        w->identity.shard = identity->shard;
        w->identity.shard_count = identity->shard_count;
    }
    if (status == FG_OK)
        status = begin(w, false, err);
    if (status == FG_OK)
        *out = w;
    else
        fg_pack_writer_destroy(w);
    return status;
}

fg_status fg_pack_writer_create(const char *path, const fg_pack_writer_options *options,
                                fg_pack_writer **out, int64_t *out_kept, fg_error *err)
{
    static const fg_pack_writer_options defaults;
    fg_pack_writer *w;
    *out = NULL;
    if (out_kept != NULL)
        *out_kept = 0;
    FGI_TRY_RESERVED(fg_pack_writer_options, options, err);
    FGI_TRY(allocate(path, &w, err));
    const fg_pack_writer_options *o = options != NULL ? options : &defaults;
    fg_status status = apply_options(w, o, err);
    if (status == FG_OK)
        status = begin(w, o->resume, err);
    if (status != FG_OK) {
        w->is_broken = true;
        fg_pack_writer_destroy(w);
        return status;
    }
    if (out_kept != NULL)
        *out_kept = (int64_t)w->count;
    *out = w;
    return FG_OK;
}
