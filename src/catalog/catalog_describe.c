/* catalog_describe.c - what a person should know about a source: how its folders were understood,
 * and what was skipped, by kind.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "catalog/draft.h"

enum { LINE_BYTES = 512, MOST_EXTENSIONS = 5, EXTENSION_BYTES = 12 };

typedef struct speaker {
    const fg_catalog *catalog;
    fg_catalog_say_fn *say;
    void *self;
    const char **names; /* of the kind */
    size_t count;
} speaker;

/* ---- kinds of skipped files ------------------------------------------------------------------ */

/* A reason without the "row 7: " of a manifest. */
static const char *plain_reason(const fgi_skipped *s)
{
    const char *colon = strstr(s->reason, ": ");
    const bool has_place =
        strncmp(s->reason, "row ", 4) == 0 || strncmp(s->reason, "line ", 5) == 0;
    return has_place && colon != NULL ? colon + 2 : s->reason;
}

/* The unsupported image format of a skipped file; NULL: another file. */
static const char *foreign_format(const fgi_skipped *s)
{
    return strcmp(s->reason, FGI_NOT_AN_IMAGE) == 0 ? fgi_foreign_image(s->path) : NULL;
}

static bool is_same_kind(const fgi_skipped *a, const fgi_skipped *b)
{
    /* the extension is in static storage, so equal ones have the same address */
    return foreign_format(a) == foreign_format(b) && strcmp(plain_reason(a), plain_reason(b)) == 0;
}

static fg_log_level level_of(const fgi_skipped *s)
{
    const bool is_plain = strcmp(s->reason, FGI_NOT_AN_IMAGE) == 0 && foreign_format(s) == NULL;
    return is_plain || strcmp(s->reason, FGI_SYSTEM_FOLDER) == 0 ||
                   strcmp(s->reason, FGI_OUTSIDE_SPLIT) == 0
               ? FG_LOG_INFO
               : FG_LOG_WARNING;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* ".txt"; "no extension" */
static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash == NULL ? path : slash, '.');
    return dot == NULL || strlen(dot) >= EXTENSION_BYTES ? "no extension" : dot;
}

/* "3 .txt, 1 .md and 2 others" */
static void count_extensions(const speaker *s, char *out, size_t size)
{
    const char *found[MOST_EXTENSIONS];
    size_t counts[MOST_EXTENSIONS] = {0}, kinds = 0, others = 0, used = 0;
    for (size_t i = 0; i < s->count; i++) {
        const char *extension = extension_of(s->names[i]);
        size_t k = 0;
        while (k < kinds && strcmp(found[k], extension) != 0)
            k++;
        if (k == MOST_EXTENSIONS) {
            others++;
            continue;
        }
        found[k] = extension;
        counts[k]++;
        kinds += k == kinds;
    }
    out[0] = '\0';
    for (size_t k = 0; k < kinds; k++) {
        char shown[4 * EXTENSION_BYTES];
        (void)fgi_text_escape(fgi_str_of(found[k]), shown, sizeof(shown));
        (void)fgi_snprintf(out + used, size - used, "%s%zu %s%s", k > 0 ? ", " : "", counts[k],
                           found[k][0] == '.' ? "" : "with ", shown);
        used = strlen(out);
    }
    if (others > 0)
        (void)fgi_snprintf(out + used, size - used, ", %zu other%s", others, fgi_s(others));
}

static void say_kind(const speaker *s, const fgi_skipped *first)
{
    char line[LINE_BYTES], list[FGI_SHOWN_BYTES];
    const char *format = foreign_format(first), *folder = s->catalog->path;
    if (format != NULL)
        (void)fgi_snprintf(line, sizeof(line),
                           "'%.160s': skipped %zu .%s file%s, such as %s: the format is not "
                           "supported; convert %s to JPEG or PNG",
                           folder, s->count, format, fgi_s(s->count),
                           fgi_shown_names(s->names, 1, list, sizeof(list)),
                           s->count == 1 ? "it" : "them");
    else if (strcmp(first->reason, FGI_NOT_AN_IMAGE) == 0) {
        count_extensions(s, list, sizeof(list));
        (void)fgi_snprintf(line, sizeof(line), "'%.160s': skipped %zu file%s %s: %s", folder,
                           s->count, fgi_s(s->count),
                           s->count == 1 ? "that is not an image" : "that are not images", list);
    } else
        (void)fgi_snprintf(line, sizeof(line), "'%.160s': skipped %s: %s", folder,
                           fgi_shown_names(s->names, s->count, list, sizeof(list)),
                           plain_reason(first));
    s->say(s->self, level_of(first), line);
}

/* Says one line for each kind of skipped files, in the order of their first ones. */
static void say_skipped(speaker *s, bool *said)
{
    const fg_catalog *c = s->catalog;
    for (size_t i = 0; i < c->skip_count; i++) {
        s->count = 0;
        for (size_t k = i; k < c->skip_count && !said[i]; k++)
            if (!said[k] && is_same_kind(&c->skipped[i], &c->skipped[k])) {
                s->names[s->count++] = c->skipped[k].path;
                said[k] = k > i;
            }
        if (s->count > 0)
            say_kind(s, &c->skipped[i]);
    }
}

fg_status fg_catalog_describe(const fg_catalog *catalog, fg_catalog_say_fn *say, void *self,
                              fg_error *err)
{
    speaker s = {.catalog = catalog, .say = say, .self = self};
    bool *said = fgi_calloc(catalog->skip_count + 1, sizeof(*said));
    s.names = fgi_calloc(catalog->skip_count + 1, sizeof(*s.names));
    const bool has_memory = said != NULL && s.names != NULL;
    for (size_t i = 0; has_memory && i < catalog->note_count; i++)
        say(self, catalog->notes[i].level, catalog->notes[i].text);
    if (has_memory)
        say_skipped(&s, said);
    fgi_free((void *)s.names);
    fgi_free(said);
    return has_memory ? FG_OK : fgi_no_memory(err);
}
