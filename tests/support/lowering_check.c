/* lowering_check.c - compares two forms of an operation, bit by bit or with a tolerance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "lowering_check.h"

#include <math.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "forms.h"
#include "golden.h"

fg_client *lowering_client;
FILE *lowering_forms;

fg_array *lowering_numbers(const lowering_problem *p, fg_client *of, int which)
{
    const fg_type *type = &p->in[which];
    fg_error err = {0};
    fg_array *array = NULL;
    const int64_t count = fg_type_count(type);
    float *values = malloc((size_t)count * sizeof *values);
    uint32_t state = 12345 + 77 * (uint32_t)which;
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = (float)((int)(state >> 24) % 5 - 2);
    }
    fg_type f32 = *type;
    f32.dtype = FG_F32;
    if (which == 0 && fg_client_info_of(of)->device_count > 1)
        fgt_ok(fg_array_create_sharded(of, &f32, values, &(fg_array_options){.spec = "data"},
                                       &array, &err));
    else
        fgt_ok(fg_array_create(of, &f32, values, &array, &err));
    free(values);
    return array;
}

char *lowering_run(const lowering_problem *p, const lowering_form *f, size_t *out_size,
                   char **out_text)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
    fg_array *arrays[MOST_OUTPUTS];
    fgi_client_set_plain(f->client, f->plain);
    fgt_ok(fg_trace_create(f->client, &trace, &err));
    for (int i = 0; i < p->in_count; i++) {
        fg_array *array = lowering_numbers(p, f->client, i);
        in[i] = fg_cast(fg_input(trace, array), p->in[i].dtype);
        fg_array_release(array);
    }
    const size_t count = p->write(p, in, out);
    fgt_ok(fg_trace_text(trace, out, count, out_text, &err));
    fgt_ok(fg_run(trace, out, count, arrays, &err));
    char *bytes = NULL;
    *out_size = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t size = fg_type_bytes(fg_array_type(arrays[i]));
        bytes = realloc(bytes, *out_size + size);
        assert_non_null(bytes);
        fgt_ok(fg_array_read(arrays[i], bytes + *out_size, size, &err));
        *out_size += size;
        fg_array_release(arrays[i]);
    }
    fg_trace_destroy(trace);
    fgi_client_set_plain(f->client, NULL);
    return bytes;
}

/* Whether f32 numbers are equal up to the tolerance. */
static bool are_close(const char *a, const char *b, size_t size, double tolerance)
{
    float x, y;
    double most = 0;
    bool is_close = true;
    for (size_t i = 0; i < size; i += sizeof y) {
        memcpy(&y, b + i, sizeof y);
        most = fmax(most, fabs((double)y));
    }
    for (size_t i = 0; i < size; i += sizeof y) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        is_close = is_close && fabs((double)x - (double)y) <= tolerance * most;
    }
    return is_close;
}

void lowering_compare(const lowering_problem *p, const lowering_form *one,
                      const lowering_form *other)
{
    size_t size[2];
    char *text[2];
    char *ruled = lowering_run(p, one, &size[0], &text[0]);
    char *plain = lowering_run(p, other, &size[1], &text[1]);
    if ((strcmp(text[0], text[1]) == 0) != p->is_same)
        fail_msg("%s: the program is %s under the rule", p->name,
                 p->is_same ? "other" : "as plain");
    if (p->tolerance == 0) {
        forms_write(lowering_forms, p->name, text[0]);
        forms_write(lowering_forms, "  plain", text[1]);
    }
    assert_int_equal(size[0], size[1]);
    if (p->tolerance > 0 ? !are_close(ruled, plain, size[0], p->tolerance)
                         : memcmp(ruled, plain, size[0]) != 0)
        fail_msg("%s: the numbers differ from the plain form", p->name);
    for (int i = 0; i < 2; i++)
        fg_free(text[i]);
    free(ruled);
    free(plain);
}

void lowering_check(const lowering_problem *p)
{
    lowering_compare(p, &(lowering_form){lowering_client, NULL},
                     &(lowering_form){lowering_client, p->rule});
}

size_t lowering_conv(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_conv2d(in[0], in[1], &p->conv);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    return 3;
}

size_t lowering_pool(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor y = fg_max_pool(in[0], &p->pool);
    fg_grad(fg_sum(fg_mul(y, fg_add_scalar(y, 3)), 0, NULL), in, 1, out);
    return 1;
}

size_t lowering_dot(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_matmul(in[0], in[1]);
    return 1;
}

fgi_hlo *lowering_optimized(const fgi_executable *executable)
{
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    fgi_hlo *hlo = NULL;
    fgt_ok(fgi_executable_optimized(executable, &data, &size, &err));
    fgt_ok(fgi_hlo_read(data, size, &hlo, &err));
    fgi_free(data);
    return hlo;
}

size_t lowering_layers(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    fg_tensor x = in[0];
    for (int i = 0; i < p->layers; i++) {
        if (p->in_count == 2)
            x = fg_conv2d(x, fg_mul_scalar(in[1], i + 1), &p->conv);
        else
            x = fg_max_pool(x, &p->pool);
        x = fg_relu(x);
    }
    fg_grad(fg_sum(fg_square(x), 0, NULL), in, (size_t)p->in_count, out);
    return (size_t)p->in_count;
}

int lowering_open(void **state)
{
    fg_error err = {0};
    lowering_forms = tmpfile();
    if (lowering_forms == NULL)
        return 1;
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .kernels = "own", /* for the forms */
                                               .cache_dir = fgt_cache("")},
                          &lowering_client, &err));
    return 0;
}

int lowering_close(void **state)
{
    (void)state;
    (void)fclose(lowering_forms);
    fg_client_close(lowering_client);
    return 0;
}

void lowering_check_forms(const char *golden)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fflush(lowering_forms), 0);
    assert_int_equal(fseek(lowering_forms, 0, SEEK_SET), 0);
    text = calloc(1, 1 << 16);
    assert_non_null(text);
    size = fread(text, 1, (1 << 16) - 1, lowering_forms);
    assert_true(size < (1 << 16) - 1);
    fgt_golden(golden, text);
    free(text);
}
