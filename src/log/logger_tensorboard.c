/* logger_tensorboard.c - the logger `tensorboard`: event files in the run folder, which TensorBoard
 * reads.
 *
 * Each fit writes one more file. Before, events after the checkpoint that it continues from are
 * removed from the earlier files; lines that they lack, because the process was killed or the
 * logger was not used, are added from metrics.jsonl.
 *
 * A file is a sequence of records: length u64, its checksum u32, data, checksum u32, little-endian;
 * the data are an Event (event.proto). The first one has the version of the format.
 * Sources: tensorboard/compat/proto (event.proto, summary.proto, graph.proto, attr_value.proto);
 * tensorboard/summary/writer/record_writer.py; tensorboard/plugins/text/metadata.py; TensorFlow,
 * "TFRecord and tf.train.Example".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fulgurite/image.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "log/event.pb-c.h"
#include "log/log_file.h"
#include "log/logger.h"

enum { MOST_KEPT = 1 << 24, SCALARS_MAX = FGI_LOG_VALUES + 2 };
enum { HEADER = 12, FOOTER = 4, SESSION_START = 1, NAME_SIZE = 256 };
enum { TYPE_FLOAT = 1, TYPE_STRING = 7, CLASS_TENSOR = 2, PRODUCER = 22 };

/* What the event files of a folder contain. */
typedef struct event_past {
    int64_t lines;      /* of the log */
    int64_t last_step;  /* of these; -1: none */
    int64_t last_lines; /* lines of that step */
    int64_t newest;     /* the time in the name of the newest file, 0: none */
} event_past;

typedef struct board {
    fgi_log_file file;
    event_past past;
    bool has_settings;
    bool histograms; /* of the weights in checkpoints */
    int64_t seen;    /* lines of the history with the last step of the files */
} board;

#define PREFIX "events.out.tfevents."
#define SUFFIX ".fulgurite"

/* ---- records --------------------------------------------------------------------------------- */

static void put_number(fgi_buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fgi_buf_putc(out, (char)(unsigned char)(value >> (8 * i)));
}

typedef struct sink {
    ProtobufCBuffer base;
    fgi_buf *out;
} sink;

static void append(ProtobufCBuffer *self, size_t size, const uint8_t *data)
{
    fgi_buf_add(((sink *)self)->out, data, size);
}

/* Appends a record. A log line is an event with a summary of plain scalars (simple_value), which no
 * other event has. */
static void put_event(fgi_buf *out, const Fulgurite__Tb__Event *event)
{
    const size_t size = fulgurite__tb__event__get_packed_size(event), start = out->size;
    sink to = {.base = {.append = append}, .out = out};
    put_number(out, size, 8);
    if (!out->failed)
        put_number(out, fgi_crc32c_masked(out->data + start, 8), 4);
    (void)fulgurite__tb__event__pack_to_buffer(event, &to.base);
    if (!out->failed)
        put_number(out, fgi_crc32c_masked(out->data + start + HEADER, size), 4);
}

/* Appends the records at the start of a file. Readers forget what they have read of the steps
 * starting at `first`. */
static void put_start(fgi_buf *out, int64_t first, double wall_time)
{
    static char version[] = "brain.Event:2";
    Fulgurite__Tb__Event event = FULGURITE__TB__EVENT__INIT;
    Fulgurite__Tb__SessionLog session = FULGURITE__TB__SESSION_LOG__INIT;
    event.has_wall_time = session.has_status = 1;
    event.wall_time = wall_time;
    event.file_version = version;
    put_event(out, &event);
    session.status = SESSION_START;
    event.file_version = NULL;
    event.session_log = &session;
    event.has_step = 1;
    event.step = first;
    put_event(out, &event);
}

/* ---- earlier files --------------------------------------------------------------------------- */

static uint64_t get_number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* The size of the record's data; false if the record is incomplete or damaged. */
static bool get_record(const unsigned char *data, size_t size, size_t *out_size)
{
    if (size < HEADER + FOOTER || get_number(data + 8, 4) != fgi_crc32c_masked(data, 8))
        return false;
    const uint64_t length = get_number(data, 8);
    if (length > size - HEADER - FOOTER)
        return false;
    *out_size = (size_t)length;
    return get_number(data + HEADER + length, 4) == fgi_crc32c_masked(data + HEADER, *out_size);
}

/* Only log lines have plain scalars. */
static bool is_line(const Fulgurite__Tb__Event *event)
{
    return event->summary->n_value == 0 || event->summary->value[0]->has_simple_value;
}

