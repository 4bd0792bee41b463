/* fill.c - the struct of a row: a block with the members that options are written to, and copies of
 * their strings and lists.
 *
 * A block is laid out twice: first to learn its size, then to write it. What a C program gives is
 * set like text, so that it is checked by the same code.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "option/option.h"

enum { ALIGNMENT = 8 };

/* ---- from values ----------------------------------------------------------------------------- */

typedef struct block {
    char *base; /* NULL: only the size is needed */
    size_t used;
} block;

/* A place for the bytes, which are copied there unless they are NULL. */
static void *take(block *b, const void *bytes, size_t size)
{
    char *at = b->base != NULL ? b->base + b->used : NULL;
    if (at != NULL && bytes != NULL)
        memcpy(at, bytes, size);
    b->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static const char *take_text(block *b, const char *text)
{
    return text != NULL ? take(b, text, strlen(text) + 1) : NULL;
}

/* The index of a word in "a|b|c". */
static int word_index(const char *words, const char *word)
{
    int index = 0;
    for (const char *at = words; at != NULL; at = strchr(at, '|'), index++) {
        at += index > 0;
        const size_t size = strcspn(at, "|");
        if (size == strlen(word) && strncmp(at, word, size) == 0)
            return index;
    }
    return 0;
}

/* An element of an array of integers, numbers or strings, at most 8 bytes. */
typedef union element {
    int64_t whole;
    double number;
    const char *text;
} element;

static element element_of(block *b, const fg_option *option, const fgi_option_item *item)
{
    if (option->kind == FG_OPTION_INTS)
        return (element){.whole = item->whole};
    if (option->kind == FG_OPTION_FLOATS)
        return (element){.number = item->number};
    return (element){.text = take_text(b, item->text)};
}

/* The elements are in the block, or in the member if their number is fixed. */
static void put_list(block *b, const fg_option *option, const fgi_option_value *v, void *member)
{
    const bool is_array = option->min_count > 0 && option->min_count == option->max_count;
    element *at = is_array ? member : take(b, NULL, v->count * sizeof *at);
    for (size_t i = 0; i < v->count; i++) {
        const element e = element_of(b, option, &v->items[i]);
        if (member != NULL)
            memcpy(&at[i], &e, sizeof e);
    }
    if (member != NULL && !is_array)
        memcpy(member, &(fg_ints){.at = (const int64_t *)at, .count = v->count}, sizeof(fg_ints));
}

static double automatic_of(const fg_option *option)
{
    return option->automatic != NULL ? fgi_strtod(option->automatic, NULL) : (double)NAN;
}

static void put_number(const fg_option *option, const fgi_option_value *v, void *member)
{
    const double automatic = automatic_of(option);
    if (option->kind == FG_OPTION_INT)
        *(int64_t *)member = v->count > 0       ? v->items[0].whole
                             : isnan(automatic) ? FG_AUTO
                                                : (int64_t)automatic;
    else
        *(double *)member = v->count > 0 ? v->items[0].number : automatic;
}

static void put_amount(const fgi_option_value *v, fg_amount *member)
{
    const fgi_option_item *item = v->count > 0 ? &v->items[0] : &(fgi_option_item){0};
    *member = (fg_amount){.fraction = item->is_fraction ? item->number : 0,
                          .count = item->is_fraction ? 0 : item->whole};
}

static void put_text(block *b, const fg_option *option, const fgi_option_value *v, void *member)
{
    const char *text = v->count > 0 ? v->items[0].text : option->automatic;
    const char *copy = option->is_enum ? NULL : take_text(b, text);
    if (member != NULL && option->is_enum)
        *(int *)member = text != NULL ? word_index(option->range, text) : 0;
    else if (member != NULL)
        *(const char **)member = copy;
}

static void put(block *b, const fg_option *option, const fgi_option_value *v, void *member)
{
    if (fg_option_is_list(option))
        put_list(b, option, v, member);
    else if (option->kind == FG_OPTION_STRING || option->kind == FG_OPTION_CHOICE ||
             option->kind == FG_OPTION_DEVICES)
        put_text(b, option, v, member);
    else if (member == NULL)
        return;
    else if (option->kind == FG_OPTION_BOOL)
        *(bool *)member = (v->count > 0 && v->items[0].whole != 0) != option->is_negated;
    else if (option->kind == FG_OPTION_AMOUNT)
        put_amount(v, member);
    else
        put_number(option, v, member);
}

static void lay_out(block *b, const fg_entry *entry, const fg_option_values *values)
{
    b->used = 0;
    char *self = take(b, NULL, entry->size);
    for (size_t i = 0; i < entry->option_count; i++)
        put(b, &entry->options[i], &values->values[i],
            self != NULL ? self + entry->options[i].offset : NULL);
}

fg_status fgi_row_create(const fg_entry *entry, const fg_option_values *values, void **out,
                         fg_error *err)
{
    block b = {0};
    lay_out(&b, entry, values);
    *out = b.base = fgi_calloc(1, b.used + 1);
    if (b.base == NULL)
        return fgi_no_memory(err);
    lay_out(&b, entry, values);
    return FG_OK;
}

/* ---- from a C program ------------------------------------------------------------------------ */

enum { NUMBER_SIZE = 32 };

typedef struct texts {
    fg_option_text at[FGI_MOST_ITEMS];
    char numbers[FGI_MOST_ITEMS][NUMBER_SIZE];
    size_t count;
} texts;

static void add_text(texts *t, const char *text)
{
    if (t->count < FGI_MOST_ITEMS)
        t->at[t->count++] = (fg_option_text){.text = text};
}

static void add_int(texts *t, int64_t value)
{
    if (t->count == FGI_MOST_ITEMS)
        return;
    (void)fgi_snprintf(t->numbers[t->count], NUMBER_SIZE, "%" PRId64, value == FG_NONE ? 0 : value);
    add_text(t, value == FG_AUTO ? "auto" : t->numbers[t->count]);
}

static void add_float(texts *t, double value)
{
    if (t->count == FGI_MOST_ITEMS)
        return;
    fgi_format_f64(value == 0 ? 0 : value, t->numbers[t->count], NUMBER_SIZE);
    add_text(t, t->numbers[t->count]);
}

/* The word with that index in "a|b|c", or its number. */
static void add_word(texts *t, const char *words, int index)
{
    for (int i = 0; i < index && words != NULL; i++)
        words = strchr(words, '|') != NULL ? strchr(words, '|') + 1 : NULL;
    if (words != NULL && index >= 0 && strcspn(words, "|") < NUMBER_SIZE)
        (void)fgi_snprintf(t->numbers[0], NUMBER_SIZE, "%.*s", (int)strcspn(words, "|"), words);
    else
        (void)fgi_snprintf(t->numbers[0], NUMBER_SIZE, "%d", index);
    add_text(t, t->numbers[0]);
}

static void add_amount(texts *t, fg_amount amount)
{
    if (amount.fraction == 0) {
        add_int(t, amount.count);
        return;
    }
    fgi_format_f64(amount.fraction, t->numbers[0], NUMBER_SIZE - 2);
    const bool has_point = strpbrk(t->numbers[0], ".e") != NULL;
    memcpy(t->numbers[0] + strlen(t->numbers[0]), has_point ? "" : ".0", has_point ? 1 : 3);
    add_text(t, t->numbers[0]);
}

static void add_list(texts *t, const fg_option *option, const void *member)
{
    const bool is_array = option->min_count > 0 && option->min_count == option->max_count;
    const fg_ints *list = member;
    const element *at = is_array ? member : (const element *)list->at;
    const size_t count = is_array ? option->min_count : list->count;
    for (size_t i = 0; i < count; i++) {
        if (option->kind == FG_OPTION_INTS)
            add_int(t, at[i].whole);
        else if (option->kind == FG_OPTION_FLOATS)
            add_float(t, at[i].number);
        else
            add_text(t, at[i].text);
    }
}

static size_t member_size(const fg_option *option)
{
    switch (option->kind) {
    case FG_OPTION_BOOL: return sizeof(bool);
    case FG_OPTION_CHOICE: return option->is_enum ? sizeof(int) : sizeof(char *);
    case FG_OPTION_AMOUNT: return sizeof(fg_amount);
    case FG_OPTION_INTS:
    case FG_OPTION_FLOATS:
        if (option->min_count > 0 && option->min_count == option->max_count)
            return option->min_count * sizeof(element);
        return sizeof(fg_ints);
    case FG_OPTION_STRINGS:
    case FG_OPTION_RULES:
    case FG_OPTION_ENTRIES: return sizeof(fg_strings);
    case FG_OPTION_INT:
    case FG_OPTION_FLOAT:
    case FG_OPTION_STRING:
    case FG_OPTION_DEVICES: return sizeof(element);
    }
    return 0;
}

/* A member whose bytes are all 0 is not given. */
static bool is_given(const char *member, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (member[i] != 0)
            return true;
    return false;
}

static void read_member(texts *t, const fg_option *option, const void *member)
{
    t->count = 0;
    if (fg_option_is_list(option))
        add_list(t, option, member);
    else if (option->kind == FG_OPTION_BOOL)
        add_text(t, *(const bool *)member != option->is_negated ? "true" : "false");
    else if (option->kind == FG_OPTION_AMOUNT)
        add_amount(t, *(const fg_amount *)member);
    else if (option->kind == FG_OPTION_INT)
        add_int(t, *(const int64_t *)member);
    else if (option->kind == FG_OPTION_FLOAT)
        add_float(t, *(const double *)member);
    else if (option->is_enum)
        add_word(t, option->range, *(const int *)member);
    else
        add_text(t, *(const char *const *)member);
}

static fg_status set_members(const fg_entry *entry, const char *given, fg_option_values *values,
                             texts *t, fg_error *err)
{
    for (size_t i = 0; i < entry->option_count; i++) {
        const fg_option *option = &entry->options[i];
        if (!is_given(given + option->offset, member_size(option)))
            continue;
        read_member(t, option, given + option->offset);
        FGI_TRY(fg_option_set_items(values, option->name, t->at, t->count, "", err));
    }
    return FG_OK;
}

fg_status fgi_row_of(const fg_entry *entry, const void *given, void **out, fg_error *err)
{
    fg_option_values *values = NULL;
    *out = NULL;
    FGI_TRY(
        fg_option_values_create(entry->name, entry->options, entry->option_count, &values, err));
    texts *t = fgi_alloc(sizeof *t);
    fg_status status = t != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK && given != NULL)
        status = set_members(entry, given, values, t, err);
    if (status == FG_OK)
        status = fgi_row_create(entry, values, out, err);
    fgi_free(t);
    fg_option_values_destroy(values);
    return status;
}

fg_status fgi_row_check(const fg_entry *entry, fg_error *err)
{
    for (size_t i = 0; i < entry->option_count; i++)
        if (entry->options[i].offset + member_size(&entry->options[i]) > entry->size)
            return fgi_fail(err, FG_EINVAL,
                            "option '%s' of '%s' is not a member of its struct: expected a row of "
                            "FG_OPTION, and the struct's size in fg_entry.size",
                            entry->options[i].name, entry->name);
    return FG_OK;
}

int64_t fg_amount_of(fg_amount amount, int64_t whole)
{
    if (amount.fraction == 0)
        return amount.count < whole ? amount.count : whole;
    const double part = floor(amount.fraction * (double)whole);
    return part < 1 && whole > 0 ? 1 : (int64_t)part;
}
