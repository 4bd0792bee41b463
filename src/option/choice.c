/* choice.c - the choices of an option, in any case, and other programs' spellings of them, which
 * are mapped to one of ours and remembered.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "option/option.h"

enum { MOST_CHOICES = 64, LONGEST_WORD = 64, MOST_ENTRIES = 128, KNOWN_SIZE = 320 };

/* Letters and digits of a word in lower case: "ResNet-18" is "resnet18". */
static void simplify(const char *word, size_t size, char out[LONGEST_WORD])
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < LONGEST_WORD; i++)
        if (strchr("-_ ", word[i]) == NULL)
            out[used++] = fgi_lower(word[i]);
    out[used] = '\0';
}

bool fgi_is_same_word(const char *a, size_t size, const char *b)
{
    char one[LONGEST_WORD], other[LONGEST_WORD];
    simplify(a, size, one);
    simplify(b, strlen(b), other);
    return one[0] != '\0' && strcmp(one, other) == 0;
}

bool fgi_is_listed(const char *list, const char *text)
{
    const size_t size = strlen(text);
    for (const char *at = list; at != NULL && size > 0;) {
        if (strncmp(at, text, size) == 0 && (at[size] == '|' || at[size] == '\0'))
            return true;
        at = strchr(at, '|');
        at = at != NULL ? at + 1 : NULL;
    }
    return false;
}

/* The choice that equals the text, and its size; NULL if there is none. */
static const char *choice_of(const char *choices, const char *text, size_t *out_size)
{
    for (const char *at = choices; at != NULL && *at != '\0';) {
        *out_size = strcspn(at, "|");
        if (fgi_is_same_word(at, *out_size, text))
            return at;
        at += *out_size + (at[*out_size] == '|');
    }
    return NULL;
}

/* The same for another program's word, "theirs=ours|theirs=ours". */
static const char *spelling_of(const char *spellings, const char *text, size_t *out_size)
{
    for (const char *at = spellings; at != NULL && *at != '\0';) {
        const size_t theirs = strcspn(at, "="), all = strcspn(at, "|");
        if (fgi_is_same_word(at, theirs, text)) {
            *out_size = all - theirs - 1;
            return at + theirs + 1;
        }
        at += all + (at[all] == '|');
    }
    return NULL;
}

/* The choice that begins with the word ("resnet"), or else the nearest one. Modifies `choices`. */
static const char *suggest(const char *text, char *choices)
{
    const char *names[MOST_CHOICES];
    size_t count = 0;
    char *rest = choices, *name;
    while (count < MOST_CHOICES && (name = strsep(&rest, "|")) != NULL)
        names[count++] = name;
    for (size_t i = 0; i < count && strlen(text) >= 2; i++)
        if (fgi_begins_nocase(names[i], text))
            return names[i];
    return fgi_nearest(text, names, count);
}

static fg_status unknown(fg_option_values *values, const fg_option *option,
                         const fg_option_text *text, fg_error *err)
{
    char path[128], expected[256], choices[1024];
    (void)fgi_option_path(values, option, path, sizeof path);
    (void)fgi_option_expected(option, path, expected, sizeof expected);
    if (option->later != NULL && fgi_is_listed(option->later, text->text))
        return fgi_fail(err, FG_EINVAL, "%s: this version does not support '%s': expected %s", path,
                        text->text, expected);
    (void)fgi_snprintf(choices, sizeof choices, "%s", option->range);
    const char *nearest = suggest(text->text, choices);
    if (nearest == NULL)
        return fgi_option_unexpected(values, option, text, err);
    return fgi_fail(err, FG_EINVAL, "%s: expected %s, got '%.80s': did you mean '%s'?", path,
                    expected, text->text, nearest);
}

fg_status fgi_option_parse_choice(fg_option_values *values, const fg_option *option,
                                  const fg_option_text *text, fgi_option_item *out, fg_error *err)
{
    size_t size = 0;
    const char *word = choice_of(option->range, text->text, &size);
    const bool is_alias = word == NULL;
    if (is_alias)
        word = spelling_of(option->spellings, text->text, &size);
    if (word == NULL)
        return unknown(values, option, text, err);
    char *copy = fgi_arena_alloc(&values->arena, size + 1);
    if (copy == NULL)
        return fgi_no_memory(err);
    memcpy(copy, word, size);
    out->text = copy;
    if (is_alias && (out->alias = fgi_arena_strdup(&values->arena, text->text)) == NULL)
        return fgi_no_memory(err);
    return FG_OK;
}

/* ---- rows by name ---------------------------------------------------------------------------- */

bool fgi_entry_is_called(const fg_entry *entry, const char *word)
{
    if (fgi_is_same_word(word, strlen(word), entry->name))
        return true;
    for (const char *at = entry->spellings; at != NULL && *at != '\0';) {
        const size_t size = strcspn(at, "|");
        if (fgi_is_same_word(at, size, word))
            return true;
        at += size + (at[size] == '|');
    }
    return false;
}

const fg_entry *fgi_entry_find(const fg_entry *const *entries, size_t count, const char *kind,
                               const char *name, fg_error *err)
{
    const char *names[MOST_ENTRIES];
    char known[KNOWN_SIZE];
    for (size_t i = 0; i < count; i++) {
        if (fgi_entry_is_called(entries[i], name))
            return entries[i];
        if (i < MOST_ENTRIES)
            names[i] = entries[i]->name;
    }
    count = count < MOST_ENTRIES ? count : MOST_ENTRIES;
    (void)fgi_fail(err, FG_ENOTFOUND, "unknown %s '%.80s'%s", kind, name,
                   fgi_suggest(name, names, count, known, sizeof known));
    return NULL;
}
