/* resume_loop.c - a custom training loop that saves after each epoch and resumes when restarted.
 * usage: resume_loop FOLDER [EPOCHS]    trains on the digits; FOLDER is the checkpoint
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <stdlib.h>
#include <unistd.h>

#define TRY(call)                                                                                  \
    if ((call) != FG_OK)                                                                           \
    goto done
enum { BATCH = 32 };

static fg_error err;
static fg_client *client;
static fg_trace *trace;
static fg_module *root;
static fg_model *model;
static fg_optimizer *adam;

/* Trains for one epoch; adds up the losses. */
static fg_status train(fg_loader *loader, int64_t epoch, double *sum)
{
    const fg_host_batch *batch = NULL;
    fg_array *array = NULL;
    fg_tensor in[2];
    float loss = 0;
    TRY(fg_loader_start_epoch(loader, epoch, 0, &err));
    TRY(fg_loader_next(loader, &batch, &err));
    while (batch != NULL) {
        for (int i = 0; i < 2; i++) {
            TRY(fg_array_create(client, &batch->types[i], batch->data[i], &array, &err));
            in[i] = fg_input(trace, array);
            fg_array_release(array);
        }
        const fg_tensor x = fg_mul_scalar(fg_cast(in[0], FG_F32), 1.0 / 16);
        const fg_tensor value = fg_cross_entropy(fg_model_apply(model, x), in[1], NULL);
        fg_optimizer_minimize(adam, value);
        TRY(fg_run_f32(trace, value, &loss, &err));
        *sum += (double)loss;
        fg_loader_recycle(loader, batch);
        TRY(fg_loader_next(loader, &batch, &err));
    }
done:
    return err.status;
}

/* Opens the devices, and creates the model and its optimizer. */
static fg_status build(void)
{
    TRY(fg_client_open(NULL, &client, &err));
    TRY(fg_trace_create(client, &trace, &err));
    TRY(fg_module_create(NULL, 1, &root, &err));
    model = fg_model_create(root, &(fg_model_options){.name = "mlp",
                                                      .input = {FG_F32, 3, {8, 8, 1}},
                                                      .outputs = 10,
                                                      .options = "{hidden: 64}"});
    adam = fg_adam_create(root, &(fg_adam_options){.lr = 0.002});
    TRY(fg_module_error(root, &err));
    fg_trace_set_training(trace, true);
done:
    return err.status;
}

/* Trains, starting at the checkpoint if there is one. */
static fg_status fit(fg_loader *loader, const char *folder, int64_t epochs)
{
    const int64_t batches = fg_loader_batch_count(loader);
    int64_t step = 0;
    if (access(folder, F_OK) == 0) /* restores weights, moments and step count */
        TRY(fg_training_load(folder, root, adam, &step, &err));
    for (int64_t epoch = step / batches; epoch < epochs; epoch++) {
        double loss = 0;
        TRY(train(loader, epoch, &loss));
        TRY(fg_training_save(folder, root, adam, NULL, &err)); /* atomic */
        printf("epoch %2d: loss %.6f\n", (int)epoch, loss / (double)batches);
    }
done:
    return err.status;
}

int main(int argc, char **argv)
{
    const fg_csv_options digits = {.header = FG_CSV_HEADER_NO, .image = {8, 8, 1}};
    const fg_loader_options options = {.batch_size = BATCH, .shuffle = true, .drop_last = true};
    const int64_t epochs = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
    fg_csv_parts data = {0};
    fg_loader *loader = NULL;
    char weights[4096];
    if (argc < 2)
        return fprintf(stderr, "usage: resume_loop FOLDER [EPOCHS]\n") > 0;
    TRY(fg_csv_load("share/data/digits/digits.csv.gz", &digits, &data, &err));
    TRY(fg_loader_create(data.train, &options, &loader, &err));
    TRY(build());
    TRY(fit(loader, argv[1], epochs));
    (void)snprintf(weights, sizeof weights, "%s.safetensors", argv[1]);
    TRY(fg_module_save(root, weights, &err)); /* only the weights; PyTorch can load them */
done:
    if (err.status != FG_OK)
        fg_error_print(&err, argv[0]);
    fg_loader_destroy(loader);
    fg_dataset_destroy(data.train);
    fg_csv_schema_destroy(data.schema);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    fg_client_close(client);
    return err.status != FG_OK;
}