/* Whether the run keeps the event, which is counted if it is a line. */
static bool keep(const Fulgurite__Tb__Event *event, const fg_log_start *start, event_past *past)
{
    if (event->summary == NULL)
        return true;
    if (!is_line(event))
        return event->step <= start->step;
    if (!fgi_log_is_valid(start, event->step, past->lines))
        return false;
    past->lines++;
    past->last_lines = event->step == past->last_step ? past->last_lines + 1 : 1;
    past->last_step = event->step;
    return true;
}

/* Appends the records that are kept. */
static fg_status filter(const fgi_mapping *file, const fg_log_start *start, event_past *past,
                        fgi_buf *out, fg_error *err)
{
    size_t size = 0;
    bool has_no_memory = false;
    ProtobufCAllocator memory = {
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &has_no_memory};
    for (size_t at = 0; get_record(file->data + at, file->size - at, &size);
         at += HEADER + size + FOOTER) {
        Fulgurite__Tb__Event *event =
            fulgurite__tb__event__unpack(&memory, size, file->data + at + HEADER);
        if (has_no_memory)
            return fgi_no_memory(err);
        if (event != NULL && keep(event, start, past))
            fgi_buf_add(out, file->data + at, HEADER + size + FOOTER);
        fulgurite__tb__event__free_unpacked(event, &memory);
    }
    return fgi_buf_status(out, err);
}

static fg_status cut_file(const char *path, const fg_log_start *start, event_past *past,
                          fg_error *err)
{
    fgi_mapping file = {0};
    fgi_buf kept = {0};
    FGI_TRY(fgi_file_map(path, &file, err));
    fg_status status = filter(&file, start, past, &kept, err);
    if (status == FG_OK && kept.size < file.size)
        status = fgi_file_write_atomic(path, kept.data != NULL ? kept.data : "", kept.size, err);
    fgi_buf_fini(&kept);
    fgi_file_unmap(&file);
    return status;
}

/* The time in a name of ours; 0: another file. */
static int64_t time_in(const char *name)
{
    int64_t seconds = 0;
    const char *digits = name + strlen(PREFIX);
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !fgi_ends_with(name, SUFFIX) ||
        !fgi_parse_i64((fgi_str){digits, strcspn(digits, ".")}, &seconds))
        return 0;
    return seconds;
}

/* Replaces `name` by the next one of an event file in the order of names; false: there is none. */
static bool next_file(DIR *folder, char name[NAME_SIZE])
{
    char next[NAME_SIZE] = "";
    rewinddir(folder);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder))
        if (time_in(e->d_name) > 0 && strcmp(e->d_name, name) > 0 &&
            (next[0] == '\0' || strcmp(e->d_name, next) < 0))
            (void)snprintf(next, sizeof next, "%s", e->d_name);
    memcpy(name, next, sizeof next);
    return next[0] != '\0';
}

static fg_status cut_or_remove(const fg_log_start *start, bool is_new, const char *name,
                               event_past *past, fg_error *err)
{
    char *path = fgi_path_join(start->run_dir, name);
    fg_status status = FG_OK;
    if (path == NULL)
        return fgi_no_memory(err);
    past->newest = time_in(name) > past->newest ? time_in(name) : past->newest;
    if (!is_new)
        status = cut_file(path, start, past, err);
    else if (unlink(path) != 0 && errno != ENOENT)
        status = fgi_fail_errno(err, "remove", path);
    fgi_free(path);
    return status;
}

/* Finds the event files of a run and removes the events that do not belong to the checkpoint that
 * it continues from, and incomplete records at their ends; the files themselves for a new run. Only
 * files that have a name of file_name are changed. */
static fg_status cut_files(const fg_log_start *start, bool is_new, event_past *out, fg_error *err)
{
    char name[NAME_SIZE] = "";
    fg_status status = FG_OK;
    DIR *folder = opendir(start->run_dir);
    *out = (event_past){.last_step = -1};
    if (folder == NULL)
        return fgi_fail_errno(err, "open", start->run_dir);
    while (status == FG_OK && next_file(folder, name))
        status = cut_or_remove(start, is_new, name, out, err);
    (void)closedir(folder);
    return status;
}

/* The name of a new event file, a new string (fgi_free), or NULL: after `newest`, since readers
 * open files in the order of their names, and ignore those before the newest they know. */
static char *file_name(double wall_time, int64_t newest)
{
    fgi_buf name = {0};
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof host, "unknown");
    const int64_t now = (int64_t)wall_time;
    fgi_buf_printf(&name, PREFIX "%010" PRId64 ".%s.%ld.0" SUFFIX, now > newest ? now : newest + 1,
                   host, (long)getpid());
    return fgi_buf_take(&name);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Appends an event with values. */
