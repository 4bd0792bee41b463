/* test_strategy.c - one configuration on one device and on several, with replicated and sharded
 * parameters: the program prints the same curve.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "run_program.h"

enum { STEPS = 12 };

typedef struct losses {
    double step[STEPS];
} losses;

/* The losses that a run has left in its folder. */
static losses read_losses(const char *folder)
{
    losses all = {{0}};
    char line[1024];
    int count = 0;
    FILE *file = fopen(fgt_path(folder, "metrics.jsonl"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *at = strstr(line, "\"train_loss\": ");
        if (at == NULL || count == STEPS)
            continue;
        all.step[count++] = strtod(at + strlen("\"train_loss\": "), NULL);
    }
    (void)fclose(file);
    assert_int_equal(count, STEPS);
    return all;
}

static const char *read_text(const char *path)
{
    static char text[16384];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static losses fit(const char *config, const char *folder, const char *keys)
{
    char line[2048];
    (void)snprintf(line, sizeof line,
                   "fit examples/%s --quiet --draw=never --trainer.max_steps=%d "
                   "--trainer.log_every=1 --trainer.run_dir='%s' %s",
                   config, STEPS, folder, keys);
    (void)program_gives(0, FGT_SOURCE_DIR, line);
    return read_losses(folder);
}

static void the_same_curve(void **state)
{
    static const char *const keys[] = {
        "--trainer.devices=8 --trainer.strategy=fsdp --trainer.batch_size=4",
        "--trainer.devices=4 --trainer.model_devices=2 --trainer.batch_size=16 "
        "'--trainer.sharding={fc1.*: model, fc2.weight: [none, model]}'",
        "--trainer.devices=8 '--trainer.mesh={data: 2, fsdp: 2, model: 2}' --trainer.strategy=fsdp "
        "--trainer.batch_size=8 '--trainer.sharding={fc1.*: model, fc2.weight: [none, model]}'",
    };
    static const char *const summary[] = {"\"strategy\": \"fsdp\"", "\"strategy\": \"ddp\"",
                                          "\"strategy\": \"fsdp\""};
    const losses one = fit("digits_mlp.yaml", fgt_temp_folder(), "--trainer.devices=1");
    char what[64];
    (void)state;
    for (int i = 0; i < 3; i++) {
        char with_summary[1024];
        const char *folder = fgt_temp_folder();
        (void)snprintf(with_summary, sizeof with_summary, "%s --summary='%s'", keys[i],
                       fgt_path(folder, "summary.json"));
        const losses several = fit("digits_mlp.yaml", folder, with_summary);
        contains(read_text(fgt_path(folder, "summary.json")), summary[i]);
        for (int k = 0; k < STEPS; k++) {
            (void)snprintf(what, sizeof what, "run %d, step %d", i, k + 1);
            fgt_close(what, several.step[k], one.step[k], 0, 1e-5);
        }
    }
}

/* Sharding rules for convolution kernels use the layout of files, [out, in, height, width]. */
static void convolutions_too(void **state)
{
    const losses one = fit("digits.yaml", fgt_temp_folder(), "--trainer.devices=1");
    const losses several =
        fit("digits.yaml", fgt_temp_folder(),
            "--trainer.devices=4 --trainer.model_devices=2 --trainer.strategy=fsdp "
            "--trainer.batch_size=16 '--trainer.sharding={conv*.weight: model, fc1.weight: "
            "[none, model]}'");
    (void)state;
    for (int k = 0; k < STEPS; k++)
        fgt_close("loss", several.step[k], one.step[k], 0, k < 10 ? 1e-5 : 1e-3);
}

/* The configuration in a run's folder can be read. */
static void rules_out_of_a_file(void **state)
{
    const char *folder = fgt_temp_folder();
    static const char yaml[] = "model: {name: mlp, hidden: [16]}\n"
                               "data: {format: csv, path: none.csv}\n"
                               "trainer:\n"
                               "  sharding:\n"
                               "    fc1.*: model\n"
                               "    fc2.weight: [none, model]\n";
    (void)state;
    fgt_write(fgt_path(folder, "run.yaml"), yaml, sizeof yaml - 1);
    contains(program_gives(0, folder, "fit run.yaml --print-config=plain")->out,
             "  sharding: {\"fc1.*\": model, fc2.weight: [none, model]}\n");
}

static void a_rule_that_matches_nothing(void **state)
{
    char line[1024];
    (void)state;
    (void)snprintf(line, sizeof line,
                   "fit examples/digits_mlp.yaml --quiet --draw=never --trainer.devices=2 "
                   "--trainer.model_devices=2 --trainer.run_dir='%s' "
                   "'--trainer.sharding={fc9.*: model}'",
                   fgt_temp_folder());
    contains(program_gives(1, FGT_SOURCE_DIR, line)->err,
             "rule 'fc9.*' matches no parameter's name; the names are 'fc1.weight', 'fc1.bias', ");
}

/* Numbers of devices that do not match, and a mesh that no batch can be sharded over. */
static void meshes_that_do_not_fit(void **state)
{
    static const struct {
        const char *mesh;
        int status;
        const char *message;
    } rows[] = {
        {"{data: 2, fsdp: 3}", 1,
         "mesh {data: 2, fsdp: 3} does not match 4 devices: expected sizes whose product "
         "is 4, or one axis of size -1 for the remaining devices"},
        {"{data: -1, model: 3}", 1, "mesh {data: -1, model: 3} does not match 4 devices"},
        {"{rows: 2, columns: 2}", 1,
         "mesh {rows: 2, columns: 2} has no axis 'data' or 'fsdp' to shard batches "
         "over"},
        {"{data: 2, data: 2}", 2, "--trainer.mesh: 'data' is given twice: expected one value"},
        {"data=2,fsdp=2", 2, "got 'data=2,fsdp=2': write {data: 2, fsdp: 2}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[512];
        (void)snprintf(line, sizeof line,
                       "fit examples/digits_mlp.yaml --quiet --draw=never --trainer.devices=4 "
                       "'--trainer.mesh=%s' --trainer.run_dir='%s'",
                       rows[i].mesh, fgt_temp_folder());
        contains(program_gives(rows[i].status, FGT_SOURCE_DIR, line)->err, rows[i].message);
    }
}

/* The batch grows with the devices, which changes the results: this is never silent, unless a key
 * says that it is intended. */
static void more_devices_are_a_larger_batch(void **state)
{
    static const struct {
        const char *keys, *says;
    } rows[] = {
        {"--trainer.devices=8 --trainer.batch_size=32",
         "warning: trainer.batch_size is per device: 8 devices with 32 samples each train with "
         "batches of 256, so the results are not those of one device; to keep the batch, set "
         "trainer.global_batch_size to 32 in place of trainer.batch_size;"},
        {"--trainer.devices=8 --trainer.batch_size=1000",
         "warning: a batch has room for 8000 samples, but there are only 1438 for training"},
        {"--trainer.devices=8 --trainer.batch_size=32 --trainer.lr_scaling=none", NULL},
        {"--trainer.devices=8 --trainer.global_batch_size=32 --trainer.batch_size=null", NULL},
        {"--trainer.devices=1 --trainer.batch_size=32", NULL},
    };
    char line[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(line, sizeof line,
                       "fit examples/digits_mlp.yaml -q --draw=never --trainer.max_steps=1 "
                       "--trainer.run_dir='%s' %s",
                       fgt_temp_folder(), rows[i].keys);
        const outcome *o = program_gives(0, FGT_SOURCE_DIR, line);
        if (rows[i].says != NULL)
            contains(o->err, rows[i].says);
        else
            assert_string_equal(o->err, "");
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_curve),         cmocka_unit_test(convolutions_too),
    cmocka_unit_test(rules_out_of_a_file),    cmocka_unit_test(a_rule_that_matches_nothing),
    cmocka_unit_test(meshes_that_do_not_fit), cmocka_unit_test(more_devices_are_a_larger_batch),
};
FGT_MAIN(tests)
