/* mesh_loop.c - a custom training loop on eight virtual CPU devices, in one process.
 * usage: mesh_loop [ddp|fsdp]        run it from the top of the repository; it trains on the digits
 *
 * The step is written for the global batch. The batch is sharded across the devices, and XLA
 * inserts the collectives. So there is one program and one loop, without ranks, gradient averaging
 * or barriers. The losses are the same as on one device, and as with the Trainer.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>

#define TRY(call)                                                                                  \
    if ((call) != FG_OK)                                                                           \
    goto done
enum { BATCH = 64, EPOCHS = 3 }; /* 8 samples per device and step */

static fg_error err;
static fg_client *client;
static fg_trace *trace;
static fg_module *root;
static fg_model *model;
static fg_optimizer *optimizer;

/* Prints this process, its devices, and the position of each device in the mesh. */
static fg_status introduce(void)
{
    const fg_client_info *all = fg_client_info_of(client);
    fg_device_info one;
    printf("process %d of %d: %d devices, a batch in %d shards\n", all->process_index,
           all->process_count, all->device_count, all->mesh.batch_shards);
    for (int i = 0; i < all->device_count; i++) {
        TRY(fg_device_info_at(client, i, &one, &err));
        printf("  device %d: %s, batch shard %d of %d\n", i, one.kind, one.batch_shard,
               all->mesh.batch_shards);
    }
done:
    return err.status;
}

/* Uploads the fields of a batch, sharded across the devices, as input tensors. */
static fg_status feed(const fg_host_batch *batch, fg_tensor out[2])
{
    fg_array *array = NULL;
    for (int i = 0; i < 2; i++) {
        TRY(fg_array_create_sharded(client, &batch->types[i], batch->data[i],
                                    &(fg_array_options){.spec = "data"}, &array, &err));
        out[i] = fg_input(trace, array);
        fg_array_release(array); /* the trace holds a reference */
    }
done:
    return err.status;
}

static fg_status train(fg_loader *loader, int epoch)
{
    static int step;
    const fg_host_batch *batch = NULL;
    fg_tensor in[2] = {{0}};
    float loss = 0;
    fg_trace_set_training(trace, true);
    TRY(fg_loader_start_epoch(loader, epoch, 0, &err));
    TRY(fg_loader_next(loader, &batch, &err));
    while (batch != NULL) {
        fg_trace_set_seed(trace, 1, (uint64_t)step); /* for dropout */
        TRY(feed(batch, in));
        const fg_tensor mean = fg_cross_entropy(fg_model_apply(model, in[0]), in[1], NULL);
        fg_optimizer_minimize(optimizer, mean);
        TRY(fg_run_f32(trace, mean, &loss, &err)); /* waits for the device */
        printf("step %d loss %.9g\n", ++step, (double)loss);
        fg_loader_recycle(loader, batch);
        TRY(fg_loader_next(loader, &batch, &err));
    }
done:
    return err.status;
}

/* Counts correct predictions; padding rows of the last batch are masked out. */
static fg_status test(fg_loader *loader, double *out_hits)
{
    fg_scalar valid = {.dtype = FG_S32};
    const fg_host_batch *batch = NULL;
    fg_tensor in[2] = {{0}};
    float hits = 0;
    fg_trace_set_training(trace, false);
    TRY(fg_loader_start_epoch(loader, 0, 0, &err));
    TRY(fg_loader_next(loader, &batch, &err));
    while (batch != NULL) {
        valid.value.s32 = (int32_t)batch->valid;
        TRY(feed(batch, in));
        const fg_tensor row = fg_iota(trace, FG_S32, 0, FG_DIMS(BATCH));
        const fg_tensor real = fg_cast(fg_lt(row, fg_scalar_value(trace, &valid)), FG_F32);
        const fg_tensor right = fg_accuracy(fg_model_apply(model, in[0]), in[1]);
        TRY(fg_run_f32(trace, fg_sum(fg_mul(right, real), 0, NULL), &hits, &err));
        *out_hits += (double)hits;
        fg_loader_recycle(loader, batch);
        TRY(fg_loader_next(loader, &batch, &err));
    }
done:
    return err.status;
}

/* Opens the devices, and creates the model and its optimizer. */
static fg_status build(fg_type input, const fg_distribute_options *how)
{
    TRY(fg_client_open(&(fg_client_options){.accelerator = "cpu", .devices = "8"}, &client, &err));
    TRY(introduce());
    TRY(fg_trace_create(client, &trace, &err));
    TRY(fg_module_create(NULL, 1, &root, &err));
    model =
        fg_model_create(root, &(fg_model_options){.name = "mlp",
                                                  .input = input,
                                                  .outputs = 10,
                                                  .options = "{hidden: [128, 64], dropout: 0.1}",
                                                  .scale = 1.0 / 16});
    optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 0.003});
    TRY(fg_module_distribute(root, client, how, &err)); /* replicates or shards the parameters */
done:
    return err.status;
}

int main(int argc, char **argv)
{
    const fg_csv_options digits = {
        .header = FG_CSV_HEADER_NO, .image = {8, 8, 1}, .val_fraction = 0.2};
    const fg_loader_options order = {
        .batch_size = BATCH, .shuffle = true, .seed = 1, .drop_last = true};
    const fg_distribute_options how = {.strategy = argc > 1 ? argv[1] : "ddp"};
    fg_csv_parts data = {0};
    fg_loader *loader = NULL, *held_out = NULL;
    TRY(fg_csv_load("share/data/digits/digits.csv.gz", &digits, &data, &err));
    TRY(fg_loader_create(data.train, &order, &loader, &err));
    TRY(fg_loader_create(data.val, &(fg_loader_options){.batch_size = BATCH}, &held_out, &err));
    TRY(build(fg_dataset_field(data.train, 0)->type, &how));
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        double hits = 0;
        TRY(train(loader, epoch));
        TRY(test(held_out, &hits));
        printf("epoch %d accuracy %.4f\n", epoch, hits / (double)fg_dataset_count(data.val));
    }
done:
    if (err.status != FG_OK)
        fg_error_print(&err, argv[0]);
    fg_loader_destroy(loader);
    fg_loader_destroy(held_out);
    fg_dataset_destroy(data.train);
    fg_dataset_destroy(data.val);
    fg_csv_schema_destroy(data.schema);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    fg_client_close(client);
    return err.status != FG_OK;
}
