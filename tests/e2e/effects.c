/* effects.c - files, runs and results of effects.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <stdarg.h>
#include <stdio.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include "base/file.h"

enum { TRAIN = 12, VAL = 6 };

/* Inputs between -1 and 1 in steps of 1/4, exact in f32 and bf16; labels that are not linearly
 * separable. */
static reference_data make(int rows, int shift)
{
    reference_data data = {.rows = rows, .features = 2};
    for (int i = 0; i < rows; i++) {
        data.x[i][0] = 0.25 * (double)((5 * (i + shift)) % 9) - 1;
        data.x[i][1] = 0.25 * (double)((7 * (i + shift) + 3) % 8) - 1;
        data.label[i] = ((i + shift) * (i + shift) + (i + shift) / 3) % 3;
    }
    return data;
}

const reference_data *effects_samples(void)
{
    static reference_data data;
    data = make(TRAIN, 0);
    return &data;
}

const reference_data *effects_val_samples(void)
{
    static reference_data data;
    data = make(VAL, 20);
    return &data;
}

static void write_npy(const char *folder, const char *x_name, const char *y_name,
                      const reference_data *data)
{
    fg_error err = {0};
    float x[REFERENCE_MAX_ROWS][2];
    int32_t y[REFERENCE_MAX_ROWS];
    for (int i = 0; i < data->rows; i++) {
        x[i][0] = (float)data->x[i][0];
        x[i][1] = (float)data->x[i][1];
        y[i] = data->label[i];
    }
    const fg_type x_type = {FG_F32, 2, {data->rows, 2}}, y_type = {FG_S32, 1, {data->rows}};
    fgt_ok(fg_npy_write(fgt_path(folder, x_name), &x_type, x, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, y_name), &y_type, y, &err));
}

void effects_write_files(const char *folder)
{
    fg_error err = {0};
    uint8_t bytes[TRAIN][2];
    const reference_data *data = effects_samples();
    const reference_model start = reference_start(2);
    for (int i = 0; i < TRAIN; i++)
        for (int f = 0; f < 2; f++)
            bytes[i][f] = (uint8_t)(100 * (data->x[i][f] + 1));
    const fg_type type = {FG_U8, 2, {TRAIN, 2}};
    fgt_ok(fg_npy_write(fgt_path(folder, "bytes.npy"), &type, bytes, &err));
    write_npy(folder, "x.npy", "y.npy", data);
    write_npy(folder, "val_x.npy", "val_y.npy", effects_val_samples());
    reference_save(&start, 2, fgt_path(folder, "weights.safetensors"));
}

const json_t *effects_fit(int status, const char *folder, const char *format, ...)
{
    static json_t *summary;
    char arguments[2048], line[2304];
    json_error_t fault;
    fg_error err = {0};
    va_list rest;
    va_start(rest, format);
    const int size = vsnprintf(arguments, sizeof(arguments), format, rest);
    va_end(rest);
    assert_true(size >= 0 && size < (int)sizeof(arguments));
    (void)snprintf(line, sizeof(line),
                   "fit --quiet --draw=never --summary=s.json --trainer.run_dir=run "
                   "--trainer.accelerator=cpu %s",
                   arguments);
    json_decref(summary);
    summary = NULL; /* the run may fail the test */
    if (strstr(arguments, "trainer.resume") == NULL)
        fgt_ok(fgi_folder_remove(fgt_path(folder, "run"), &err));
    (void)program_gives(status, folder, line);
    summary = json_load_file(fgt_path(folder, "s.json"), 0, &fault);
    if (summary == NULL)
        fail_msg("s.json: %s", fault.text);
    return summary;
}

double effects_number(const json_t *summary, const char *path)
{
    char part[64];
    const json_t *at = summary;
    for (const char *rest = path; rest != NULL;) {
        const char *dot = strchr(rest, '.');
        (void)snprintf(part, sizeof(part), "%.*s", dot != NULL ? (int)(dot - rest) : 63, rest);
        at = json_object_get(at, part);
        rest = dot != NULL ? dot + 1 : NULL;
    }
    if (!json_is_number(at))
        fail_msg("the summary has no number %s", path);
    return json_number_value(at);
}

void effects_tensor(const char *folder, const char *name, int count, double *out)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    size_t index;
    char last[64] = {0};
    FILE *file = fopen(fgt_path(folder, "run/checkpoints/last"), "rb");
    assert_non_null(file);
    assert_true(fscanf(file, "%63s", last) == 1);
    (void)fclose(file);
    fgt_ok(fg_ckpt_open(fgt_path(fgt_path(folder, "run/checkpoints"), last), NULL, &ckpt, &err));
    assert_true(fg_ckpt_find(ckpt, FG_CKPT_MODEL, name, &index));
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    assert_int_equal(fg_type_count(&info->type), count);
    for (int i = 0; i < count; i++) {
        float number;
        const bool is_f32 = info->type.dtype == FG_F32;
        assert_true(is_f32 || info->type.dtype == FG_BF16);
        uint32_t bits = 0; /* bf16 is the upper half of an f32 */
        memcpy((char *)&bits + (is_f32 ? 0 : 2),
               (const char *)fg_ckpt_data(ckpt, index) + i * (is_f32 ? 4 : 2), is_f32 ? 4 : 2);
        memcpy(&number, &bits, sizeof(number));
        out[i] = (double)number;
    }
    fg_ckpt_close(ckpt);
}
