/* class_counts.c - see class_counts.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/class_counts.h"

#include <inttypes.h>
#include <string.h>

#include <fulgurite/data.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"

enum { LISTED_CLASSES = 12, NAMED_CLASSES = 6, NAME_BYTES = 64 };

fg_status fgi_class_counts_init(fgi_class_counts *out, const char *unit, int64_t classes,
                                fg_error *err)
{
    const size_t n = (size_t)classes;
    *out = (fgi_class_counts){.unit = unit, .classes = classes};
    out->names = fgi_calloc(n + 1, sizeof(*out->names));
    out->train = fgi_calloc(3 * n + 1, sizeof(*out->train));
    if (out->names == NULL || out->train == NULL) {
        fgi_class_counts_fini(out);
        return fgi_no_memory(err);
    }
    out->val = out->train + n;
    out->test = out->val + n;
    return FG_OK;
}

void fgi_class_counts_fini(fgi_class_counts *counts)
{
    fgi_free((void *)counts->names);
    fgi_free(counts->train);
    *counts = (fgi_class_counts){0};
}

fg_status fgi_class_counts_of(const fg_catalog *catalog, const uint8_t *splits,
                              fgi_class_counts *out, fg_error *err)
{
    fg_catalog_item item;
    FGI_TRY(fgi_class_counts_init(out, "image", fg_catalog_class_count(catalog), err));
    for (int64_t i = 0; i < out->classes; i++)
        out->names[i] = fg_catalog_class_name(catalog, i);
    for (int64_t i = 0; i < fg_catalog_count(catalog); i++) {
        if (fg_catalog_item_at(catalog, i, &item, err) != FG_OK || item.label < 0)
            continue;
        const uint8_t split = splits != NULL ? splits[i] : item.split;
        int64_t *part = split == FG_VAL ? out->val : split == FG_TEST ? out->test : out->train;
        part[item.label]++;
    }
    return FG_OK;
}

static void put_name(fgi_buf *out, const fgi_class_counts *c, int64_t index)
{
    char shown[NAME_BYTES];
    if (c->names[index] == NULL) {
        fgi_buf_printf(out, "%" PRId64, index);
        return;
    }
    (void)fgi_text_escape(fgi_str_of(c->names[index]), shown, sizeof(shown));
    const char *quote = strchr(shown, ',') != NULL ? "'" : "";
    fgi_buf_printf(out, "%s%s%s", quote, shown, quote);
}

static int64_t sum(const int64_t *counts, int64_t classes)
{
    int64_t all = 0;
    for (int64_t i = 0; i < classes; i++)
        all += counts[i];
    return all;
}

/* "cat 7, dog 5", or "from 5 (dog) to 7 (cat)" */
static void put_counts(fgi_buf *out, const fgi_class_counts *c, const int64_t *counts)
{
    int64_t least = 0, most = 0;
    for (int64_t i = 0; i < c->classes; i++) {
        least = counts[i] < counts[least] ? i : least;
        most = counts[i] > counts[most] ? i : most;
    }
    if (c->classes > LISTED_CLASSES) {
        fgi_buf_printf(out, "from %" PRId64 " (", counts[least]);
        put_name(out, c, least);
        fgi_buf_printf(out, ") to %" PRId64 " (", counts[most]);
        put_name(out, c, most);
        fgi_buf_putc(out, ')');
        return;
    }
    for (int64_t i = 0; i < c->classes; i++) {
        fgi_buf_puts(out, i > 0 ? ", " : "");
        put_name(out, c, i);
        fgi_buf_printf(out, " %" PRId64, counts[i]);
    }
}

void fgi_class_counts_put(fgi_buf *out, const fgi_class_counts *c)
{
    fgi_buf_printf(
        out, "%" PRId64 " training %s%s of %" PRId64 " class%s: ", sum(c->train, c->classes),
        c->unit, fgi_s(sum(c->train, c->classes)), c->classes, c->classes == 1 ? "" : "es");
    put_counts(out, c, c->train);
}

static void say_line(fgi_buf *line, fg_log_level level, fg_catalog_say_fn *say, void *self)
{
    if (!line->failed)
        say(self, level, line->data);
    fgi_buf_fini(line);
}

static void say_part(const fgi_class_counts *c, const char *part, const int64_t *counts,
                     fg_catalog_say_fn *say, void *self)
{
    fgi_buf line = {0};
    const int64_t samples = sum(counts, c->classes);
    if (samples == 0)
        return;
    fgi_buf_printf(&line, "%" PRId64 " %s %s%s: ", samples, part, c->unit, fgi_s(samples));
    put_counts(&line, c, counts);
    say_line(&line, FG_LOG_INFO, say, self);
}

static bool is_lacking(const fgi_class_counts *c, const int64_t *counts, int64_t index)
{
    return counts[index] == 0 && (counts == c->train || c->train[index] > 0);
}

/* Warns of the classes that `counts` lacks; of the validation samples, those that are learned. */
static void warn_of_lacking(const fgi_class_counts *c, const int64_t *counts, const char *part,
                            const char *effect, fg_catalog_say_fn *say, void *self)
{
    fgi_buf line = {0};
    int64_t lacking = 0;
    if (sum(counts, c->classes) == 0)
        return;
    for (int64_t i = 0; i < c->classes; i++)
        lacking += is_lacking(c, counts, i);
    fgi_buf_printf(&line, "no %s %ss of ", part, c->unit);
    for (int64_t i = 0, named = 0; i < c->classes && named < NAMED_CLASSES; i++)
        if (is_lacking(c, counts, i)) {
            fgi_buf_puts(&line, named++ > 0 ? ", " : lacking == 1 ? "class " : "the classes ");
            put_name(&line, c, i);
        }
    if (lacking > NAMED_CLASSES)
        fgi_buf_printf(&line, " and %" PRId64 " more", lacking - NAMED_CLASSES);
    fgi_buf_printf(&line, ": %s %s", effect, lacking == 1 ? "it" : "them");
    if (lacking > 0 && !line.failed)
        say(self, FG_LOG_WARNING, line.data);
    fgi_buf_fini(&line);
}

static void warn_of_one(const fgi_class_counts *c, fg_catalog_say_fn *say, void *self)
{
    fgi_buf line = {0};
    const int64_t only = fgi_class_counts_only(c);
    if (only < 0)
        return;
    fgi_buf_printf(&line, "all %ss are of one class, ", c->unit);
    put_name(&line, c, only);
    say_line(&line, FG_LOG_WARNING, say, self);
}

void fgi_class_counts_warn(const fgi_class_counts *c, fg_catalog_say_fn *say, void *self)
{
    warn_of_one(c, say, self);
    warn_of_lacking(c, c->train, "training", "the model cannot learn", say, self);
    warn_of_lacking(c, c->val, "validation", "validation does not measure", say, self);
}

void fgi_class_counts_say(const fgi_class_counts *c, fg_catalog_say_fn *say, void *self)
{
    fgi_buf line = {0};
    fgi_class_counts_put(&line, c);
    say_line(&line, FG_LOG_INFO, say, self);
    say_part(c, "validation", c->val, say, self);
    say_part(c, "test", c->test, say, self);
    fgi_class_counts_warn(c, say, self);
}

int64_t fgi_class_counts_only(const fgi_class_counts *c)
{
    int64_t only = -1, with = 0;
    for (int64_t i = 0; i < c->classes; i++)
        if (c->train[i] > 0 || c->val[i] > 0) {
            only = i;
            with++;
        }
    return with == 1 ? only : -1;
}
