/* config_choice.c - words that a configuration accepts: the choices of a key in any case, and the
 * spellings of other programs, which are read as one of ours and reported.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "report/helpers.h"
#include "recipe/config_value.h"
#include "base/print.h"

enum { MOST_CHOICES = 16 };

/* What other programs and file formats call our choices. */
static const struct {
    const char *path, *theirs, *ours;
} aliases[] = {
    {"task", "classify", "classification"},
    {"task", "classifier", "classification"},
    {"task", "regressor", "regression"},
    {"data.format", "tsv", "csv"},
    {"data.format", "mnist", "idx"},
    {"data.format", "cifar", "cifar10"},
    {"data.format", "numpy", "npy"},
    {"schedule.name", "none", "constant"},
    {"schedule.name", "1cycle", "onecycle"},
    {"schedule.name", "OneCycleLR", "onecycle"},
    {"schedule.anneal", "cosine", "cos"},
    {"trainer.accelerator", "gpu", "cuda"},
    {"trainer.accelerator", "nvidia", "cuda"},
    {"trainer.strategy", "dp", "ddp"},
    {"trainer.precision", "32", "32-true"},
    {"trainer.precision", "fp32", "32-true"},
    {"trainer.precision", "f32", "32-true"},
    {"trainer.precision", "float32", "32-true"},
    {"trainer.precision", "bf16", "bf16-mixed"},
    {"trainer.precision", "bfloat16", "bf16-mixed"},
    {"trainer.precision", "16", "16-mixed"},
    {"trainer.precision", "fp16", "16-mixed"},
    {"trainer.precision", "f16", "16-mixed"},
    {"trainer.precision", "float16", "16-mixed"},
    {"trainer.precision", "64", "64-true"},
    {"trainer.precision", "fp64", "64-true"},
    {"trainer.precision", "f64", "64-true"},
    {"trainer.precision", "float64", "64-true"},
    {"trainer.monitor_mode", "minimize", "min"},
    {"trainer.monitor_mode", "maximize", "max"},
};

/* Letters and digits of a word in lower case: "ResNet-18" is "resnet18". */
static void simplify(const char *word, size_t size, char *out, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < capacity; i++)
        if (strchr("-_ ", word[i]) == NULL)
            out[used++] = fgi_lower(word[i]);
    out[used] = '\0';
}

static bool is_same_word(const char *a, size_t size, const char *b)
{
    char one[64], other[64];
    simplify(a, size, one, sizeof(one));
    simplify(b, strlen(b), other, sizeof(other));
    return one[0] != '\0' && strcmp(one, other) == 0;
}

bool fgi_config_is_listed(const char *choices, const char *text)
{
    const size_t size = strlen(text);
    const char *at = choices;
    while (at != NULL && size > 0) {
        if (strncmp(at, text, size) == 0 && (at[size] == '|' || at[size] == '\0'))
            return true;
        at = strchr(at, '|');
        at = at != NULL ? at + 1 : NULL;
    }
    return false;
}

/* The choice that the text is, whatever its case, hyphens and underscores; NULL: none. */
static const char *choice_of(const char *choices, const char *text, size_t *out_size)
{
    for (const char *at = choices; at != NULL && *at != '\0';) {
        const size_t size = strcspn(at, "|");
        if (is_same_word(at, size, text)) {
            *out_size = size;
            return at;
        }
        at += size + (at[size] == '|');
    }
    return NULL;
}

static const char *alias_of(const fgi_config_key *key, const char *text)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].path, key->path) == 0 &&
            is_same_word(aliases[i].theirs, strlen(aliases[i].theirs), text))
            return aliases[i].ours;
    return NULL;
}

void fgi_config_spellings(const fgi_config_key *key, char *out, size_t size)
{
    const char *before = NULL;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcmp(aliases[i].path, key->path) != 0)
            continue;
        const bool is_new = before == NULL || strcmp(before, aliases[i].ours) != 0;
        const int n =
            is_new && before != NULL
                ? fgi_snprintf(out + used, size - used, " for %s; %s", before, aliases[i].theirs)
                : fgi_snprintf(out + used, size - used, "%s%s", before != NULL ? ", " : "",
                               aliases[i].theirs);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
        before = aliases[i].ours;
    }
    if (before != NULL)
        (void)fgi_snprintf(out + used, size - used, " for %s", before);
}

/* The choice that begins with the word ("resnet"), or else the nearest one. */
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

bool fgi_config_parse_choice(const fgi_config_key *key, const fgi_config_token *token,
                             fgi_config_item *out, fg_error *err)
{
    char choices[256];
    size_t size;
    const char *choice = choice_of(key->choices, token->text, &size);
    if (choice != NULL) {
        out->text = fgi_strndup(choice, size);
        return out->text != NULL || fgi_refuse_memory(err);
    }
    const char *ours = alias_of(key, token->text);
    if (ours != NULL) {
        out->text = fgi_strdup(ours);
        out->alias = fgi_strdup(token->text);
        return (out->text != NULL && out->alias != NULL) || fgi_refuse_memory(err);
    }
    if (key->later != NULL && fgi_config_is_listed(key->later, token->text))
        return fgi_refuse(err, "%s: this version does not support '%s': expected %s", key->path,
                          token->text, fgi_config_describe(key));
    (void)fgi_snprintf(choices, sizeof(choices), "%s", key->choices);
    const char *nearest = suggest(token->text, choices);
    if (nearest == NULL)
        return fgi_config_unexpected(key, token, err);
    return fgi_refuse(err, "%s: expected %s, got '%.80s': did you mean '%s'?", key->path,
                      fgi_config_describe(key), token->text, nearest);
}

bool fgi_config_parse_bool(const fgi_config_key *key, const fgi_config_token *token,
                           fgi_config_item *out, fg_error *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (int i = 0; i < 8 && !token->is_quoted; i++)
        if (fgi_compare_nocase(words[i], token->text) == 0) {
            out->whole = i % 2;
            return true;
        }
    return fgi_config_unexpected(key, token, err);
}
