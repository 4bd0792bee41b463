/* catalog_text.c - see catalog_text.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog_text.h"

#include "fgt.h"

#include <fulgurite/data.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

static void write_item(const fg_catalog_item *item, fgi_buf *out)
{
    static const char *const splits[] = {
        [FG_TRAIN] = " train", [FG_VAL] = " val", [FG_TEST] = " test"};
    char name[400];
    (void)fg_catalog_escape(item->name, name, sizeof(name));
    fgi_buf_puts(out, name);
    for (uint32_t i = 0; i < item->label_count; i++)
        fgi_buf_printf(out, "%s%d", i == 0 ? " " : ",", (int)item->labels[i]);
    if (item->split != FG_CATALOG_NO_SPLIT)
        fgi_buf_puts(out, splits[item->split]);
    if (item->group != 0)
        fgi_buf_printf(out, " %s=%d", item->group_name, (int)item->group);
}

static fg_status write_bytes(const fg_catalog *catalog, int64_t index, fg_catalog_bytes *bytes,
                             fgi_buf *out, fg_error *err)
{
    char text[200];
    const fg_status status = fg_catalog_read(catalog, index, bytes, err);
    if (status != FG_OK)
        return status;
    const size_t size = bytes->size < 40 ? bytes->size : 40;
    (void)fgi_text_escape((fgi_str){(const char *)bytes->data, size}, text, sizeof(text));
    fgi_buf_printf(out, " [%s]\n", text);
    return FG_OK;
}

fg_status fgt_catalog_write(const fg_catalog *catalog, fgi_buf *out, fg_error *err)
{
    fg_catalog_bytes bytes = {0};
    fg_status status = FG_OK;
    for (int64_t i = 0; status == FG_OK && i < fg_catalog_count(catalog); i++) {
        fg_catalog_item item;
        status = fg_catalog_item_at(catalog, i, &item, err);
        if (status == FG_OK) {
            write_item(&item, out);
            status = write_bytes(catalog, i, &bytes, out, err);
        }
    }
    fg_catalog_bytes_fini(&bytes);
    for (int64_t i = 0; i < fg_catalog_class_count(catalog); i++) {
        const char *name = fg_catalog_class_name(catalog, i);
        fgi_buf_printf(out, "class %s\n", name != NULL ? name : "-");
    }
    for (int64_t i = 0; i < fg_catalog_skip_count(catalog); i++) {
        char shown[200];
        const char *reason;
        (void)fg_catalog_escape(fg_catalog_skip(catalog, i, &reason), shown, sizeof(shown));
        fgi_buf_printf(out, "skip %s: %s\n", shown, reason);
    }
    return status != FG_OK ? status : fgi_buf_status(out, err);
}

fg_status fgt_catalog_scenario(void *path, fg_error *err)
{
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    fg_status status = fg_catalog_open(path, NULL, &catalog, err);
    if (status == FG_OK)
        status = fgt_catalog_write(catalog, &text, err);
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
    return status;
}

void fgt_catalog_is(const char *path, const fg_catalog_options *options, const char *expected)
{
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    fg_error err = {0};
    fgt_ok(fg_catalog_open(path, options, &catalog, &err));
    fgt_ok(fgt_catalog_write(catalog, &text, &err));
    assert_string_equal(text.data, expected);
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
}

static void replace(fgi_buf *text, const char *old, const char *new)
{
    fgi_buf out = {0};
    const char *at = text->data;
    for (const char *next; (next = strstr(at, old)) != NULL; at = next + strlen(old)) {
        fgi_buf_add(&out, at, (size_t)(next - at));
        fgi_buf_puts(&out, new);
    }
    fgi_buf_puts(&out, at);
    fgi_buf_fini(text);
    *text = out;
}

void fgt_catalog_fails(const char *path, const fg_catalog_options *options, fg_status status,
                       const char *message)
{
    fg_catalog *catalog = NULL;
    fg_error err = {0};
    fgi_buf text = {0};
    assert_int_equal(fg_catalog_open(path, options, &catalog, &err), status);
    assert_null(catalog);
    fgi_buf_puts(&text, err.message);
    if (path[0] == '/') {
        char *folder = fgi_path_parent(path);
        replace(&text, path, "PATH");
        replace(&text, folder, "FOLDER");
        fgi_free(folder);
    }
    fgt_message_is(text.data, message);
    fgi_buf_fini(&text);
}

const char *fgt_memory_file(const void *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0)
        fd = memfd_create("catalog", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, data, size, 0), (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}
