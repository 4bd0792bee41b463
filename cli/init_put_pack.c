/* init_put_pack.c - comments in the configuration of `fulgurite init` that suggest a pack: for
 * images that are much larger than training needs, and for many files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "init.h"
#include "init_put.h"
#include "recipe/plan/run_plan.h"
#include "base/alloc.h"

enum { MANY_FILES = 2000 };

/* A pack of images with less than half the pixels is worth the time to make it. */
static const double LARGE = 2;

/* ---- names ----------------------------------------------------------------------------------- */

char *init_name(const char *data, const char *suffix)
{
    size_t size = strlen(data);
    fgi_buf name = {0};
    while (size > 1 && data[size - 1] == '/')
        size--;
    size_t start = size;
    while (start > 0 && data[start - 1] != '/')
        start--;
    size_t stem = start;
    while (stem < size && data[stem] != '.')
        stem++;
    if (stem > start)
        fgi_buf_add(&name, data + start, stem - start);
    else
        fgi_buf_puts(&name, "run");
    fgi_buf_puts(&name, suffix);
    return cli_need(fgi_buf_take(&name));
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_-./,:=+@%", c) != NULL || (unsigned char)c >= 0x80;
}

/* A word for a shell. */
static void put_word(fgi_buf *out, const char *word)
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

/* ---- the suggestion -------------------------------------------------------------------------- */

/* The commands that make a pack and inspect it. Of photos/train with photos/val next to it, photos
 * is packed, with its splits. */
static void put_commands(fgi_buf *out, const fgi_look_files *files, int64_t presize)
{
    char *parent = files->val != NULL ? fgi_path_parent(files->val) : NULL;
    const char *source = parent != NULL ? parent : files->path;
    char *pack = init_name(source, ".pack");
    fgi_buf list = {0};
    (void)fgi_put_list_source(&list, files);
    fgi_buf_puts(out, "#   fulgurite pack ");
    put_word(out, source);
    fgi_buf_putc(out, ' ');
    put_word(out, pack);
    if (list.size > 0) {
        fgi_buf_puts(out, " --source ");
        put_word(out, list.data);
    }
    if (presize > 0)
        fgi_buf_printf(out, " --presize short=%" PRId64, presize);
    fgi_buf_puts(out, "\n#   fulgurite init ");
    put_word(out, pack);
    fgi_buf_putc(out, '\n');
    fgi_buf_fini(&list);
    fgi_free(pack);
    fgi_free(parent);
}

/* Whether `pack` can be given the names in a list. */
static bool can_say(const fgi_look_files *files)
{
    fgi_buf list = {0};
    const bool can = fgi_put_list_source(&list, files);
    fgi_buf_fini(&list);
    return can;
}

void fgi_put_pack(fgi_buf *out, const fgi_look_files *files, const fgi_look_photos *p, int64_t size,
                  double center_fraction)
{
    const int64_t presize = fgi_presize_short(size, center_fraction);
    const double fewer = pow((double)p->short_median / (double)presize, 2);
    const int64_t count = p->train + p->val + p->test;
    const char *kind = files->photos != NULL ? fg_catalog_kind_of(files->photos) : "";
    const bool is_files = strcmp(kind, "tar") != 0 && strcmp(kind, "tfrecord") != 0;
    if (files->photos == NULL || has_controls(files->path) || !can_say(files))
        return;
    if (fewer >= LARGE)
        fgi_buf_printf(out,
                       "# suggested: a pack of smaller images, which decode faster; with a shorter "
                       "side of %" PRId64 " pixels they have %.0f %% of the pixels:\n",
                       presize, 100 / fewer);
    else if (is_files && count >= MANY_FILES)
        fgi_buf_printf(
            out, "# suggested: a pack, because %" PRId64 " files are slow to read and copy:\n",
            count);
    else
        return;
    put_commands(out, files, fewer >= LARGE ? presize : 0);
}
