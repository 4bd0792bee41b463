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
    bool is_for_c; /* 0 is written as FG_ZERO or FG_NONE */
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
    if (option->kind == FG_OPTION_INTS || option->kind == FG_OPTION_MAP)
        return (element){.whole = item->whole};
    if (option->kind == FG_OPTION_FLOATS)
        return (element){.number = item->number};
    return (element){.text = take_text(b, item->text)};
}

/* Whether the member is an array, because the number of elements is fixed. */
static bool is_array(const fg_option *option)
{
    return option->min_count > 0 && option->min_count == option->max_count;
}

/* The numbers of "[0.9, 0.999]", the value of auto. */
static void put_automatic(const fg_option *option, double *out)
{
    char *at = (char *)option->automatic;
    for (size_t i = 0; i < option->min_count; i++)
        out[i] = fgi_strtod(at + strspn(at, "[, "), &at);
}

/* The elements are in the block, or in the member if their number is fixed. */
static void put_list(block *b, const fg_option *option, const fgi_option_value *v, void *member)
{
    const bool is_own = is_array(option);
    const size_t width = fgi_option_is_map(option) ? 2 : 1;
    element *at = is_own ? member : take(b, NULL, v->count * width * sizeof *at);
    if (is_own && member != NULL && v->is_auto && option->automatic != NULL)
        put_automatic(option, member);
    for (size_t i = 0; i < v->count; i++) {
        element e[] = {element_of(b, option, &v->items[i]), {.whole = (int64_t)v->items[i].number}};
        if (option->kind == FG_OPTION_STRING_MAP)
            e[1].text = take_text(b, v->items[i].value);
        if (member != NULL)
            memcpy(&at[width * i], e, width * sizeof *e);
    }
    if (is_own && member != NULL && v->is_auto && option->kind == FG_OPTION_INTS)
        at[0].whole = FG_AUTO;
    if (member != NULL && !is_own)
        memcpy(member, &(fg_ints){.at = (const int64_t *)at, .count = v->count}, sizeof(fg_ints));
}

static double automatic_of(const fg_option *option)
{
    return option->automatic != NULL ? fgi_strtod(option->automatic, NULL) : (double)NAN;
}

static int64_t whole_of(const block *b, int64_t value)
{
    return value == 0 && b->is_for_c ? FG_NONE : value;
}

static void put_number(const block *b, const fg_option *option, const fgi_option_value *v,
                       void *member)
{
    const double automatic = automatic_of(option);
    if (option->kind == FG_OPTION_INT) {
        const int64_t other = isnan(automatic) ? FG_AUTO : (int64_t)automatic;
        *(int64_t *)member = whole_of(b, v->count > 0 ? v->items[0].whole : other);
        return;
    }
    const double value = v->count > 0 ? v->items[0].number : automatic;
    *(double *)member = value == 0 && b->is_for_c ? FG_ZERO : value;
}

static void put_amount(const block *b, const fgi_option_value *v, fg_amount *member)
{
    const fgi_option_item *item = v->count > 0 ? &v->items[0] : &(fgi_option_item){0};
    const bool is_count = !item->is_fraction || item->number == 0;
    *member = (fg_amount){.fraction = is_count ? 0 : item->number,
                          .count = is_count ? whole_of(b, item->whole) : 0};
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
        put_amount(b, v, member);
    else
        put_number(b, option, v, member);
}

static void lay_out(block *b, const fg_entry *entry, const fg_option_values *values)
{
    b->used = 0;
    char *self = take(b, NULL, entry->size);
    for (size_t i = 0; i < entry->option_count; i++)
        put(b, &entry->options[i], &values->values[i],
            self != NULL ? self + entry->options[i].offset : NULL);
}

fg_status fgi_option_put(fg_option_values *values, const fg_option *option, void *self,
                         fg_error *err)
{
    const fgi_option_value *v = &values->values[option - values->options];
    block b = {.base = NULL};
    put(&b, option, v, NULL);
    b.base = fgi_arena_alloc(&values->arena, b.used + 1);
    if (b.base == NULL)
        return fgi_no_memory(err);
    b.used = 0;
    put(&b, option, v, (char *)self + option->offset);
    return FG_OK;
}

static fg_status create(const fg_entry *entry, const fg_option_values *values, bool is_for_c,
                        void **out, fg_error *err)
{
    block b = {.is_for_c = is_for_c};
    *out = NULL;
    FGI_TRY(fgi_row_check(entry, err));
    lay_out(&b, entry, values);
    *out = b.base = fgi_calloc(1, b.used + 1);
    if (b.base == NULL)
        return fgi_no_memory(err);
    lay_out(&b, entry, values);
    return FG_OK;
}

fg_status fgi_entry_values(const fg_entry *entry, const char *text, fg_option_values **out,
                           fg_error *err)
{
    FGI_TRY(fg_option_values_create(entry->name, entry->options, entry->option_count, out, err));
    const fg_status status = fg_option_set_all(*out, text, NULL, err);
    if (status == FG_OK)
        return FG_OK;
    fg_option_values_destroy(*out);
    *out = NULL;
    return status;
}

