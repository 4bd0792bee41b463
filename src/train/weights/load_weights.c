/* load_weights.c - matches tensors of a file to variables. The whole module is matched before the
 * first variable is set, so that a failure changes nothing and the report lists all mismatches.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/reserved.h"
#include "base/text.h"
#include "input/json_file.h"
#include "nn/published_names.h"
#include "optim/optimizer.h"
#include "trace/trace.h"
#include "train/weights/weight_files.h"

/* Tensors of a file, joined along their first dimension: the value of one variable. */
typedef struct pieces {
    size_t tensor[FGI_NAME_PARTS]; /* indices in the checkpoint */
    int count;                     /* 0: none */
} pieces;

static const fg_load_options strict; /* those of a checkpoint */

/* Everything that a report owns is in one of these blocks. */
typedef struct matching {
    const fg_ckpt *ckpt;
    const char *path;
    const fg_load_options *options;
    fg_load_entry *entries; /* of the variables, then of unexpected tensors */
    struct {
        fg_variable *variable; /* NULL for a tensor */
        pieces parts;
    } * of;                /* by entry */
    bool *is_used;         /* by tensor */
    size_t count, outside; /* tensors without the prefix */
    size_t counts[5];
} matching;

/* ---- types ----------------------------------------------------------------------------------- */

/* Floating-point dtypes are converted, others must be equal. */
static bool fits(const fg_type *found, const fg_type *expected)
{
    fg_type type = *found;
    if (fg_dtype_is_float(found->dtype) && fg_dtype_is_float(expected->dtype))
        type.dtype = expected->dtype;
    return fg_type_equal(&type, expected);
}

static fg_status missing(const char *path, const char *name, const fg_type *expected, fg_error *err)
{
    char want[96];
    return fgi_fail(err, FG_EFORMAT, "%s: has no '%s', which is %s in the model", path, name,
                    fg_type_format(expected, want, sizeof want));
}

#define QUANTIZED                                                                                  \
    "\nintegers are quantized weights, which are not supported: expected f32, bf16 or f16"

static const char *type_text(const fg_tensor_info *info, char *text, size_t size)
{
    return info->stored != NULL ? info->stored : fg_type_format(&info->type, text, size);
}

static fg_status mismatched(const char *path, const char *name, const fg_tensor_info *found,
                            const fg_type *expected, fg_error *err)
{
    char want[96], have[96];
    return fgi_fail(
        err, FG_ESHAPE, "%s: '%s' is %s, but %s in the model%s", path, name,
        type_text(found, have, sizeof have), fg_type_format(expected, want, sizeof want),
        found->stored != NULL ? "\nthis dtype or rank is not supported: convert the tensor"
        : fg_dtype_is_float(expected->dtype) && !fg_dtype_is_float(found->type.dtype) ? QUANTIZED
                                                                                      : "");
}

/* Sets the variable from the tensor with that name; `path` is for messages. */
static fg_status load_named(const fg_ckpt *ckpt, const char *path, fg_ckpt_part part,
                            const char *name, fg_variable *variable, fg_error *err)
{
    size_t index = 0;
    const fg_type expected = fgi_file_type(variable);
    if (!fg_ckpt_find(ckpt, part, name, &index))
        return missing(path, name, &expected, err);
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    if (!fits(&info->type, &expected))
        return mismatched(path, name, info, &expected, err);
    return fgi_set_from_file(variable, info->type.dtype, fg_ckpt_data(ckpt, index), err);
}

/* ---- the match ------------------------------------------------------------------------------- */

static size_t model_tensors(const fg_ckpt *ckpt)
{
    size_t count = 0;
    while (fg_ckpt_info(ckpt, count) != NULL && fg_ckpt_info(ckpt, count)->part == FG_CKPT_MODEL)
        count++;
    return count;
}

static const char *prefix_of(const matching *p)
{
    return p->options->prefix != NULL ? p->options->prefix : "";
}

/* Bytes of the prefixes with which the name begins: that of the options, and of a form. */
static size_t prefix_size(const matching *p, const char *name)
{
    const fg_published *form = p->options->model != NULL ? p->options->model->published : NULL;
    const size_t before = strlen(prefix_of(p));
    for (; form != NULL && form->architecture != NULL; form++)
        if (form->prefix != NULL && strncmp(name + before, form->prefix, strlen(form->prefix)) == 0)
            return before + strlen(form->prefix);
    return before;
}

