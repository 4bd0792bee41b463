/* sweep_grid.c - reads the values of a sweep, and names its runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/sweep/sweep.h"

#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/text.h"
#include "base/buf.h"

enum { NAME_MAX_BYTES = 120 };

/* ---- reading --------------------------------------------------------------------------------- */

/* The size of the value that `text` starts with: up to a comma outside brackets and quotes. */
static size_t value_size(const char *text)
{
    int depth = 0;
    char quote = '\0';
    const char *at = text;
    for (; *at != '\0' && (*at != ',' || depth > 0 || quote != '\0'); at++) {
        if (quote != '\0')
            quote = *at == quote ? '\0' : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
        else if (strchr("[({", *at) != NULL)
            depth++;
        else if (strchr("])}", *at) != NULL)
            depth--;
    }
    return (size_t)(at - text);
}

/* The same text, or the same number: 1e-3 is 0.001. */
static bool is_same(fgi_str a, const char *b)
{
    double x, y;
    if (fgi_str_equal(a, b))
        return true;
    return fgi_parse_f64(a, &x) && fgi_parse_f64(fgi_str_of(b), &y) && x == y;
}

static fg_status add_value(fgi_sweep_axis *axis, fgi_str value, fg_error *err)
{
    if (value.size == 0)
        return fgi_fail(err, FG_EINVAL,
                        "--sweep=%s: expected values separated by commas, got an "
                        "empty one",
                        axis->key);
    for (size_t i = 0; i < axis->count; i++)
        if (is_same(value, axis->values[i]))
            return fgi_fail(err, FG_EINVAL, "--sweep=%s: the value %s is listed twice", axis->key,
                            axis->values[i]);
    FGI_TRY_GROW(axis->values, axis->count, axis->capacity, err);
    axis->values[axis->count] = fgi_strndup(value.data, value.size);
    if (axis->values[axis->count] == NULL)
        return fgi_no_memory(err);
    axis->count++;
    return FG_OK;
}

static fg_status add_values(fgi_sweep_axis *axis, const char *text, fg_error *err)
{
    for (;;) {
        const size_t size = value_size(text);
        FGI_TRY(add_value(axis, fgi_str_trim((fgi_str){text, size}), err));
        if (text[size] == '\0')
            return FG_OK;
        text += size + 1;
    }
}

static fg_status check_key(const fgi_sweep_grid *grid, const char *key, fg_error *err)
{
    static const char *const own[] = {"trainer.run_dir", "trainer.resume"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(key, own[i]) == 0)
            return fgi_fail(err, FG_EINVAL,
                            "--sweep=%s: this key cannot be swept: the sweep sets "
                            "it for each run",
                            key);
    for (size_t i = 0; i < grid->axis_count; i++)
        if (strcmp(key, grid->axes[i].key) == 0)
            return fgi_fail(err, FG_EINVAL,
                            "--sweep=%s: the key is swept twice: list all of its "
                            "values in one --sweep",
                            key);
    return FG_OK;
}

static fg_status add_axis(fgi_sweep_grid *grid, const char *text, fg_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return fgi_fail(err, FG_EINVAL,
                        "--sweep=%s: expected KEY=VALUE,VALUE..., such as optimizer.lr=1e-3,3e-3",
                        text);
    if (grid->axis_count == FGI_SWEEP_AXES)
        return fgi_fail(err, FG_EINVAL, "--sweep: expected at most %d keys", FGI_SWEEP_AXES);
    fgi_sweep_axis *axis = &grid->axes[grid->axis_count];
    axis->key = fgi_strndup(text, (size_t)(equals - text));
    if (axis->key == NULL)
        return fgi_no_memory(err);
    const fg_status status = check_key(grid, axis->key, err);
    grid->axis_count++; /* is freed */
    FGI_TRY(status);
    FGI_TRY(add_values(axis, equals + 1, err));
    grid->run_count *= axis->count;
    return grid->run_count <= FGI_SWEEP_RUNS
               ? FG_OK
               : fgi_fail(err, FG_EINVAL, "--sweep: expected at most %d combinations of values",
                          FGI_SWEEP_RUNS);
}

fg_status fgi_sweep_grid_init(const char *const *keys, size_t count, fgi_sweep_grid *out,
                              fg_error *err)
{
    *out = (fgi_sweep_grid){.run_count = 1};
    if (count == 0)
        return fgi_fail(err, FG_EINVAL, "a sweep needs at least one key with values");
    for (size_t i = 0; i < count; i++)
        FGI_TRY(add_axis(out, keys[i], err));
    return FG_OK;
}

void fgi_sweep_grid_fini(fgi_sweep_grid *grid)
{
    for (size_t i = 0; i < grid->axis_count; i++) {
        fgi_sweep_axis *axis = &grid->axes[i];
        for (size_t k = 0; k < axis->count; k++)
            fgi_free(axis->values[k]);
        fgi_free(axis->values);
        fgi_free(axis->key);
    }
    *grid = (fgi_sweep_grid){.run_count = 0};
}

/* ---- runs ------------------------------------------------------------------------------------ */

const char *fgi_sweep_grid_value(const fgi_sweep_grid *grid, size_t run, size_t axis)
{
    for (size_t i = grid->axis_count - 1; i > axis; i--)
        run /= grid->axes[i].count;
    return grid->axes[axis].values[run % grid->axes[axis].count];
}

/* "lr" of "optimizer.lr", unless another key of the grid ends in it too. */
static const char *short_key(const fgi_sweep_grid *grid, size_t axis)
{
    const char *key = grid->axes[axis].key, *word = fgi_after_last(key, '.');
    for (size_t i = 0; i < grid->axis_count; i++)
        if (i != axis && strcmp(fgi_after_last(grid->axes[i].key, '.'), word) == 0)
            return key;
    return word;
}

/* Appends the text as part of a file name. Returns whether characters had to be replaced. */
static bool put_plain(fgi_buf *out, const char *text)
{
    bool is_changed = false;
    for (; *text != '\0'; text++) {
        const bool is_plain = fgi_is_alnum(*text) || strchr("._+-", *text) != NULL;
        fgi_buf_putc(out, *text);
        if (!is_plain && !out->failed)
            out->data[out->size - 1] = '_';
        is_changed |= !is_plain;
    }
    return is_changed;
}

void fgi_sweep_grid_name(const fgi_sweep_grid *grid, size_t run, fgi_buf *out)
{
    const size_t start = out->size;
    uint32_t checksum = 0;
    bool is_changed = false;
    for (size_t i = 0; i < grid->axis_count; i++) {
        const char *value = fgi_sweep_grid_value(grid, run, i);
        fgi_buf_printf(out, "%s%s=", i > 0 ? "," : "", short_key(grid, i));
        is_changed |= put_plain(out, value);
        checksum = fgi_crc32c(checksum, value, strlen(value) + 1);
    }
    if (out->failed || (!is_changed && out->size - start <= NAME_MAX_BYTES))
        return;
    if (out->size - start > NAME_MAX_BYTES)
        out->size = start + NAME_MAX_BYTES;
    fgi_buf_printf(out, ",%08x", (unsigned)checksum);
}
