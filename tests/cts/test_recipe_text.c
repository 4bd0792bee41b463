/* A language model from a text: training, metrics, checkpoints, and texts that it continues. On the
 * CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/recipe.h>

static fg_error err;

static const char yaml[] =
    "model: {name: gpt2, layers: 1, width: 32, heads: 2, length: 16}\n"
    "data: {format: text, path: train.txt, val: val.txt, length: 16, tokenizer: t.json}\n"
    "optimizer: {name: adamw, lr: 1e-2}\n"
    "schedule: {name: constant}\n"
    "trainer: {accelerator: cpu, max_steps: 60, max_epochs: -1, batch_size: 8, run_dir: run, "
    "watchdog_s: 0}\n";

/* A token for each letter, one for two of them, and one for the end. */
static const char tokenizer[] =
    "{\"added_tokens\": [{\"id\": 8, \"content\": \"</s>\", \"special\": true, "
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false}], "
    "\"model\": "
    "{\"type\": "
    "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3, \"e\": 4, \"f\": 5, \"g\": 6, "
    "\"ab\": 7}, \"merges\": [\"a b\"]}, \"decoder\": {\"type\": \"Fuse\"}}";

static void write_file(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

static int go_there(void **state)
{
    char text[2001] = "";
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    for (int i = 0; i < 2000; i++)
        text[i] = (char)('a' + i % 7);
    write_file("train.txt", text);
    text[200] = '\0';
    write_file("val.txt", text);
    write_file("t.json", tokenizer);
    write_file("run.yaml", yaml);
    return 0;
}

static fg_recipe *run_as(const char *config, const fg_recipe_command *command)
{
    fg_recipe *recipe = NULL;
    fgt_ok(fg_recipe_open(&(fg_recipe_options){.config = config}, command, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    return recipe;
}

static double metric(const fg_recipe *recipe, const char *name)
{
    const fg_result *result = &fg_recipe_result_of(recipe)->train;
    for (size_t i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, name) == 0)
            return result->metrics[i].value;
    fail_msg("there is no metric %s", name);
    return 0;
}

/* Its windows have 17 tokens of a text with a period of 6, which does not divide their length, so a
 * model that has seen one is certain of the next. */
static void a_period_is_learned(void **state)
{
    (void)state;
    fg_recipe *fit = run_as("run.yaml", &(fg_recipe_command){.kind = FG_RECIPE_FIT});
    const double loss = metric(fit, "val_loss");
    assert_true(loss < 0.3 && loss > 0); /* log(9) = 2.2 at first */
    fgt_close("perplexity", metric(fit, "val_perplexity"), exp(loss), 1e-6, 0);
    /* The second to 161st token are predicted: the first 188 letters without "ab". */
    fgt_close("bits per byte", metric(fit, "val_bits_per_byte"), 160 * loss / log(2) / 186, 1e-6,
              0);
    fg_recipe_close(fit);
    fg_recipe *again = run_as("run", &(fg_recipe_command){.kind = FG_RECIPE_VALIDATE});
    fgt_close("val_loss of the checkpoint", metric(again, "val_loss"), loss, 1e-5, 0);
    fg_recipe_close(again);
}

static fg_recipe *continues(fg_sample_options sample)
{
    const fg_recipe_command command = {.kind = FG_RECIPE_PREDICT, .evaluate.sample = sample};
    return run_as("run", &command);
}

/* Also beyond the 16 positions of the cache, without the files that the model was trained with. */
static void a_text_is_continued(void **state)
{
    (void)state;
    static const char expected[] = "cdefgabcdefgabcdefgabcdefgabcdefgab";
    assert_int_equal(unlink("train.txt") + unlink("val.txt") + unlink("t.json"), 0);
    fg_recipe *greedy =
        continues((fg_sample_options){.prompt = "cde", .max_tokens = 27, .temperature = FG_ZERO});
    assert_string_equal(fg_recipe_result_of(greedy)->text, expected);
    const char *text = NULL;
    fgt_ok(fg_recipe_text_of(greedy, FG_RECIPE_PREDICTIONS, &text, &err));
    assert_int_equal(strncmp(text, expected, sizeof expected - 1), 0);
    fg_recipe_close(greedy);
    fg_recipe *likely =
        continues((fg_sample_options){.prompt = "cde", .max_tokens = 27, .top_p = 1e-9, .seed = 5});
    assert_string_equal(fg_recipe_result_of(likely)->text, expected);
    fg_recipe_close(likely);
}

/* A temperature at which all tokens are equally likely. */
static void texts_depend_on_the_seed_only(void **state)
{
    (void)state;
    char kept[2][64];
    for (int i = 0; i < 3; i++) {
        fg_recipe *recipe = continues((fg_sample_options){.prompt = "cde",
                                                          .max_tokens = 27,
                                                          .temperature = 1e6,
                                                          .top_k = 7,
                                                          .seed = i == 2 ? 6 : 5});
        if (i < 2)
            (void)snprintf(kept[i], sizeof kept[i], "%s", fg_recipe_result_of(recipe)->text);
        else
            assert_string_not_equal(fg_recipe_result_of(recipe)->text, kept[1]);
        fg_recipe_close(recipe);
    }
    assert_string_equal(kept[0], kept[1]);
}

/* A class that is known by one letter; the model's vocabulary and padding are those of bytes. */
static void classes_of_texts_are_learned(void **state)
{
    (void)state;
    char rows[1200] = "text,label\n";
    fg_error unused;
    for (int i = 0; i < 64; i++)
        (void)snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "ab%cc,%s\n",
                       i % 2 == 0 ? 'x' : 'y', i % 2 == 0 ? "even" : "odd");
    write_file("rows.csv", rows);
    write_file("classes.yaml",
               "model: {name: bert, layers: 1, width: 16, heads: 2, intermediate: 16, length: 8, "
               "vocabulary: 256}\n"
               "data: {format: text, path: rows.csv, text: text, target: label, length: 6, "
               "val_fraction: 0.25}\n"
               "optimizer: {name: adamw, lr: 1e-2}\n"
               "trainer: {accelerator: cpu, max_epochs: 8, batch_size: 16, run_dir: classes, "
               "watchdog_s: 0}\n");
    fg_recipe *fit = run_as("classes.yaml", &(fg_recipe_command){.kind = FG_RECIPE_FIT});
    assert_true(metric(fit, "val_acc") == 1);
    fg_recipe_close(fit);
    write_file("new.csv", "text\nabyc\nabxc\n");
    fg_recipe *predicted = run_as(
        "classes", &(fg_recipe_command){.kind = FG_RECIPE_PREDICT, .evaluate.data = "new.csv"});
    const float *p = fg_recipe_result_of(predicted)->predictions;
    assert_true(p[1] > p[0] && p[2] > p[3]);
    fg_recipe_close(predicted);
    const char *const small[] = {"model.vocabulary=255"};
    fg_recipe *bad = NULL;
    const fg_recipe_options o = {.config = "classes.yaml", .overrides = small, .override_count = 1};
    fgt_ok(fg_recipe_open(&o, NULL, &bad, &unused));
    assert_int_equal(fg_recipe_run(bad, &unused), FG_EINVAL);
    assert_non_null(strstr(unused.message, "model.vocabulary is 255, but the tokenizer has 256"));
    fg_recipe_close(bad);
}

static void refuses(const char *config, fg_recipe_command command, const char *const *overrides,
                    size_t count, const char *message)
{
    fg_recipe *recipe = NULL;
    const fg_recipe_options o = {.config = config, .overrides = overrides, .override_count = count};
    fg_status status = fg_recipe_open(&o, &command, &recipe, &err);
    if (status == FG_OK)
        status = fg_recipe_run(recipe, &err);
    assert_int_not_equal(status, FG_OK);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, err.message);
    fg_recipe_close(recipe);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    const fg_recipe_command fit = {.kind = FG_RECIPE_FIT}, predict = {.kind = FG_RECIPE_PREDICT};
    const fg_recipe_command bad = {.kind = FG_RECIPE_PREDICT,
                                   .evaluate.sample = {.prompt = "a", .top_p = 2}};
    write_file("val.txt", "abc");
    write_file("train.txt", "abcdefgabcdefgabcdef");
    write_file("t.json", tokenizer);
    refuses("run", predict, NULL, 0, "a language model continues a text: pass --prompt=TEXT");
    const fg_recipe_command later = {.kind = FG_RECIPE_PREDICT,
                                     .evaluate.sample = {.prompt = "a", .reserved = {1}}};
    refuses("run", later, NULL, 0, "fg_sample_options: 'reserved' must be zero");
    refuses("run", bad, NULL, 0, "top_p from 0 to 1");
    refuses("run.yaml", fit, NULL, 0, "val.txt: 3 tokens: expected at least 17 for one window");
    refuses(
        "run.yaml", fit, (const char *const[]){"model.name=mlp", "data.val=train.txt"}, 2,
        "'mlp' does not take tokens, which task language requires: expected one of gpt2, llama");
    refuses("run.yaml", fit, (const char *const[]){"data.tokenizer=none.json"}, 1, "none.json");
    write_file("bad.txt", "abc\xff");
    refuses("run.yaml", fit, (const char *const[]){"data.path=bad.txt"}, 1,
            "bad.txt: byte 3 of the text is not UTF-8");
}

