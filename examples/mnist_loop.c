/* mnist_loop.c - trains LeNet with a custom training loop, without the Trainer.
 * usage: mnist_loop [FOLDER]       with the four MNIST files; default: the digits in share/data
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>

#define TRY(call)                                                                                  \
    if ((call) != FG_OK)                                                                           \
    goto done
enum { BATCH = 32, EPOCHS = 12 };

static fg_error err;
static fg_client *client;
static fg_trace *trace;
static fg_model *lenet;
static fg_optimizer *adam;

/* Traces one step: returns the loss in training, the number of correct predictions otherwise. */
static fg_tensor step(fg_tensor image, fg_tensor label, int64_t valid)
{
    static fg_scalar count = {.dtype = FG_S32}; /* valid rows: the last batch is padded */
    count.value.s32 = (int32_t)valid;
    const fg_tensor row = fg_iota(trace, FG_S32, 0, FG_DIMS(BATCH));
    const fg_tensor real = fg_cast(fg_lt(row, fg_scalar_value(trace, &count)), FG_F32);
    fg_trace_set_mask(trace, real);
    const fg_tensor logits = fg_model_apply(lenet, image);
    if (!fg_trace_training(trace))
        return fg_sum(fg_mul(fg_accuracy(logits, label), real), 0, NULL);
    const fg_tensor loss = fg_cross_entropy(logits, label, NULL);
    fg_optimizer_minimize(adam, loss);
    return loss;
}

/* One epoch; adds up the results of its steps. Only the first step is compiled. */
static fg_status pass(fg_loader *loader, int epoch, bool training, double *sum)
{
    const fg_host_batch *batch = NULL;
    fg_array *array = NULL;
    fg_tensor in[2];
    float result = 0;
    fg_trace_set_training(trace, training);
    TRY(fg_loader_start_epoch(loader, epoch, 0, &err));
    TRY(fg_loader_next(loader, &batch, &err));
    while (batch != NULL) {
        for (int i = 0; i < 2; i++) {
            TRY(fg_array_create(client, &batch->types[i], batch->data[i], &array, &err));
            in[i] = fg_input(trace, array);
            fg_array_release(array); /* the trace holds a reference */
        }
        TRY(fg_run_f32(trace, step(in[0], in[1], batch->valid), &result, &err));
        *sum += (double)result;
        fg_loader_recycle(loader, batch);
        TRY(fg_loader_next(loader, &batch, &err));
    }
done:
    return err.status;
}

int main(int argc, char **argv)
{
    const fg_csv_options digits = {
        .header = FG_CSV_HEADER_NO, .image = {8, 8, 1}, .val_fraction = 0.2};
    const fg_loader_options options = {.batch_size = BATCH, .shuffle = true};
    fg_model_options model = {.name = "lenet", .outputs = 10, .scale = argc > 1 ? 0 : 1.0 / 16};
    fg_csv_parts data = {0};
    fg_loader *train = NULL, *val = NULL;
    fg_module *root = NULL;
    TRY(argc > 1 ? fg_mnist_load(argv[1], FG_TRAIN, &data.train, &err)
                 : fg_csv_load("share/data/digits/digits.csv.gz", &digits, &data, &err));
    TRY(argc > 1 ? fg_mnist_load(argv[1], FG_VAL, &data.val, &err) : FG_OK);
    TRY(fg_loader_create(data.val, &options, &val, &err));
    TRY(fg_loader_create(data.train, &options, &train, &err));
    TRY(fg_client_open(NULL, &client, &err));
    TRY(fg_trace_create(client, &trace, &err));
    TRY(fg_module_create(NULL, 1, &root, &err));
    model.input = fg_dataset_field(data.train, 0)->type;
    lenet = fg_model_create(root, &model);
    adam = fg_adam_create(root, &(fg_adam_options){.lr = 0.01});
    TRY(fg_module_error(root, &err));
    const int64_t batches = fg_loader_batch_count(train), steps = EPOCHS * batches;
    const fg_schedule onecycle = fg_onecycle(NULL);
    TRY(fg_optimizer_set_schedule(adam, &onecycle, steps, &err));
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        double loss = 0, hits = 0;
        TRY(pass(train, epoch, true, &loss));
        TRY(pass(val, epoch, false, &hits));
        printf("epoch %2d: loss %.4f, accuracy %.4f\n", epoch, loss / (double)batches,
               hits / (double)fg_dataset_count(data.val));
    }
done:
    if (err.status != FG_OK)
        fg_error_print(&err, argv[0]);
    fg_loader_destroy(train);
    fg_loader_destroy(val);
    fg_dataset_destroy(data.train);
    fg_dataset_destroy(data.val);
    fg_csv_schema_destroy(data.schema);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    fg_client_close(client);
    return err.status != FG_OK;
}