static bool is_skipped(const matching *p, const char *name)
{
    for (size_t i = 0; i < p->options->skip_count; i++)
        if (fnmatch(p->options->skip[i], name, 0) == 0)
            return true;
    return false;
}

/* Whether the file has a tensor with this name, less the first bytes. */
static bool find_part(const matching *p, const fgi_buf *name, size_t without, size_t *out_index)
{
    return !name->failed &&
           fg_ckpt_find(p->ckpt, FG_CKPT_MODEL, fgi_buf_text(name) + without, out_index);
}

/* The tensors that a rule names, with and without the prefix that files without a head lack. */
static pieces find_renamed(const matching *p, const fg_published *form, const fg_name_rule *rule,
                           const char *name, fgi_buf *full)
{
    const size_t size = form->prefix != NULL ? strlen(form->prefix) : 0;
    const char *theirs;
    pieces found = {.count = 0};
    while (found.count < FGI_NAME_PARTS &&
           (theirs = fgi_name_part(rule->theirs, found.count)) != NULL) {
        size_t *tensor = &found.tensor[found.count++];
        fgi_buf_clear(full);
        fgi_buf_puts(full, prefix_of(p));
        const size_t at = full->size;
        if (!fgi_rename(rule->ours, theirs, name, full) ||
            (!find_part(p, full, 0, tensor) &&
             (size == 0 || at > 0 || strncmp(fgi_buf_text(full), form->prefix, size) != 0 ||
              !find_part(p, full, size, tensor))))
            return (pieces){.count = 0};
    }
    return found;
}

/* Looks for the name in one form. */
static pieces find_published(const matching *p, const fg_published *form, const char *name,
                             fgi_buf *full)
{
    pieces found = {.count = 0};
    fgi_buf_clear(full);
    fgi_buf_printf(full, "%s%s%s", prefix_of(p), form->prefix != NULL ? form->prefix : "", name);
    found.count = find_part(p, full, 0, &found.tensor[0]);
    for (const fg_name_rule *r = form->names; r != NULL && r->ours != NULL && found.count == 0; r++)
        found = find_renamed(p, form, r, name, full);
    return found;
}

/* The tensors for a variable. */
static fg_status find(const matching *p, const char *name, pieces *out, fg_error *err)
{
    const fg_published *form = p->options->model != NULL ? p->options->model->published : NULL;
    fgi_buf full = {0};
    fgi_buf_printf(&full, "%s%s", prefix_of(p), name);
    out->count = find_part(p, &full, 0, &out->tensor[0]);
    for (; form != NULL && form->architecture != NULL && out->count == 0; form++)
        *out = find_published(p, form, name, &full);
    const fg_status status = fgi_buf_status(&full, err);
    fgi_buf_fini(&full);
    return status;
}

/* The type of the joined tensors; the first one's if they cannot be joined. */
static fg_type type_of(const matching *p, const pieces *parts)
{
    fg_type type = fg_ckpt_info(p->ckpt, parts->tensor[0])->type;
    int64_t rows = type.rank > 0 ? type.dim[0] : 0;
    for (int i = 1; i < parts->count; i++) {
        fg_type next = fg_ckpt_info(p->ckpt, parts->tensor[i])->type;
        rows += next.dim[0];
        next.dim[0] = type.dim[0];
        if (type.rank == 0 || !fg_type_equal(&next, &type))
            return type;
    }
    if (parts->count > 1)
        type.dim[0] = rows;
    return type;
}

static void add(matching *p, const fg_load_entry *entry)
{
    p->entries[p->count++] = *entry;
    p->counts[entry->outcome]++;
}

static fg_status match_variable(matching *p, fg_variable *variable, fg_error *err)
{
    pieces parts = {.count = 0};
    fg_load_entry entry = {.name = fg_variable_name(variable), .expected = fgi_file_type(variable)};
    FGI_TRY(find(p, entry.name, &parts, err));
    if (parts.count > 0)
        entry.found = type_of(p, &parts);
    for (int i = 0; i < parts.count; i++)
        p->is_used[parts.tensor[i]] = true;
    if (is_skipped(p, entry.name))
        entry.outcome = FG_LOAD_SKIPPED;
    else if (parts.count == 0)
        entry.outcome = FG_LOAD_MISSING;
    else if (!fits(&entry.found, &entry.expected))
        entry.outcome = FG_LOAD_MISMATCHED;
    p->of[p->count].variable = variable;
    p->of[p->count].parts = parts;
    add(p, &entry);
    return FG_OK;
}

