/* init_bench.c - how long the initial values of a model of GPT-2's size take, 124 million elements.
 *
 *     init_bench [MILLIONS OF ELEMENTS, default 124]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static fg_status measure(const char *name, fg_init init, int64_t count, float *values,
                         fg_error *err)
{
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {count}};
    const fg_variable_options options = {.init = init, .seed = 1};
    fg_variable *variable = NULL;
    fg_status status = fg_variable_create(name, &type, &options, &variable, err);
    const double start = now_s();
    if (status == FG_OK)
        status = fg_variable_read(variable, values, (size_t)count * sizeof *values, err);
    const double seconds = now_s() - start;
    if (status == FG_OK)
        (void)printf("%s: %.2f s, %.2f ns per element\n", name, seconds,
                     seconds * 1e9 / (double)count);
    fg_variable_destroy(variable);
    return status;
}

int main(int argc, char **argv)
{
    const int64_t count = (argc > 1 ? strtoll(argv[1], NULL, 10) : 124) * 1000000;
    fg_error err = {0};
    float *values = count > 0 ? calloc((size_t)count, sizeof *values) : NULL;
    if (values == NULL)
        return 2;
    fg_status status = measure("uniform", (fg_init){FG_INIT_UNIFORM, 0.05}, count, values, &err);
    if (status == FG_OK)
        status = measure("normal", (fg_init){FG_INIT_NORMAL, 0.02}, count, values, &err);
    free(values);
    return status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