static void put_summary(fgi_buf *out, Fulgurite__Tb__Value **values, size_t count, int64_t step,
                        double wall_time)
{
    Fulgurite__Tb__Event event = FULGURITE__TB__EVENT__INIT;
    Fulgurite__Tb__Summary summary = FULGURITE__TB__SUMMARY__INIT;
    summary.n_value = count;
    summary.value = values;
    event.has_wall_time = event.has_step = 1;
    event.wall_time = wall_time;
    event.step = step;
    event.summary = &summary;
    put_event(out, &event);
}

/* "train_loss" as "train/loss": TensorBoard groups by the part before the slash. */
static void put_tag(const char *name, char out[64])
{
    (void)snprintf(out, 64, "%s", name);
    if (strncmp(out, "train_", 6) == 0)
        out[5] = '/';
    else if (strncmp(out, "val_", 4) == 0)
        out[3] = '/';
}

typedef struct scalars {
    Fulgurite__Tb__Value values[SCALARS_MAX];
    Fulgurite__Tb__Value *list[SCALARS_MAX];
    char tags[SCALARS_MAX][64];
    size_t count;
} scalars;

/* NaN: there is no value. */
static void add_scalar(scalars *s, const char *name, double value)
{
    if (isnan(value) || s->count == SCALARS_MAX)
        return;
    Fulgurite__Tb__Value *next = &s->values[s->count];
    fulgurite__tb__value__init(next);
    put_tag(name, s->tags[s->count]);
    next->tag = s->tags[s->count];
    next->has_simple_value = 1;
    next->simple_value = (float)value;
    s->list[s->count++] = next;
}

static void put_line(const fg_log_line *line, fgi_buf *out)
{
    scalars s = {.count = 0};
    if (!line->is_validation) { /* only one line of a step has these */
        add_scalar(&s, "epoch", (double)line->epoch);
        add_scalar(&s, "lr", line->lr);
    }
    for (size_t i = 0; i < line->metric_count; i++)
        add_scalar(&s, line->metrics[i].name, line->metrics[i].value);
    put_summary(out, s.list, s.count, line->step, line->wall_time);
}

/* ---- hyperparameters ------------------------------------------------------------------------- */

/* As the plug-in `hparams` reads them: the data are in the metadata of a value. */
static void put_hparams(const char *tag, const Fulgurite__Tb__HparamsData *content, int64_t step,
                        double wall_time, fgi_buf *out)
{
    static char plugin[] = "hparams";
    static float zero;
    Fulgurite__Tb__Value value = FULGURITE__TB__VALUE__INIT;
    Fulgurite__Tb__PluginData data = FULGURITE__TB__PLUGIN_DATA__INIT;
    Fulgurite__Tb__SummaryMetadata metadata = FULGURITE__TB__SUMMARY_METADATA__INIT;
    Fulgurite__Tb__Tensor tensor = FULGURITE__TB__TENSOR__INIT;
    Fulgurite__Tb__TensorShape shape = FULGURITE__TB__TENSOR_SHAPE__INIT;
    uint8_t *packed = fgi_alloc(fulgurite__tb__hparams_data__get_packed_size(content) + 1);
    if (packed == NULL) {
        out->failed = true;
        return;
    }
    data.has_content = tensor.has_dtype = 1;
    data.content.data = packed;
    data.content.len = fulgurite__tb__hparams_data__pack(content, packed);
    data.plugin_name = plugin;
    metadata.plugin_data = &data;
    tensor.dtype = TYPE_FLOAT;
    tensor.tensor_shape = &shape;
    tensor.n_float_val = 1;
    tensor.float_val = &zero;
    value.tag = (char *)tag;
    value.metadata = &metadata;
    value.tensor = &tensor;
    put_summary(out, (Fulgurite__Tb__Value *[]){&value}, 1, step, wall_time);
    fgi_free(packed);
}

typedef struct setting {
    Fulgurite__Tb__SettingEntry entry;
    Fulgurite__Tb__Setting value;
} setting;

static void set_setting(setting *s, const fg_log_setting *from)
{
    double number = 0;
    fulgurite__tb__setting_entry__init(&s->entry);
    fulgurite__tb__setting__init(&s->value);
    s->entry.key = (char *)from->name;
    s->entry.value = &s->value;
    if (fgi_parse_f64(fgi_str_of(from->value), &number)) {
        s->value.has_number_value = 1;
        s->value.number_value = number;
    } else if (strcmp(from->value, "true") == 0 || strcmp(from->value, "false") == 0) {
        s->value.has_bool_value = 1;
        s->value.bool_value = from->value[0] == 't';
    } else {
        s->value.string_value = (char *)from->value;
    }
}

