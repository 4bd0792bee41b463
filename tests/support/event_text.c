/* event_text.c - the events of TensorBoard's files as one line of text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "event_text.h"

#include "fgt.h"

#include <dirent.h>
#include <fulgurite/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/print.h"
#include "log/event.pb-c.h"

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_events(const struct dirent *entry)
{
    return strstr(entry->d_name, "tfevents") != NULL;
}

/* "4 weights/w: 5 values from -1 to 3, sum 2, of squares 12, 64 bins to 3: 1 at 0, 4 at 63, " */
static void put_histogram(const Fulgurite__Tb__Value *value, int step, char *out, size_t size)
{
    const Fulgurite__Tb__Histogram *h = value->histo;
    int used = fgi_snprintf(out, size,
                            "%d %s: %g values from %g to %g, sum %g, of squares %g, %zu "
                            "bins to %g: ",
                            step, value->tag, h->num, h->min, h->max, h->sum, h->sum_squares,
                            h->n_bucket, h->bucket_limit[h->n_bucket_limit - 1]);
    assert_int_equal(h->n_bucket, h->n_bucket_limit);
    for (size_t i = 0; i < h->n_bucket; i++)
        if (h->bucket[i] > 0)
            used += fgi_snprintf(out + used, size - (size_t)used, "%g at %zu, ", h->bucket[i], i);
}

/* "0 samples: 2x1x3 pixels 1 2 3 4 5 6, " */
static void put_image(const Fulgurite__Tb__Value *value, int step, char *out, size_t size)
{
    fg_error err = {0};
    fg_image image = {0};
    fg_image_decoder *decoder = NULL;
    const Fulgurite__Tb__Image *from = value->image;
    const fg_image_decode_options options = {.channels = from->colorspace};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "png", from->encoded.data, from->encoded.len, &options, &image,
                           &err));
    assert_int_equal(image.width, from->width);
    assert_int_equal(image.height, from->height);
    int used = fgi_snprintf(out, size, "%d %s: %dx%dx%d pixels", step, value->tag, from->width,
                            from->height, from->colorspace);
    for (int i = 0; i < from->width * from->height * from->colorspace; i++)
        used += fgi_snprintf(out + used, size - (size_t)used, " %d", image.pixels[i]);
    (void)fgi_snprintf(out + used, size - (size_t)used, ", ");
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
}

/* "y = matmul(x, w) 4x2; " */
static void put_graph(const Fulgurite__Tb__Graph *graph, char *out, size_t size)
{
    int used = 0;
    for (size_t i = 0; graph != NULL && i < graph->n_node; i++) {
        const Fulgurite__Tb__Node *n = graph->node[i];
        const Fulgurite__Tb__TensorShape *shape = n->attr[0]->value->list->shape[0];
        assert_string_equal(n->attr[0]->key, "_output_shapes");
        used += fgi_snprintf(out + used, size - (size_t)used, "%s = %s(", n->name, n->op);
        for (size_t k = 0; k < n->n_input; k++)
            used +=
                fgi_snprintf(out + used, size - (size_t)used, k > 0 ? ", %s" : "%s", n->input[k]);
        used += fgi_snprintf(out + used, size - (size_t)used, ")");
        for (size_t k = 0; k < shape->n_dim; k++)
            used += fgi_snprintf(out + used, size - (size_t)used, k > 0 ? "x%d" : " %d",
                                 (int)shape->dim[k]->size);
        used += fgi_snprintf(out + used, size - (size_t)used, "; ");
    }
}

