/* compile_bench.c - measures the compile time and the run time of one training step (forward,
 * gradients, SGD).            usage: compile_bench CASE LAYERS [SIDE [BATCH [CHANNELS [SIZE]]]]
 *
 * The model is a stack of LAYERS layers of the same kind on images of SIDE x SIDE; SIZE is that of
 * the kernel or window. Case "convnext" is ConvNeXt-Tiny with 1/LAYERS of its channels. Prints one
 * JSON object. bench/compile runs the cases in docs/benchmarks.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { RUNS = 5, PIECES = 64 };

typedef struct sizes {
    int64_t layers, side, batch, channels, size;
} sizes;

/* Everything that a case's layers need: variables are created in `root`, values in `trace`. */
typedef struct net {
    fg_module *root;
    fg_trace *trace;
    fg_optimizer *optimizer;
    sizes size;
    int used; /* parameters in this trace so far */
} net;

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time of all threads. */
static double cpu_s(void)
{
    struct rusage r;
    (void)getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* The next parameter: created in the first trace, uniform in +- sqrt(3/fan_in), found in others. */
static fg_tensor parameter(net *n, const fg_type *type, double fan_in)
{
    char name[32];
    const fg_variable_options options = {.init = {FG_INIT_UNIFORM, sqrt(3 / fan_in)}};
    (void)snprintf(name, sizeof name, "p%d", n->used++);
    fg_variable *variable = fg_module_find(n->root, name);
    if (variable == NULL)
        variable = fg_module_variable(n->root, name, type, &options);
    return fg_variable_value(n->trace, variable);
}

static fg_tensor conv(net *n, fg_tensor x, int64_t size, int64_t outputs,
                      const fg_conv2d_options *options)
{
    const int64_t groups = options->groups != 0 ? options->groups : 1;
    const int64_t inputs = fg_tensor_dim(x, 3) / groups;
    const fg_type type = {FG_F32, 4, {size, size, inputs, outputs}};
    return fg_conv2d(x, parameter(n, &type, (double)(size * size * inputs)), options);
}

/* ---- the kinds of layer ---------------------------------------------------------------------- */

static fg_tensor dense(net *n, fg_tensor x)
{
    const int64_t size = n->size.size;
    return fg_relu(conv(n, x, size, n->size.channels, &(fg_conv2d_options){.pad = (size - 1) / 2}));
}

static fg_tensor depthwise(net *n, fg_tensor x)
{
    const int64_t size = n->size.size, channels = n->size.channels;
    return fg_relu(conv(n, x, size, channels,
                        &(fg_conv2d_options){.pad = (size - 1) / 2, .groups = channels}));
}

static fg_tensor groups(net *n, fg_tensor x, int64_t count)
{
    const int64_t size = n->size.size;
    return fg_relu(conv(n, x, size, n->size.channels,
                        &(fg_conv2d_options){.pad = (size - 1) / 2, .groups = count}));
}

static fg_tensor groups_of_two(net *n, fg_tensor x) { return groups(n, x, n->size.channels / 2); }
static fg_tensor groups_32(net *n, fg_tensor x) { return groups(n, x, 32); }

static fg_tensor max_pool(net *n, fg_tensor x)
{
    const int64_t size = n->size.size;
    return fg_max_pool(
        fg_relu(conv(n, x, 1, n->size.channels, &(fg_conv2d_options){0})),
        &(fg_pool_options){.size = size, .stride = size > 4 ? size / 4 : 1, .pad = size / 2});
}

static fg_tensor avg_pool(net *n, fg_tensor x)
{
    const int64_t size = n->size.size;
    return fg_avg_pool(
        fg_relu(conv(n, x, 1, n->size.channels, &(fg_conv2d_options){0})),
        &(fg_pool_options){.size = size, .stride = size > 4 ? size / 4 : 1, .pad = size / 2});
}

/* x split into 64 slices along its channels, each scaled separately, and concatenated. */
static fg_tensor concat(net *n, fg_tensor x)
{
    fg_tensor piece[PIECES];
    const int64_t *d = fg_tensor_type(x)->dim, each = d[3] / PIECES;
    for (int64_t i = 0; i < PIECES; i++) {
        const int64_t start[4] = {0, 0, 0, i * each}, limit[4] = {d[0], d[1], d[2], (i + 1) * each};
        const fg_type type = {FG_F32, 1, {each}};
        piece[i] = fg_mul(fg_slice(x, start, limit, NULL), parameter(n, &type, 1));
    }
    return fg_relu(fg_concat(piece, PIECES, 3));
}

/* Every pixel's channels, forwards and backwards. */
static fg_tensor reversed(net *n, fg_tensor x)
{
    const fg_type type = {FG_F32, 1, {fg_tensor_dim(x, 3)}};
    return fg_add(fg_mul(x, parameter(n, &type, 3)), fg_reverse(x, 1, (const int[]){3}));
}

/* ---- ConvNeXt -------------------------------------------------------------------------------- */

/* Over the channels of each pixel, with scale and shift. */
static fg_tensor layer_norm(net *n, fg_tensor x)
{
    const fg_type type = {FG_F32, 1, {fg_tensor_dim(x, 3)}};
    const int64_t *d = fg_tensor_type(x)->dim, one[4] = {d[0], d[1], d[2], 1};
    const int last[] = {3};
    const fg_tensor off = fg_sub(x, fg_reshape(fg_mean(x, 1, last), 4, one));
    const fg_tensor var = fg_reshape(fg_mean(fg_square(off), 1, last), 4, one);
    const fg_tensor normal = fg_mul(off, fg_rsqrt(fg_add_scalar(var, 1e-6)));
    const fg_tensor scale = fg_add_scalar(parameter(n, &type, 300), 1);
    return fg_add(fg_mul(normal, scale), parameter(n, &type, 300));
}

/* Hendrycks and Gimpel 2016, the form with tanh. */
static fg_tensor gelu(fg_tensor x)
{
    const fg_tensor cube = fg_mul(fg_square(x), fg_mul_scalar(x, 0.044715));
    const fg_tensor inner = fg_mul_scalar(fg_add(x, cube), 0.7978845608028654);
    return fg_mul_scalar(fg_mul(x, fg_add_scalar(fg_tanh(inner), 1)), 0.5);
}

static fg_tensor convnext_block(net *n, fg_tensor x)
{
    const int64_t channels = fg_tensor_dim(x, 3);
    const fg_type scale = {FG_F32, 1, {channels}};
    fg_tensor y = conv(n, x, 7, channels, &(fg_conv2d_options){.pad = 3, .groups = channels});
    y = gelu(conv(n, layer_norm(n, y), 1, 4 * channels, &(fg_conv2d_options){0}));
    y = conv(n, y, 1, channels, &(fg_conv2d_options){0});
    return fg_add(x, fg_mul(y, parameter(n, &scale, 300)));
}

/* Liu et al. 2022, "A ConvNet for the 2020s": ConvNeXt-Tiny. */
static fg_tensor convnext(net *n, fg_tensor x)
{
    static const int64_t depth[] = {3, 3, 9, 3}, width[] = {96, 192, 384, 768};
    for (int i = 0; i < 4; i++) {
        const int64_t size = i == 0 ? 4 : 2;
        x = i == 0 ? x : layer_norm(n, x);
        x = conv(n, x, size, width[i] / n->size.layers, &(fg_conv2d_options){.stride = size});
        x = i == 0 ? layer_norm(n, x) : x;
        for (int64_t k = 0; k < depth[i]; k++)
            x = convnext_block(n, x);
    }
    return layer_norm(n, x);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static const struct kind {
    const char *name;
    fg_tensor (*layer)(net *n, fg_tensor x);
    sizes usual;
    bool is_whole; /* all layers at once, of an image with three channels */
} kinds[] = {
    {"dense", dense, {4, 32, 64, 64, 3}, false},
    {"depthwise", depthwise, {6, 32, 64, 64, 7}, false},
    {"groups-of-two", groups_of_two, {4, 16, 64, 256, 3}, false},
    {"groups", groups_32, {4, 16, 64, 256, 3}, false},
    {"max-pool", max_pool, {1, 32, 16, 32, 24}, false},
    {"avg-pool", avg_pool, {1, 32, 16, 32, 24}, false},
    {"concat", concat, {4, 16, 32, 256, 1}, false},
    {"reversed", reversed, {16, 16, 32, 64, 1}, false},
    {"layer-norm", layer_norm, {32, 16, 32, 64, 1}, false},
    {"convnext", convnext, {1, 224, 2, 3, 7}, true},
};

static const struct kind *find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* The step's loss, with its parameters moved. */
static fg_tensor write_step(net *n, const struct kind *kind)
{
    const sizes *s = &n->size;
    const fg_type image = {FG_F32, 4, {s->batch, s->side, s->side, s->channels}};
    n->used = 0;
    fg_tensor x = parameter(n, &image, 3);
    for (int64_t i = 0; i < (kind->is_whole ? 1 : s->layers); i++)
        x = kind->layer(n, x);
    const fg_tensor loss = fg_mean(fg_square(x), 0, NULL);
    if (n->optimizer == NULL)
        n->optimizer = fg_sgd_create(n->root, &(fg_sgd_options){.lr = 1e-4});
    fg_optimizer_minimize(n->optimizer, loss);
    return loss;
}

/* Compiles and runs the step, then runs it again; prints what both took. */
static fg_status measure(net *n, const struct kind *kind, fg_error *err)
{
    char *text = NULL;
    fg_tensor loss = write_step(n, kind);
    fg_status status = fg_trace_text(n->trace, &loss, 1, &text, err);
    double best = DBL_MAX, best_cpu = DBL_MAX, first = 0, first_cpu = 0;
    for (int i = 0; i <= RUNS && status == FG_OK; i++) {
        float value;
        const double begin = now_s(), cpu = cpu_s();
        loss = i == 0 ? loss : write_step(n, kind);
        status = fg_run_f32(n->trace, loss, &value, err);
        if (i == 0) {
            first = now_s() - begin;
            first_cpu = cpu_s() - cpu;
        } else {
            best = fmin(best, now_s() - begin);
            best_cpu = fmin(best_cpu, cpu_s() - cpu);
        }
    }
    if (status == FG_OK)
        printf("{\"case\": \"%s\", \"layers\": %d, \"compile_s\": %.2f, \"compile_cpu_s\": %.2f, "
               "\"step_ms\": %.2f, \"step_cpu_ms\": %.2f, \"text_kb\": %.0f}\n",
               kind->name, (int)n->size.layers, first - best, first_cpu - best_cpu, best * 1e3,
               best_cpu * 1e3, (double)strlen(text) / 1e3);
    fg_free(text);
    return status;
}

int main(int argc, char **argv)
{
    const struct kind *kind = argc > 1 ? find(argv[1]) : NULL;
    fg_client *client = NULL;
    fg_error err = {0};
    if (kind == NULL) {
        (void)fprintf(stderr, "usage: %s CASE LAYERS [SIDE [BATCH [CHANNELS [SIZE]]]]\n", argv[0]);
        return 2;
    }
    net n = {.size = kind->usual};
    int64_t *const size[] = {&n.size.layers, &n.size.side, &n.size.batch, &n.size.channels,
                             &n.size.size};
    for (int i = 2; i < argc && i < 7; i++)
        *size[i - 2] = strtol(argv[i], NULL, 10);
    const fg_client_options options = {.accelerator = "cpu", .cache_dir = ""};
    fg_status status = fg_client_open(&options, &client, &err);
    if (status == FG_OK)
        status = fg_trace_create(client, &n.trace, &err);
    if (status == FG_OK)
        status = fg_module_create("", 1, &n.root, &err);
    if (status == FG_OK)
        status = measure(&n, kind, &err);
    fg_trace_destroy(n.trace);
    fg_module_destroy(n.root);
    fg_client_close(client);
    return status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