static fg_status put_settings(const fg_log_start *start, fgi_buf *out, fg_error *err)
{
    const size_t count = start->setting_count;
    setting *settings = fgi_calloc(count + 1, sizeof *settings);
    Fulgurite__Tb__SettingEntry **list = fgi_calloc(count + 1, sizeof *list);
    Fulgurite__Tb__SessionStart session = FULGURITE__TB__SESSION_START__INIT;
    Fulgurite__Tb__HparamsData data = FULGURITE__TB__HPARAMS_DATA__INIT;
    const bool is_good = settings != NULL && list != NULL;
    for (size_t i = 0; is_good && i < count; i++) {
        set_setting(&settings[i], &start->settings[i]);
        list[i] = &settings[i].entry;
    }
    session.n_hparams = count;
    session.hparams = list;
    session.has_start_time_secs = 1;
    session.start_time_secs = start->wall_time;
    data.session_start_info = &session;
    if (is_good && count > 0)
        put_hparams("_hparams_/session_start_info", &data, start->step, start->wall_time, out);
    fgi_free(settings);
    fgi_free(list);
    return is_good ? FG_OK : fgi_no_memory(err);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_value(fgi_buf *out, Fulgurite__Tb__Value *value, const fg_log_item *item)
{
    value->tag = (char *)item->name;
    put_summary(out, &value, 1, item->step, item->wall_time);
}

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
        put_event(out, &event);
    }
    fgi_free(list);
    fgi_free(nodes);
    fgi_arena_fini(&memory);
    return is_good;
}