static fg_status match_all(matching *p, const fg_module *module, fg_error *err)
{
    const size_t there = model_tensors(p->ckpt), size = strlen(prefix_of(p));
    const size_t most = fg_module_variable_count(module) + there + 1;
    p->entries = fgi_calloc(most, sizeof *p->entries);
    p->of = fgi_calloc(most, sizeof *p->of);
    p->is_used = fgi_calloc(there + 1, sizeof *p->is_used);
    if (p->entries == NULL || p->of == NULL || p->is_used == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < fg_module_variable_count(module); i++) {
        fg_variable *variable = fg_module_variable_at(module, i);
        if (fg_variable_kind_of(variable) != FG_STATE)
            FGI_TRY(match_variable(p, variable, err));
    }
    for (size_t i = 0; i < there; i++) {
        const fg_tensor_info *info = fg_ckpt_info(p->ckpt, i);
        const bool is_outside = strncmp(info->name, prefix_of(p), size) != 0;
        p->outside += is_outside;
        if (!is_outside && !p->is_used[i])
            add(p, &(fg_load_entry){
                       .name = info->name, .outcome = FG_LOAD_UNEXPECTED, .found = info->type});
    }
    return FG_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Whether the variable is not loaded because it belongs to a new head. */
static bool is_new_head(const matching *p, const fg_load_entry *entry)
{
    const fg_model_entry *model = p->options->model;
    return p->options->new_head && model != NULL && model->head != NULL &&
           (entry->outcome == FG_LOAD_MISSING || entry->outcome == FG_LOAD_MISMATCHED) &&
           fnmatch(model->head, entry->name, FNM_EXTMATCH) == 0;
}

static const fg_load_entry *first_of(const matching *p, fg_load_outcome outcome)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->entries[i].outcome == outcome && !is_new_head(p, &p->entries[i]))
            return &p->entries[i];
    return NULL;
}

static const fg_tensor_info *tensor_of(const matching *p, const fg_load_entry *entry)
{
    return fg_ckpt_info(p->ckpt, p->of[entry - p->entries].parts.tensor[0]);
}

/* The first names of variables, or of tensors. */
static void put_names(fgi_buf *out, const matching *p, bool of_tensors, size_t most)
{
    size_t shown = 0;
    for (size_t i = 0; i < p->count; i++) {
        const fg_load_entry *entry = &p->entries[i];
        if ((entry->outcome == FG_LOAD_UNEXPECTED) != of_tensors || shown > most)
            continue;
        fgi_buf_printf(out, "%s%s", shown > 0 ? ", " : "", shown < most ? entry->name : "...");
        shown++;
    }
    if (shown == 0)
        fgi_buf_puts(out, "none");
}

/* A pattern that matches nothing is an error. */
static fg_status check_patterns(const matching *p, fg_error *err)
{
    for (size_t i = 0; i < p->options->skip_count; i++) {
        const char *pattern = p->options->skip[i];
        bool is_matched = false;
        for (size_t k = 0; k < p->count && !is_matched; k++)
            is_matched = p->of[k].variable != NULL && fnmatch(pattern, p->entries[k].name, 0) == 0;
        if (is_matched)
            continue;
        fgi_buf names = {0};
        put_names(&names, p, false, 6);
        const fg_status status =
            fgi_fail(err, FG_ENOTFOUND, "skip '%s' matches no variable: the module has %s", pattern,
                     names.data != NULL ? names.data : "");
        fgi_buf_fini(&names);
        return status;
    }
    return FG_OK;
}

/* Tensors without the prefix are not among the entries. */
static void put_outside(fgi_buf *out, const matching *p, size_t most)
{
    for (size_t i = 0; i < most && fg_ckpt_info(p->ckpt, i) != NULL; i++)
        fgi_buf_printf(out, "%s%s", i > 0 ? ", " : "", fg_ckpt_info(p->ckpt, i)->name);
    fgi_buf_puts(out, model_tensors(p->ckpt) > most ? ", ..." : "");
}

