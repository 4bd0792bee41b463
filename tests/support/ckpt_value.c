/* ckpt_value.c - checkpoints with one value each, for the tests of src/ckpt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt_value.h"

#include "base/file.h"
#include "base/print.h"
#include "base/temporary.h"
#include "ckpt/series.h"

fg_status value_save(const char *folder, const char *name, float value, fg_error *err)
{
    char path[512], json[64];
    const fg_type f32 = {.dtype = FG_F32, .rank = 1, .dim = {1}};
    const fg_ckpt_tensor model = {"fc.weight", f32, &value};
    const fg_ckpt_tensor state[] = {{"adam.m.fc.weight", f32, &value}, {"fc.weight", f32, &value}};
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)fgi_snprintf(json, sizeof(json), "{\"value\": %g}", (double)value);
    const fg_ckpt_content content = {
        .model = &model, .model_count = 1, .state = state, .state_count = 2, .state_json = json};
    return fg_ckpt_save(path, &content, err);
}

void value_save_ok(const char *folder, const char *name, float value)
{
    fg_error err = {0};
    fgt_ok(value_save(folder, name, value, &err));
}

bool folder_has(const char *folder, const char *name)
{
    return fgi_file_exists(fgt_path(folder, name));
}

void temporary_name_by(char *out, size_t size, const char *base, const char *machine, long pid)
{
    char own[FGI_MACHINE_SIZE];
    fgi_machine_name(own);
    (void)snprintf(out, size, "%s.%s-%ld-0", base, machine != NULL ? machine : own, pid);
}
