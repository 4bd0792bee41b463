/* tokenizer_bench.c - encodes a text on one core, and decodes it again.
 *
 * usage: tokenizer_bench TOKENIZER TEXT [OUT]. Prints the time to open the tokenizer and MB/s of
 * the text as a whole; with OUT, of its lines, and writes for each line, for
 * tests/tools/compare_tokenizers.py: s32 number of tokens, the tokens, number of bytes of the
 * decoded text, and these bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fulgurite/tokenizer.h>

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static fg_status line(const fg_tokenizer *t, const char *text, size_t size, FILE *to, fg_error *err)
{
    fg_token_list list = {0};
    char *decoded = NULL;
    size_t decoded_size = 0;
    fg_status status = fg_tokenizer_encode(t, text, size, NULL, &list, err);
    if (status == FG_OK && to != NULL) {
        status = fg_tokenizer_decode(t, list.at, list.count, NULL, &decoded, &decoded_size, err);
        const int32_t count = (int32_t)list.count, bytes = (int32_t)decoded_size;
        (void)fwrite(&count, sizeof count, 1, to);
        if (list.count > 0)
            (void)fwrite(list.at, sizeof *list.at, list.count, to);
        (void)fwrite(&bytes, sizeof bytes, 1, to);
        (void)fwrite(decoded, 1, decoded_size, to);
        fg_free(decoded);
    }
    fg_free(list.at);
    return status;
}

int main(int argc, char **argv)
{
    fg_tokenizer *t = NULL;
    fg_error err = {0};
    void *text = NULL;
    size_t size = 0;
    if (argc != 3 && argc != 4) {
        (void)fprintf(stderr, "usage: tokenizer_bench TOKENIZER TEXT [OUT]\n");
        return 2;
    }
    const double opened = now();
    FILE *to = argc == 4 ? fopen(argv[3], "wb") : NULL;
    if (fg_tokenizer_open(argv[1], &t, &err) != FG_OK ||
        fg_file_read(argv[2], &text, &size, &err) != FG_OK)
        return fg_error_print(&err, argv[0]);
    const double start = now();
    fg_status status = FG_OK;
    if (to == NULL)
        status = line(t, text, size, NULL, &err);
    for (const char *at = text, *end = at + size; to != NULL && status == FG_OK && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        status = line(t, at, (size_t)(stop - at), to, &err);
        at = stop + 1;
    }
    const double seconds = now() - start;
    printf("open %.3f s, %.2f MB/s\n", start - opened, (double)size / 1e6 / seconds);
    if (to != NULL)
        (void)fclose(to);
    fg_free(text);
    fg_tokenizer_destroy(t);
    return status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