static fg_status nothing_fits(const matching *p, fg_error *err)
{
    fgi_buf names = {0};
    const bool has_prefix = *prefix_of(p) != '\0';
    const bool is_prefix_wrong = has_prefix && p->counts[FG_LOAD_UNEXPECTED] == 0;
    if (is_prefix_wrong)
        fgi_buf_printf(&names, "no tensor's name starts with '%s'", prefix_of(p));
    else
        fgi_buf_printf(&names, "no tensor%s%s%s matches a variable of the module",
                       has_prefix ? " whose name starts with '" : "", prefix_of(p),
                       has_prefix ? "'" : "");
    fgi_buf_puts(&names, ": the file has ");
    if (is_prefix_wrong)
        put_outside(&names, p, 4);
    else
        put_names(&names, p, true, 4);
    fgi_buf_puts(&names, "; the module has ");
    put_names(&names, p, false, 4);
    const fg_status status = fgi_fail(err, FG_EFORMAT, "%s: %s", p->path,
                                      names.data != NULL ? names.data : "nothing matches");
    fgi_buf_fini(&names);
    return status;
}

/* A tensor that nothing uses and whose name, without the prefixes, is close; NULL: none. */
static const char *nearest_tensor(const matching *p, const char *name)
{
    const char **names = fgi_calloc(p->counts[FG_LOAD_UNEXPECTED] + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names != NULL && i < p->count; i++)
        if (p->entries[i].outcome == FG_LOAD_UNEXPECTED)
            names[count++] = p->entries[i].name + prefix_size(p, p->entries[i].name);
    const char *found = fgi_nearest(name, names, count);
    fgi_free((void *)names);
    return found;
}

/* A tensor whose name is a prefix and this one; NULL: none. */
static const char *prefixed_tensor(const matching *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++) {
        const char *found = p->entries[i].name;
        if (p->entries[i].outcome == FG_LOAD_UNEXPECTED && fgi_ends_with(found, name) &&
            strlen(found) > strlen(name))
            return found;
    }
    return NULL;
}

static fg_status missing_variable(const matching *p, const fg_load_entry *entry, fg_error *err)
{
    const fg_status status = missing(p->path, entry->name, &entry->expected, err);
    const char *whole = prefixed_tensor(p, entry->name), *near = nearest_tensor(p, entry->name);
    if (err == NULL || (whole == NULL && near == NULL))
        return status;
    const fg_error why = *err;
    if (whole == NULL)
        return fgi_fail(err, status, "%s; it has '%s'", why.message, near);
    return fgi_fail(err, status, "%s; it has '%s': the prefix '%.*s' is not given", why.message,
                    whole, (int)(strlen(whole) - strlen(entry->name)), whole);
}

