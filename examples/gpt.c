/* gpt.c - a small GPT of bytes, and sampling from it with a key/value cache.
 * usage: gpt [-]         -: trains on the text in standard input; else on the numbers 10 to 99
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <stdio.h>

enum { LENGTH = 24, WIDTH = 64, HEADS = 4, LAYERS = 1, BYTES = 256 }; /* a text needs more */
enum { STEPS = 400, BATCH = 16, PROMPT = 9, MOST = 1 << 24 };

static char text[MOST];
static int64_t size;

static void read_text(bool is_given)
{
    size = is_given ? (int64_t)fread(text, 1, MOST, stdin) : 0;
    for (int i = 0; i < 400 && !is_given; i++)
        size += snprintf(text + size, (size_t)(MOST - size), "%d ", 10 + i % 90);
}

/* Sample `index`: LENGTH bytes, and the bytes that follow them, s32[LENGTH] each. */
static fg_status read_window(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    for (int64_t i = 0; i < 2 * LENGTH; i++)
        ((int32_t *)out_fields[i % 2])[i / 2] = (unsigned char)text[index + i / 2 + i % 2];
    return FG_OK;
}

static fg_embedding *bytes, *places;
static fg_transformer_block *blocks[LAYERS];
static fg_norm *norm;

static void build(void *self, fg_module *root)
{
    const fg_init init = {FG_INIT_NORMAL, 0.02};
    fg_embedding_options embedding = {.count = BYTES, .width = WIDTH, .init = init};
    const fg_transformer_block_options block = {
        .attention = {.width = WIDTH, .heads = HEADS, .causal = true, .init = init}};
    bytes = fg_embedding_create(root, "tokens", &embedding);
    embedding.count = LENGTH;
    places = fg_embedding_create(root, "positions", &embedding);
    for (int i = 0; i < LAYERS; i++)
        blocks[i] = fg_transformer_block_create(root, (char[]){'h', (char)('0' + i), 0}, &block);
    norm = fg_norm_create(root, "norm", &(fg_norm_options){.channels = WIDTH});
}

/* tokens s32[B,T], at positions s32[T] -> logits f32[B,T,BYTES] */
static fg_tensor forward(fg_tensor tokens, fg_tensor positions)
{
    fg_tensor x = fg_add(fg_embedding_apply(bytes, tokens), fg_embedding_apply(places, positions));
    for (int i = 0; i < LAYERS; i++)
        x = fg_transformer_block_apply(blocks[i], x, NULL);
    return fg_embedding_logits(bytes, fg_norm_apply(norm, x));
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor positions = fg_iota(fg_step_trace(st), FG_S32, 0, FG_DIMS(LENGTH));
    return fg_cross_entropy(forward(fg_batch_at(batch, 0), positions), fg_batch_at(batch, 1), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    return fg_adamw_create(root, &(fg_adamw_options){.lr = 5e-3});
}

/* Prints how the model continues the beginning of the text. Each run appends the key and value of
 * one byte to the cache, and draws the next byte with temperature 0.5. */
static fg_status sample(fg_trace *trace, fg_module *root, fg_error *err)
{
    fg_scalar position = {.dtype = FG_S32}, byte = {.dtype = FG_S32};
    fg_kv_cache *cache = fg_kv_cache_create(root, 1, LENGTH);
    fg_status status = fg_module_error(root, err);
    for (int32_t i = 0; i < LENGTH && status == FG_OK; i++) {
        fg_array *drawn = NULL;
        if (i < PROMPT)
            byte.value.s32 = (unsigned char)text[i];
        putchar(byte.value.s32);
        position.value.s32 = i;
        fg_trace_set_seed(trace, 1, (uint64_t)i);
        fg_tensor at = fg_scalar_value(trace, &position), next = fg_scalar_value(trace, &byte);
        fg_kv_cache_begin(cache, at);
        next = forward(fg_reshape(next, FG_DIMS(1, 1)), fg_reshape(at, FG_DIMS(1)));
        fg_kv_cache_end(cache);
        next = fg_random_categorical(fg_mul_scalar(next, 1 / 0.5));
        status = fg_run(trace, &next, 1, &drawn, err);
        if (status == FG_OK)
            status = fg_array_read(drawn, &byte.value.s32, sizeof byte.value.s32, err);
        fg_array_release(drawn);
    }
    return status;
}

static const fg_dataset_ops window_ops = {.read = read_window};
static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};
static const fg_task task = {.name = "gpt", .ops = &ops};

int main(int argc, char **argv)
{
    const fg_field fields[] = {{"tokens", {FG_S32, 1, {LENGTH}}}, {"next", {FG_S32, 1, {LENGTH}}}};
    const fg_schedule onecycle = {.name = "onecycle"};
    const fg_trainer_options options = {.limits.max_steps = STEPS, .lr.schedule = &onecycle};
    fg_dataset *windows = NULL;
    fg_trainer *trainer = NULL;
    fg_trace *trace = NULL;
    fg_error err = {0};
    read_text(argc > 1);
    const fg_dataset_spec spec = {.count = size - LENGTH, .fields = fields, .field_count = 2};
    bool ok = fg_dataset_create(&window_ops, NULL, &spec, &windows, &err) == FG_OK &&
              fg_trainer_create(&options, &trainer, &err) == FG_OK;
    const fg_fit_data data = {.train = windows, .global_batch_size = BATCH, .drop_last = true};
    ok = ok && fg_trainer_fit(trainer, &task, &data, &err) == FG_OK &&
         fg_trace_create(fg_trainer_client(trainer), &trace, &err) == FG_OK &&
         sample(trace, fg_trainer_module(trainer), &err) == FG_OK;
    if (!ok)
        fg_error_print(&err, argv[0]);
    fg_trace_destroy(trace);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(windows);
    return ok ? 0 : 1;
}