fg_status fgi_row_create(const fg_entry *entry, const fg_option_values *values, void **out,
                         fg_error *err)
{
    return create(entry, values, false, out, err);
}

fg_status fgi_row_create_for_c(const fg_entry *entry, const fg_option_values *values, void **out,
                               fg_error *err)
{
    return create(entry, values, true, out, err);
}

fg_status fgi_row_begin(const fg_entry *entry, const fg_option_values *values, fgi_row_init *init,
                        void (*destroy)(void *self), void **out, fg_error *err)
{
    FGI_TRY(fgi_row_create(entry, values, out, err));
    const fg_status status = init != NULL ? init(*out, values, err) : FG_OK;
    if (status == FG_OK)
        return FG_OK;
    destroy(*out);
    *out = NULL;
    return status;
}

/* ---- from a C program ------------------------------------------------------------------------ */

enum { NUMBER_SIZE = 32 };

/* The text of a member, whose memory is the arena of the values. */
typedef struct texts {
    fgi_arena *arena;
    fg_option_text *at;
    size_t count;
    bool has_failed; /* out of memory */
} texts;

static void add_text(texts *t, const char *text)
{
    t->at[t->count++] = (fg_option_text){.text = text != NULL ? text : ""};
}

static void add_copy(texts *t, const char *text)
{
    const char *copy = fgi_arena_strdup(t->arena, text);
    t->has_failed = t->has_failed || copy == NULL;
    add_text(t, copy);
}

static void add_int(texts *t, int64_t value)
{
    char text[NUMBER_SIZE];
    (void)fgi_snprintf(text, sizeof text, "%" PRId64, value == FG_NONE ? 0 : value);
    add_copy(t, value == FG_AUTO ? "auto" : text);
}

static void add_float(texts *t, const fg_option *option, double value)
{
    char text[2 * NUMBER_SIZE];
    const bool is_whole = value == rint(value) && fabs(value) < 1e15;
    const bool is_duration = option->kind == FG_OPTION_DURATION;
    if (isnan(value) && fgi_option_range_of(option).has_auto)
        (void)fgi_snprintf(text, sizeof text, "auto");
    else if (is_duration || is_whole)
        (void)fgi_snprintf(text, sizeof text, is_duration ? "%.*fs" : "%.*f", is_whole ? 0 : 9,
                           value == 0 ? 0 : value);
    else
        fgi_format_f64(value, text, sizeof text);
    add_copy(t, text);
}

/* The word with that index in "a|b|c", or its number. */
static void add_word(texts *t, const char *words, int index)
{
    char text[64];
    for (int i = 0; i < index && words != NULL; i++)
        words = strchr(words, '|') != NULL ? strchr(words, '|') + 1 : NULL;
    if (words != NULL && index >= 0)
        (void)fgi_snprintf(text, sizeof text, "%.*s", (int)strcspn(words, "|"), words);
    else
        (void)fgi_snprintf(text, sizeof text, "%d", index);
    add_copy(t, text);
}

/* A fraction has a decimal point. */
static void add_amount(texts *t, fg_amount amount)
{
    char text[NUMBER_SIZE], number[NUMBER_SIZE];
    if (amount.fraction == 0) {
        add_int(t, amount.count);
        return;
    }
    if (amount.count != 0) { /* neither: refused */
        add_copy(t, "a fraction and a count");
        return;
    }
    fgi_format_f64(amount.fraction, number, sizeof number);
    (void)fgi_snprintf(text, sizeof text, "%s%s", number,
                       strpbrk(number, ".e") != NULL ? "" : ".0");
    add_copy(t, text);
}

static size_t element_count(const fg_option *option, const void *member)
{
    if (!fg_option_is_list(option))
        return 1;
    return is_array(option) ? option->min_count : ((const fg_ints *)member)->count;
}

static void add_element(texts *t, const fg_option *option, element e)
{
    if (option->kind == FG_OPTION_INTS || option->kind == FG_OPTION_MAP)
        add_int(t, e.whole);
    else if (option->kind == FG_OPTION_FLOATS)
        add_float(t, option, e.number);
    else
        add_text(t, e.text);
}

static void add_pair(texts *t, const fg_option *option, const element pair[2])
{
    add_element(t, option, pair[0]);
    const char *key = t->at[--t->count].text;
    add_element(t, option, pair[1]);
    t->at[t->count - 1].key = key;
}

static void add_list(texts *t, const fg_option *option, const void *member, size_t count)
{
    const element *at = is_array(option) ? member : *(const element *const *)member;
    const bool is_auto =
        is_array(option) && option->kind == FG_OPTION_INTS && at[0].whole == FG_AUTO;
    for (size_t i = 0; i < (is_auto ? 1 : count); i++)
        if (fgi_option_is_map(option))
            add_pair(t, option, &at[2 * i]);
        else
            add_element(t, option, at[i]);
}