static fg_status check(const matching *p, fg_error *err)
{
    const fg_load_options *o = p->options;
    const size_t variables = p->count - p->counts[FG_LOAD_UNEXPECTED];
    FGI_TRY(check_patterns(p, err));
    if (variables > 0 && p->counts[FG_LOAD_MISSING] == variables)
        return o->allow_missing || *prefix_of(p) != '\0' ? nothing_fits(p, err)
                                                         : missing_variable(p, &p->entries[0], err);
    const fg_load_entry *entry = first_of(p, FG_LOAD_MISSING);
    if (entry != NULL && !o->allow_missing)
        return missing_variable(p, entry, err);
    entry = first_of(p, FG_LOAD_MISMATCHED);
    if (entry != NULL && !o->allow_mismatch)
        return mismatched(p->path, entry->name, tensor_of(p, entry), &entry->expected, err);
    entry = first_of(p, FG_LOAD_UNEXPECTED);
    if (entry != NULL && o->deny_unexpected)
        return fgi_fail(err, FG_EFORMAT, "%s: '%s' matches no variable of the module", p->path,
                        entry->name);
    if (variables > 0 && p->counts[FG_LOAD_DONE] == 0)
        return nothing_fits(p, err);
    return FG_OK;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void put_entry(fgi_buf *out, const matching *p, const fg_load_entry *entry, bool is_first)
{
    char found[96], expected[96];
    fgi_buf_printf(out, "%s%s", is_first ? "" : ", ", entry->name);
    if (entry->outcome == FG_LOAD_MISMATCHED)
        fgi_buf_printf(out, " (%s, not %s)", type_text(tensor_of(p, entry), found, sizeof found),
                       fg_type_format(&entry->expected, expected, sizeof expected));
}

/* "; a new head with random weights: fc.weight, fc.bias" */
static void put_head(fgi_buf *out, const matching *p)
{
    const char *before = "; a new head with random weights: ";
    for (size_t i = 0; i < p->count; i++)
        if (is_new_head(p, &p->entries[i])) {
            fgi_buf_printf(out, "%s%s", before, p->entries[i].name);
            before = ", ";
        }
}

/* If loading fails, no variable is changed: the report only lists what would match. */
static void put_text(fgi_buf *out, const matching *p, bool is_loaded)
{
    static const char *const titles[] = {
        [FG_LOAD_SKIPPED] = "skipped",
        [FG_LOAD_MISSING] = "not in the file",
        [FG_LOAD_MISMATCHED] = "with a different shape in the file",
        [FG_LOAD_UNEXPECTED] = "in the file only",
    };
    fgi_buf_printf(out, "%s: %zu of %zu variables %s", p->path, p->counts[FG_LOAD_DONE],
                   p->count - p->counts[FG_LOAD_UNEXPECTED],
                   is_loaded ? "loaded" : "match, none was loaded");
    if (p->outside > 0)
        fgi_buf_printf(out, "; %zu tensor%s without the prefix '%s' ignored", p->outside,
                       fgi_s(p->outside), prefix_of(p));
    put_head(out, p);
    for (int outcome = FG_LOAD_SKIPPED; outcome <= FG_LOAD_UNEXPECTED; outcome++) {
        bool is_first = true;
        if (p->counts[outcome] > 0)
            fgi_buf_printf(out, "\n  %s: ", titles[outcome]);
        for (size_t i = 0; i < p->count; i++)
            if (p->entries[i].outcome == (fg_load_outcome)outcome) {
                put_entry(out, p, &p->entries[i], is_first);
                is_first = false;
            }
    }
}

/* The checkpoint is closed before the report is read, so names are copied, after the text. */
static fg_status fill_report(const matching *p, bool is_loaded, fg_load_report *report,
                             fg_error *err)
{
    fgi_buf text = {0};
    put_text(&text, p, is_loaded);
    fgi_buf_putc(&text, '\0');
    const size_t names = text.size;
    for (size_t i = 0; i < p->count; i++)
        fgi_buf_add(&text, p->entries[i].name, strlen(p->entries[i].name) + 1);
    fg_status status = fgi_buf_status(&text, err);
    fg_load_entry *entries = fgi_calloc(p->count + 1, sizeof *entries);
    char *block = status == FG_OK ? fgi_buf_take(&text) : NULL;
    fgi_buf_fini(&text);
    if (entries == NULL || block == NULL) {
        fgi_free(entries);
        fgi_free(block);
        return fgi_no_memory(err);
    }
    const char *name = block + names;
    for (size_t i = 0; i < p->count; i++) {
        entries[i] = p->entries[i];
        entries[i].name = name;
        name += strlen(name) + 1;
    }
    *report = (fg_load_report){.entries = entries, .entry_count = p->count, .text = block};
    memcpy(report->counts, p->counts, sizeof report->counts);
    return FG_OK;
}

void fg_load_report_fini(fg_load_report *report)
{
    fgi_free((void *)report->entries);
    fgi_free((void *)report->text);
    *report = (fg_load_report){0};
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Sets a variable from several tensors of one dtype. */
static fg_status set_joined(const matching *p, fg_variable *variable, const pieces *parts,
                            fg_error *err)
{
    size_t size = 0;
    for (int i = 0; i < parts->count; i++)
        size += fg_ckpt_info(p->ckpt, parts->tensor[i])->size_bytes;
    char *whole = fgi_alloc(size > 0 ? size : 1), *at = whole;
    if (whole == NULL)
        return fgi_no_memory(err);
    for (int i = 0; i < parts->count; i++) {
        const size_t bytes = fg_ckpt_info(p->ckpt, parts->tensor[i])->size_bytes;
        memcpy(at, fg_ckpt_data(p->ckpt, parts->tensor[i]), bytes);
        at += bytes;
    }
    const fg_dtype dtype = fg_ckpt_info(p->ckpt, parts->tensor[0])->type.dtype;
    const fg_status status = fgi_set_from_file(variable, dtype, whole, err);
    fgi_free(whole);
    return status;
}

/* The first element that is NaN or infinite, whose exponent is all ones; SIZE_MAX: none. */
static size_t first_infinite(const fg_tensor_info *info, const unsigned char *data)
{
    const fg_dtype dtype = info->type.dtype;
    const size_t size = fg_dtype_size(dtype);
    const unsigned high = dtype == FG_F16 ? 0x7c : 0x7f;
    const unsigned low = dtype == FG_F16 ? 0 : dtype == FG_F64 ? 0xf0 : 0x80;
    if (!fg_dtype_is_float(dtype))
        return SIZE_MAX;
    for (size_t i = 0; i < info->size_bytes; i += size)
        if ((data[i + size - 1] & high) == high && (data[i + size - 2] & low) == low)
            return i / size;
    return SIZE_MAX;
}

/* Training from such weights diverges at once. */
static void warn_of_infinite(const matching *p)
{
    const char *name = NULL;
    size_t first = 0, count = 0;
    for (size_t i = 0; p->options != &strict && i < p->count; i++)
        for (int k = 0; k < p->of[i].parts.count && p->entries[i].outcome == FG_LOAD_DONE; k++) {
            const fg_tensor_info *info = fg_ckpt_info(p->ckpt, p->of[i].parts.tensor[k]);
            const size_t at = first_infinite(info, fg_ckpt_data(p->ckpt, p->of[i].parts.tensor[k]));
            first = at != SIZE_MAX && count == 0 ? at : first;
            name = at != SIZE_MAX && count == 0 ? info->name : name;
            count += at != SIZE_MAX;
        }
    if (count > 0)
        fgi_log(FG_LOG_WARNING,
                "%s: %zu tensor%s with values that are NaN or infinite: element %zu of '%s' is the "
                "first",
                p->path, count, fgi_s((int64_t)count), first, name);
}

static fg_status set_all(const matching *p, fg_error *err)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->entries[i].outcome == FG_LOAD_DONE)
            FGI_TRY(p->of[i].parts.count > 1
                        ? set_joined(p, p->of[i].variable, &p->of[i].parts, err)
                        : fgi_set_from_file(p->of[i].variable, p->entries[i].found.dtype,
                                            fg_ckpt_data(p->ckpt, p->of[i].parts.tensor[0]), err));
    return FG_OK;
}