/* "lr=0.5 nesterov=true name='adam' from 1000, " or "ended 1 at 2000, " */
static void put_hparams(const Fulgurite__Tb__Value *value, char *out, size_t size)
{
    const ProtobufCBinaryData *content = &value->metadata->plugin_data->content;
    Fulgurite__Tb__HparamsData *data =
        fulgurite__tb__hparams_data__unpack(NULL, content->len, content->data);
    assert_non_null(data);
    const Fulgurite__Tb__SessionStart *begin = data->session_start_info;
    int used = 0;
    for (size_t i = 0; begin != NULL && i < begin->n_hparams; i++) {
        const Fulgurite__Tb__Setting *s = begin->hparams[i]->value;
        used += fgi_snprintf(out + used, size - (size_t)used, "%s=", begin->hparams[i]->key);
        if (s->has_number_value)
            used += fgi_snprintf(out + used, size - (size_t)used, "%g ", s->number_value);
        else if (s->has_bool_value)
            used +=
                fgi_snprintf(out + used, size - (size_t)used, s->bool_value ? "true " : "false ");
        else
            used += fgi_snprintf(out + used, size - (size_t)used, "'%s' ", s->string_value);
    }
    if (begin != NULL)
        (void)fgi_snprintf(out + used, size - (size_t)used, "from %g, ", begin->start_time_secs);
    else
        (void)fgi_snprintf(out, size, "ended %d at %g, ", data->session_end_info->status,
                           data->session_end_info->end_time_secs);
    fulgurite__tb__hparams_data__free_unpacked(data, NULL);
}

static void put_event(const Fulgurite__Tb__Event *event, char *out, size_t size)
{
    const size_t used = strlen(out);
    if (event->file_version != NULL)
        (void)fgi_snprintf(out + used, size - used, "%s ", event->file_version);
    else if (event->session_log != NULL)
        (void)fgi_snprintf(out + used, size - used, "START %d ", (int)event->step);
    for (size_t i = 0; event->summary != NULL && i < event->summary->n_value; i++) {
        const Fulgurite__Tb__Value *value = event->summary->value[i];
        const size_t now = strlen(out);
        if (value->has_simple_value)
            (void)fgi_snprintf(out + now, size - now, "%d %s %g, ", (int)event->step, value->tag,
                               (double)value->simple_value);
        else if (value->histo != NULL)
            put_histogram(value, (int)event->step, out + now, size - now);
        else if (value->image != NULL)
            put_image(value, (int)event->step, out + now, size - now);
        else if (strcmp(value->metadata->plugin_data->plugin_name, "hparams") == 0)
            put_hparams(value, out + now, size - now);
        else { /* a tensor, as viewers of text require */
            assert_int_equal(value->metadata->data_class, 2);
            (void)fgi_snprintf(out + now, size - now, "%d %s: %s, ", (int)event->step, value->tag,
                               value->metadata->plugin_data->plugin_name);
        }
    }
    put_graph(event->graph_def, out + strlen(out), size - strlen(out));
}

static uint32_t u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

/* Appends the events of a file, whose checksums must be right. */
static void put_file(const char *path, char *out, size_t size)
{
    fg_error err = {0};
    char *data = NULL;
    size_t bytes = 0;
    fgt_ok(fgi_file_read(path, 1 << 24, &data, &bytes, &err));
    for (size_t at = 0; at < bytes;) {
        const uint32_t length = u32(data + at);
        assert_true(length <= bytes - at - 16);
        assert_int_equal(u32(data + at + 4), 0);
        assert_int_equal(u32(data + at + 8), fgi_crc32c_masked(data + at, 8));
        assert_int_equal(u32(data + at + 12 + length), fgi_crc32c_masked(data + at + 12, length));
        Fulgurite__Tb__Event *event =
            fulgurite__tb__event__unpack(NULL, length, (const uint8_t *)data + at + 12);
        assert_non_null(event);
        put_event(event, out, size);
        fulgurite__tb__event__free_unpacked(event, NULL);
        at += 16 + length;
    }
    fgi_free(data);
}

/* The events of all files in a folder, in the order in which TensorBoard reads them; each file
 * starts with "| ". */
const char *events_of(const char *folder)
{
    static char text[4096];
    struct dirent **list = NULL;
    const int count = scandir(folder, &list, is_events, by_name);
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        (void)fgi_snprintf(text + strlen(text), sizeof text - strlen(text), "| ");
        put_file(fgt_path(folder, list[i]->d_name), text, sizeof text);
        free(list[i]);
    }
    free(list);
    return text;
}

char *the_event_file(const char *folder)
{
    struct dirent **list = NULL;
    assert_int_equal(scandir(folder, &list, is_events, by_name), 1);
    char *path = fgi_path_join(folder, list[0]->d_name);
    free(list[0]);
    free(list);
    return path;
}