static size_t member_size(const fg_option *option)
{
    switch (option->kind) {
    case FG_OPTION_BOOL: return sizeof(bool);
    case FG_OPTION_CHOICE: return option->is_enum ? sizeof(int) : sizeof(char *);
    case FG_OPTION_AMOUNT: return sizeof(fg_amount);
    case FG_OPTION_INTS:
    case FG_OPTION_FLOATS:
        return is_array(option) ? option->min_count * sizeof(element) : sizeof(fg_ints);
    case FG_OPTION_STRINGS:
    case FG_OPTION_STRING_MAP:
    case FG_OPTION_MAP:
    case FG_OPTION_ENTRIES: return sizeof(fg_strings);
    case FG_OPTION_INT:
    case FG_OPTION_FLOAT:
    case FG_OPTION_DURATION:
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
    if (fg_option_is_list(option))
        add_list(t, option, member, element_count(option, member));
    else if (option->kind == FG_OPTION_BOOL)
        add_text(t, *(const bool *)member != option->is_negated ? "true" : "false");
    else if (option->kind == FG_OPTION_AMOUNT)
        add_amount(t, *(const fg_amount *)member);
    else if (option->kind == FG_OPTION_INT)
        add_int(t, *(const int64_t *)member);
    else if (option->kind == FG_OPTION_FLOAT || option->kind == FG_OPTION_DURATION)
        add_float(t, option, *(const double *)member);
    else if (option->is_enum)
        add_word(t, option->range, *(const int *)member);
    else
        add_text(t, *(const char *const *)member);
}

static fg_status set_member(fg_option_values *values, const fg_option *option, const void *member,
                            fg_error *err)
{
    const size_t count = element_count(option, member);
    texts t = {.arena = &values->arena};
    t.at = fgi_arena_alloc(&values->arena, (count + 1) * sizeof *t.at);
    if (t.at == NULL)
        return fgi_no_memory(err);
    read_member(&t, option, member);
    if (t.has_failed)
        return fgi_no_memory(err);
    return fg_option_set_items(values, option->name, &(fg_option_items){t.at, t.count, NULL}, err);
}

static fg_status set_members(const fg_entry *entry, const char *given, fg_option_values *values,
                             fg_error *err)
{
    for (size_t i = 0; i < entry->option_count; i++) {
        const char *member = given + entry->options[i].offset;
        if (is_given(member, member_size(&entry->options[i])))
            FGI_TRY(set_member(values, &entry->options[i], member, err));
    }
    return FG_OK;
}

/* Members that no option fills are those of the given struct. */
void fgi_row_keep_others(const fg_entry *entry, const void *from, void *to)
{
    const char *given = from;
    char *out = to;
    size_t at = 0;
    while (at < entry->size) {
        size_t next = entry->size, end = entry->size;
        for (size_t i = 0; i < entry->option_count; i++) {
            const size_t offset = entry->options[i].offset;
            if (offset >= at && offset < next) {
                next = offset;
                end = offset + member_size(&entry->options[i]);
            }
        }
        memcpy(out + at, given + at, next - at);
        at = end;
    }
}

fg_status fgi_row_values(const fg_entry *entry, const void *given, fg_option_values **out,
                         fg_error *err)
{
    FGI_TRY(fg_option_values_create(entry->name, entry->options, entry->option_count, out, err));
    const fg_status status = given != NULL ? set_members(entry, given, *out, err) : FG_OK;
    if (status == FG_OK)
        return FG_OK;
    fg_option_values_destroy(*out);
    *out = NULL;
    return status;
}

fg_status fgi_row_of(const fg_entry *entry, const void *given, void **out, fg_error *err)
{
    fg_option_values *values = NULL;
    *out = NULL;
    FGI_TRY(fgi_row_values(entry, given, &values, err));
    const fg_status status = fgi_row_create(entry, values, out, err);
    if (status == FG_OK && given != NULL)
        fgi_row_keep_others(entry, given, *out);
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

fg_status fgi_option_add_place(const fg_option_values *values, fg_status status, fg_error *err)
{
    char where[448], message[sizeof err->message];
    const size_t size = err != NULL ? strcspn(err->message, ":") : 0;
    for (size_t i = 0; err != NULL && i < values->count; i++) {
        const char *name = values->options[i].name;
        if (strlen(name) != size || strncmp(name, err->message, size) != 0)
            continue;
        memcpy(message, err->message, sizeof message);
        (void)fgi_snprintf(err->message, sizeof err->message, "%s%s",
                           fg_option_where(values, name, where, sizeof where), message + size);
        break;
    }
    return status;
}

int64_t fg_amount_of(fg_amount amount, int64_t whole)
{
    if (amount.fraction == 0)
        return amount.count < whole ? amount.count : whole;
    const double part = floor(amount.fraction * (double)whole);
    return part < 1 && whole > 0 ? 1 : (int64_t)part;
}
