/* event_items.c - the events of what is not a number: text, images, histograms, the graph.
 *
 * Sources: tensorboard/compat/proto/summary.proto (Image, HistogramProto), graph.proto,
 * attr_value.proto; tensorboard/plugins/text/metadata.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/event_items.h"

#include <fulgurite/image.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "log/event_file.h"

enum { TYPE_STRING = 7, CLASS_TENSOR = 2, PRODUCER = 22 };

/* Appends an event with one value. */
static void put_value(fgi_buf *out, Fulgurite__Tb__Value *value, const fg_log_item *item)
{
    Fulgurite__Tb__Event event = FULGURITE__TB__EVENT__INIT;
    Fulgurite__Tb__Summary summary = FULGURITE__TB__SUMMARY__INIT;
    value->tag = (char *)item->name;
    summary.n_value = 1;
    summary.value = &value;
    event.has_wall_time = event.has_step = 1;
    event.wall_time = item->wall_time;
    event.step = item->step;
    event.summary = &summary;
    fgi_event_put(out, &event);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* TensorBoard renders Markdown; lines that are indented by four spaces stay as they are. */
static void put_indented(fgi_buf *out, const char *text)
{
    while (*text != '\0') {
        const size_t size = strcspn(text, "\n");
        fgi_buf_puts(out, "    ");
        fgi_buf_add(out, text, size);
        fgi_buf_putc(out, '\n');
        text += size + (text[size] == '\n');
    }
}

/* As the plug-in `text` shows it. */
static void put_text(fgi_buf *out, const fg_log_item *item)
{
    static char plugin[] = "text";
    Fulgurite__Tb__Value value = FULGURITE__TB__VALUE__INIT;
    Fulgurite__Tb__PluginData data = FULGURITE__TB__PLUGIN_DATA__INIT;
    Fulgurite__Tb__SummaryMetadata metadata = FULGURITE__TB__SUMMARY_METADATA__INIT;
    Fulgurite__Tb__Tensor tensor = FULGURITE__TB__TENSOR__INIT;
    Fulgurite__Tb__TensorShape shape = FULGURITE__TB__TENSOR_SHAPE__INIT;
    fgi_buf shown = {0};
    put_indented(&shown, item->text);
    ProtobufCBinaryData string = {.len = shown.size, .data = (uint8_t *)shown.data};
    data.plugin_name = plugin;
    metadata.plugin_data = &data;
    metadata.has_data_class = tensor.has_dtype = 1;
    metadata.data_class = CLASS_TENSOR;
    tensor.dtype = TYPE_STRING;
    tensor.tensor_shape = &shape;
    tensor.n_string_val = 1;
    tensor.string_val = &string;
    value.metadata = &metadata;
    value.tensor = &tensor;
    put_value(out, &value, item);
    out->failed |= shown.failed;
    fgi_buf_fini(&shown);
}

/* ---- images and histograms ------------------------------------------------------------------- */

static fg_status put_image(fgi_buf *out, const fg_log_item *item, fg_error *err)
{
    Fulgurite__Tb__Value value = FULGURITE__TB__VALUE__INIT;
    Fulgurite__Tb__Image image = FULGURITE__TB__IMAGE__INIT;
    fg_image_bytes png = {0};
    const fg_image pixels = {.pixels = (uint8_t *)item->pixels,
                             .width = item->width,
                             .height = item->height,
                             .channels = (int)item->channels};
    const fg_status status = fg_image_encode_png(&pixels, NULL, &png, err);
    if (status == FG_OK) {
        image.has_height = image.has_width = image.has_colorspace = image.has_encoded = 1;
        image.height = (int32_t)item->height;
        image.width = (int32_t)item->width;
        image.colorspace = (int32_t)item->channels;
        image.encoded = (ProtobufCBinaryData){.len = png.size, .data = png.data};
        value.image = &image;
        put_value(out, &value, item);
    }
    fg_image_bytes_fini(&png);
    return status;
}

static void put_histogram(fgi_buf *out, const fg_log_item *item)
{
    Fulgurite__Tb__Value value = FULGURITE__TB__VALUE__INIT;
    Fulgurite__Tb__Histogram histogram = FULGURITE__TB__HISTOGRAM__INIT;
    histogram.has_min = histogram.has_max = histogram.has_num = histogram.has_sum =
        histogram.has_sum_squares = 1;
    histogram.min = item->minimum;
    histogram.max = item->maximum;
    histogram.num = item->count;
    histogram.sum = item->sum;
    histogram.sum_squares = item->sum_squares;
    histogram.n_bucket_limit = histogram.n_bucket = item->bins;
    histogram.bucket_limit = (double *)item->edges + 1;
    histogram.bucket = (double *)item->counts;
    value.histo = &histogram;
    put_value(out, &value, item);
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* A node and what it refers to, but for the names of its inputs. */
typedef struct node {
    Fulgurite__Tb__Node base;
    Fulgurite__Tb__AttrEntry entry, *entries[1];
    Fulgurite__Tb__Attr attr;
    Fulgurite__Tb__ShapeList list;
    Fulgurite__Tb__TensorShape shape, *shapes[1];
    Fulgurite__Tb__Dim dim[FG_MAX_RANK], *dims[FG_MAX_RANK];
} node;

/* The shape of the result, which the viewer shows at the edges. */
static void set_shape(node *n, const fg_type *type)
{
    static char key[] = "_output_shapes";
    fulgurite__tb__attr_entry__init(&n->entry);
    fulgurite__tb__attr__init(&n->attr);
    fulgurite__tb__shape_list__init(&n->list);
    fulgurite__tb__tensor_shape__init(&n->shape);
    for (int i = 0; i < type->rank; i++) {
        fulgurite__tb__dim__init(&n->dim[i]);
        n->dim[i].has_size = 1;
        n->dim[i].size = type->dim[i];
        n->dims[i] = &n->dim[i];
    }
    n->shape.n_dim = (size_t)type->rank;
    n->shape.dim = n->dims;
    n->shapes[0] = &n->shape;
    n->list.n_shape = 1;
    n->list.shape = n->shapes;
    n->attr.list = &n->list;
    n->entry.key = key;
    n->entry.value = &n->attr;
    n->entries[0] = &n->entry;
    n->base.n_attr = 1;
    n->base.attr = n->entries;
}

/* False when out of memory. */
static bool set_node(node *n, const fg_log_item *item, size_t index, fgi_arena *memory)
{
    const fg_log_node *from = &item->nodes[index];
    fulgurite__tb__node__init(&n->base);
    n->base.name = (char *)from->name;
    n->base.op = (char *)from->op;
    n->base.n_input = from->input_count;
    n->base.input = fgi_arena_alloc(memory, (from->input_count + 1) * sizeof *n->base.input);
    for (size_t i = 0; n->base.input != NULL && i < from->input_count; i++)
        n->base.input[i] = (char *)item->nodes[from->inputs[i]].name;
    set_shape(n, &from->type);
    return n->base.input != NULL;
}

static bool put_graph(fgi_buf *out, const fg_log_item *item)
{
    fgi_arena memory = {0};
    Fulgurite__Tb__Event event = FULGURITE__TB__EVENT__INIT;
    Fulgurite__Tb__Graph graph = FULGURITE__TB__GRAPH__INIT;
    Fulgurite__Tb__Versions versions = FULGURITE__TB__VERSIONS__INIT;
    node *nodes = fgi_calloc(item->node_count + 1, sizeof *nodes);
    Fulgurite__Tb__Node **list = fgi_calloc(item->node_count + 1, sizeof *list);
    bool is_good = nodes != NULL && list != NULL;
    for (size_t i = 0; is_good && i < item->node_count; i++) {
        is_good = set_node(&nodes[i], item, i, &memory);
        list[i] = &nodes[i].base;
    }
    if (is_good) {
        versions.has_producer = event.has_wall_time = 1;
        versions.producer = PRODUCER;
        graph.versions = &versions;
        graph.n_node = item->node_count;
        graph.node = list;
        event.wall_time = item->wall_time;
        event.graph_def = &graph;
        fgi_event_put(out, &event);
    }
    fgi_free(list);
    fgi_free(nodes);
    fgi_arena_fini(&memory);
    return is_good;
}

fg_status fgi_event_put_item(fgi_buf *out, const fg_log_item *item, fg_error *err)
{
    switch (item->kind) {
    case FG_LOG_TEXT: put_text(out, item); break;
    case FG_LOG_IMAGE: return put_image(out, item, err);
    case FG_LOG_HISTOGRAM: put_histogram(out, item); break;
    case FG_LOG_GRAPH: return put_graph(out, item) ? FG_OK : fgi_no_memory(err);
    }
    return FG_OK;
}