static char said[2048];

static void keep_line(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level;
    (void)snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

/* Token 300 would be read as the last one that the model has. */
static void tokens_of_arrays_are_checked(void **state)
{
    static const struct {
        const char *const overrides[3];
        size_t count;
        const char *says, *message;
    } rows[] = {
        {{"model.name=lstm"},
         1,
         "model lstm reads the samples, s32[2], as indices of 256 tokens (model.vocabulary)",
         "sample 1 has token 300: expected 0 to 255 (model.vocabulary)"},
        {{"model.name=bert", "model.vocabulary=300", "model.width=4"},
         2,
         "",
         "sample 1 has token 300: expected 0 to 299"},
    };
    static const int32_t x[8][2] = {{1, 2}, {3, 300}}, y[8] = {0, 1};
    fg_error unused;
    (void)state;
    fgt_ok(fg_npy_write("x.npy", &(fg_type){FG_S32, 2, {8, 2}}, x, &unused));
    fgt_ok(fg_npy_write("y.npy", &(fg_type){FG_S32, 1, {8}}, y, &unused));
    write_file("arrays.yaml", "data: {format: npy, x: x.npy, y: y.npy, val_fraction: 0}\n"
                              "trainer: {accelerator: cpu, max_steps: 1, run_dir: arrays}\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_recipe *recipe = NULL;
        const fg_recipe_options o = {.config = "arrays.yaml",
                                     .overrides = rows[i].overrides,
                                     .override_count = rows[i].count,
                                     .message = keep_line};
        const fg_recipe_command fit = {.kind = FG_RECIPE_FIT};
        said[0] = '\0';
        fgt_ok(fg_recipe_open(&o, &fit, &recipe, &err));
        assert_int_not_equal(fg_recipe_run(recipe, &err), FG_OK);
        if (strstr(err.message, rows[i].message) == NULL || strstr(said, rows[i].says) == NULL)
            fail_msg("'%s' is not in '%s', or '%s' in '%s'", rows[i].message, err.message,
                     rows[i].says, said);
        fg_recipe_close(recipe);
    }
}

/* Its loss says classification, but the samples are tokens. */
static void a_loss_of_classes_trains_a_language_model(void **state)
{
    const char *const overrides[] = {"loss.name=focal", "trainer.max_steps=1",
                                     "trainer.run_dir=focal", "optimizer.lr=1e-9"};
    const fg_recipe_options o = {
        .config = "run.yaml", .overrides = overrides, .override_count = 4, .message = keep_line};
    fg_recipe *recipe = NULL;
    (void)state;
    said[0] = '\0';
    write_file("t.json", tokenizer);
    write_file("train.txt", "abcdefgabcdefgabcdefgabcdefgabcdefg");
    write_file("val.txt", "abcdefgabcdefgabcdefgabcdefgabcdefg");
    fgt_ok(fg_recipe_open(&o, &(fg_recipe_command){.kind = FG_RECIPE_FIT}, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    assert_non_null(strstr(said, "task: language, because the samples are tokens\n"));
    /* the perplexity is that of the cross-entropy, about log(9) for 9 tokens */
    fgt_close("perplexity", metric(recipe, "val_perplexity"), 9, 2, 0);
    assert_true(exp(metric(recipe, "val_loss")) < 7); /* the focal one */
    fg_recipe_close(recipe);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_period_is_learned),
    cmocka_unit_test(a_text_is_continued),
    cmocka_unit_test(texts_depend_on_the_seed_only),
    cmocka_unit_test(classes_of_texts_are_learned),
    cmocka_unit_test(a_loss_of_classes_trains_a_language_model),
    cmocka_unit_test(tokens_of_arrays_are_checked),
    cmocka_unit_test(mistakes_are_named),
};

int main(void) { return cmocka_run_group_tests(tests, go_there, NULL); }