fg_status fgi_weights_load(const fg_module *module, const fg_ckpt *ckpt, const char *path,
                           const fg_load_options *options, fg_load_report *report, fg_error *err)
{
    matching p = {.ckpt = ckpt, .path = path, .options = options != NULL ? options : &strict};
    fg_status status;
    FGI_DONE(match_all(&p, module, err));
    status = check(&p, err);
    if (report != NULL && fill_report(&p, status == FG_OK, report, NULL) != FG_OK)
        status = fgi_no_memory(err);
    if (status == FG_OK)
        warn_of_infinite(&p);
    if (status == FG_OK)
        status = set_all(&p, err);
done:
    fgi_free(p.is_used);
    fgi_free(p.of);
    fgi_free(p.entries);
    return status;
}

/* ---- optimizers and states ------------------------------------------------------------------- */

/* ---- names for messages ---------------------------------------------------------------------- */

/* A list of names for a message: the first few, and how many more. */
typedef struct name_list {
    fgi_buf text;
    size_t count;
} name_list;

static void list_name(name_list *list, const char *name)
{
    enum { SHOWN = 4 };
    if (list->count < SHOWN)
        fgi_buf_printf(&list->text, "%s'%s'", list->count > 0 ? ", " : "", name);
    else if (list->count == SHOWN)
        fgi_buf_puts(&list->text, ", ...");
    list->count++;
}

/* "path: what: 'a', 'b'", unless the list is empty. */
static void warn_of(const char *path, const char *what, name_list *list)
{
    if (list->count > 0 && list->text.data != NULL)
        fgi_log(FG_LOG_WARNING, "%s: %s: %s", path, what, list->text.data);
    fgi_buf_fini(&list->text);
}

/* ---- the optimizer --------------------------------------------------------------------------- */