static fg_status put_item(fgi_buf *out, const fg_log_item *item, fg_error *err)
{
    switch (item->kind) {
    case FG_LOG_TEXT: put_text(out, item); break;
    case FG_LOG_IMAGE: return put_image(out, item, err);
    case FG_LOG_HISTOGRAM: put_histogram(out, item); break;
    case FG_LOG_GRAPH: return put_graph(out, item) ? FG_OK : fgi_no_memory(err);
    }
    return FG_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Writes what is kept. What cannot be written for long is dropped: memory is limited. */
static fg_status flush(void *self, fg_error *err)
{
    board *b = self;
    if (b->file.path == NULL || b->file.kept.size == 0)
        return FG_OK;
    const fg_status status = fgi_log_file_append(&b->file, err);
    if (status == FG_OK || b->file.kept.size > MOST_KEPT)
        fgi_buf_clear(&b->file.kept);
    return status;
}

static fg_status log_line(void *self, const fg_log_line *line, fg_error *err)
{
    board *b = self;
    const size_t before = b->file.kept.size;
    put_line(line, &b->file.kept);
    FGI_TRY(fgi_log_keep(&b->file, before, err));
    return flush(b, err);
}

static fg_status log_item(void *self, const fg_log_item *item, fg_error *err)
{
    board *b = self;
    const size_t before = b->file.kept.size;
    FGI_TRY(put_item(&b->file.kept, item, err));
    FGI_TRY(fgi_log_keep(&b->file, before, err));
    return flush(b, err);
}

/* ---- histograms of weights ------------------------------------------------------------------- */

static fg_status put_weights(board *b, const fg_ckpt *ckpt, const fg_log_saved *saved, size_t index,
                             fg_error *err)
{
    fgi_histogram histogram;
    char name[512];
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    if (info->part != FG_CKPT_MODEL ||
        !fgi_histogram_make(info->type.dtype, fg_ckpt_data(ckpt, index),
                            (size_t)fg_type_count(&info->type), &histogram))
        return FG_OK;
    (void)snprintf(name, sizeof name, "weights/%s", info->name);
    fg_log_item item = fgi_histogram_item(&histogram, name);
    item.step = saved->step;
    item.wall_time = saved->wall_time;
    return put_item(&b->file.kept, &item, err);
}

/* From the checkpoint: this costs no time of the devices. One that a later save has removed
 * meanwhile is left out. */
static fg_status log_weights(void *self, const fg_log_saved *saved, fg_error *err)
{
    board *b = self;
    fg_ckpt *ckpt = NULL;
    const size_t before = b->file.kept.size;
    if (!b->histograms)
        return FG_OK;
    const fg_status opened =
        fg_ckpt_open(saved->path, &(fg_ckpt_options){.no_checksums = true}, &ckpt, err);
    if (opened != FG_OK)
        return fgi_file_exists(saved->path) ? opened : FG_OK;
    fg_status status = FG_OK;
    for (size_t i = 0; i < fg_ckpt_count(ckpt) && status == FG_OK; i++)
        status = put_weights(b, ckpt, saved, i, err);
    fg_ckpt_close(ckpt);
    FGI_TRY(status);
    FGI_TRY(fgi_log_keep(&b->file, before, err));
    return flush(b, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct missing {
    board *b;
    double wall_time; /* of lines without one */
} missing;

/* Adds a line of the history that the files lack. */
static void add_missing(void *self, json_t *json)
{
    const missing *m = self;
    fg_metric metrics[FGI_LOG_VALUES];
    fg_log_line line = fgi_log_line_of(json, metrics);
    const event_past *past = &m->b->past;
    m->b->seen += line.step == past->last_step;
    if (line.step < past->last_step ||
        (line.step == past->last_step && m->b->seen <= past->last_lines))
        return;
    if (isnan(line.wall_time))
        line.wall_time = m->wall_time;
    put_line(&line, &m->b->file.kept);
    m->b->past.lines++;
}

static fg_status place(board *b, const fg_log_start *start, fg_error *err)
{
    char *name = file_name(start->wall_time, b->past.newest);
    fgi_log_file_close(&b->file);
    if (name == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_log_file_place(&b->file, start->run_dir, name, err);
    fgi_free(name);
    return status;
}

static fg_status open_file(void *self, const fg_log_start *start, int64_t *out_lines, fg_error *err)
{
    board *b = self;
    /* a rollback to the state before the first step is not a new run: there are items of step 0 */
    const bool is_new = start->step == 0 && b->file.path == NULL;
    missing m = {.b = b, .wall_time = start->wall_time};
    int64_t lines;
    b->seen = 0;
    fgi_buf_clear(&b->file.kept);
    FGI_TRY(cut_files(start, is_new, &b->past, err));
    FGI_TRY(place(b, start, err));
    put_start(&b->file.kept, is_new ? 0 : start->step + 1, start->wall_time);
    const fg_log_item config = {.kind = FG_LOG_TEXT,
                                .name = "config",
                                .text = start->config,
                                .step = start->step,
                                .wall_time = start->wall_time};
    if (start->config != NULL)
        FGI_TRY(put_item(&b->file.kept, &config, err));
    FGI_TRY(put_settings(start, &b->file.kept, err));
    b->has_settings = start->setting_count > 0;
    FGI_TRY(fgi_log_read_history(start, add_missing, &m, &lines, err));
    FGI_TRY(fgi_buf_status(&b->file.kept, err));
    FGI_TRY(fgi_log_file_replace(&b->file, b->file.kept.data, b->file.kept.size, err));
    fgi_buf_clear(&b->file.kept);
    *out_lines = b->past.lines;
    return FG_OK;
}

static fg_status finish(void *self, const fg_log_end *end, fg_error *err)
{
    board *b = self;
    Fulgurite__Tb__SessionEnd session = FULGURITE__TB__SESSION_END__INIT;
    Fulgurite__Tb__HparamsData data = FULGURITE__TB__HPARAMS_DATA__INIT;
    if (!b->has_settings)
        return FG_OK;
    const size_t before = b->file.kept.size;
    session.has_status = session.has_end_time_secs = 1;
    session.status = end->state == FG_LOG_DONE ? 1 : 2;
    session.end_time_secs = end->wall_time;
    data.session_end_info = &session;
    put_hparams("_hparams_/session_end_info", &data, end->step, end->wall_time, &b->file.kept);
    FGI_TRY(fgi_log_keep(&b->file, before, err));
    return flush(b, err);
}

static const fg_logger_ops ops = {.name = "tensorboard",
                                  .has_thread = true,
                                  .is_single = true,
                                  .open = open_file,
                                  .log = log_line,
                                  .flush = flush,
                                  .sync = fgi_log_file_sync,
                                  .finish = finish,
                                  .item = log_item,
                                  .saved = log_weights,
                                  .destroy = fgi_log_file_destroy};

static const fg_option options[] = {
    FG_OPTION(board, histograms, BOOL, "false", NULL, "true",
              "Log the distribution of the weights of each parameter "
              "at each checkpoint.")};

const fg_logger_entry fgi_tensorboard_logger_row = {
    .entry = {.name = "tensorboard",
              .help = "event files for TensorBoard in the run's folder",
              FG_OPTIONS(options, board)},
    .ops = &ops};