/* Whether the parameter was frozen when the checkpoint was written. */
static bool was_frozen(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *other = json_string_value(json_array_get(list, i));
        if (other != NULL && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Warns if a run continues with other parameters frozen than before. */
static void compare_frozen(const fg_optimizer *optimizer, const json_t *frozen, const char *path)
{
    name_list now_trained = {0}, now_frozen = {0};
    for (size_t i = 0; i < fg_optimizer_parameter_count(optimizer); i++) {
        const fg_variable *parameter = fg_optimizer_parameter_at(optimizer, i);
        const char *name = fg_variable_name(parameter);
        const bool before = was_frozen(frozen, name), now = !fg_variable_is_trainable(parameter);
        if (before != now)
            list_name(now ? &now_frozen : &now_trained, name);
    }
    warn_of(path, "parameters that were frozen are trained now", &now_trained);
    warn_of(path, "parameters that were trained are frozen now", &now_frozen);
}

/* The checkpoint does not have this variable of the optimizer. */
static fg_status load_absent(fg_optimizer *optimizer, size_t i, const char *path,
                             const json_t *frozen, fg_error *err)
{
    fg_variable *parameter, *variable = fg_optimizer_variable_at(optimizer, i);
    const char *name = fg_variable_name(variable);
    /* a run with another precision had no loss scale, one with another schedule has followed no
     * metric, and older versions had no health */
    if (!fgi_optimizer_needs(optimizer, variable, &parameter))
        return FG_OK;
    if (parameter == NULL || !was_frozen(frozen, fg_variable_name(parameter)))
        return fgi_fail(err, FG_EFORMAT, "%s: has no '%s', which the optimizer needs", path, name);
    return fgi_optimizer_start_late(optimizer, parameter, err);
}

/* The variables that the checkpoint needs, and no updates missed but those it counts. */
static fg_status expect_variables(fg_optimizer *optimizer, const fg_ckpt *ckpt, fg_ckpt_part part,
                                  fg_error *err)
{
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++)
        if (fg_ckpt_info(ckpt, i)->part == part)
            FGI_TRY(fgi_optimizer_expect(optimizer, fg_ckpt_info(ckpt, i)->name, err));
    return fgi_optimizer_forget_missed(optimizer, err);
}

fg_status fgi_optimizer_load(fg_optimizer *optimizer, const fg_ckpt *ckpt, const char *path,
                             fg_ckpt_part part, const json_t *frozen, fg_error *err)
{
    FGI_TRY(expect_variables(optimizer, ckpt, part, err));
    /* the number of updates is before moments; loading an absent variable may add to the list */
    for (size_t i = 0; i < fg_optimizer_variable_count(optimizer); i++) {
        fg_variable *variable = fg_optimizer_variable_at(optimizer, i);
        size_t index = 0;
        if (fg_ckpt_find(ckpt, part, fg_variable_name(variable), &index))
            FGI_TRY(load_named(ckpt, path, part, fg_variable_name(variable), variable, err));
        else
            FGI_TRY(load_absent(optimizer, i, path, frozen, err));
    }
    compare_frozen(optimizer, frozen, path);
    return FG_OK;
}

/* ---- state of the module --------------------------------------------------------------------- */

/* Names in the checkpoint that match no variable of the module. */
static void list_extra(const fg_module *module, const fg_ckpt *ckpt, name_list *extra)
{
    const size_t skip = strlen(FGI_MODULE_STATE);
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        const fg_tensor_info *info = fg_ckpt_info(ckpt, i);
        if (info->part != FG_CKPT_STATE || strncmp(info->name, FGI_MODULE_STATE, skip) != 0)
            continue;
        const fg_variable *variable = fg_module_find(module, info->name + skip);
        if (variable == NULL || fg_variable_kind_of(variable) != FG_STATE)
            list_name(extra, info->name + skip);
    }
}

/* Checkpoints of older versions have none of it: such state keeps its initial value. */
fg_status fgi_module_state_load(const fg_module *module, const fg_ckpt *ckpt, const char *path,
                                fg_error *err)
{
    fg_status status = FG_OK;
    name_list missing = {0}, extra = {0};
    for (size_t i = 0; i < fg_module_variable_count(module) && status == FG_OK; i++) {
        fg_variable *variable = fg_module_variable_at(module, i);
        fgi_buf name = {0};
        size_t index = 0;
        if (fg_variable_kind_of(variable) != FG_STATE)
            continue;
        fgi_buf_printf(&name, FGI_MODULE_STATE "%s", fg_variable_name(variable));
        status = fgi_buf_status(&name, err);
        if (status == FG_OK && !fg_ckpt_find(ckpt, FG_CKPT_STATE, name.data, &index))
            list_name(&missing, fg_variable_name(variable));
        else if (status == FG_OK)
            status = load_named(ckpt, path, FG_CKPT_STATE, name.data, variable, err);
        fgi_buf_fini(&name);
    }
    list_extra(module, ckpt, &extra);
    warn_of(path,
            "state variables of the module that it does not contain keep their initial values",
            &missing);
    warn_of(path, "state variables in it that the module does not have are ignored", &extra);
    return status;
}
