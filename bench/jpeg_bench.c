/* jpeg_bench.c - images per second of one core, by CPU time: entropy decoding, crops of random
 * resized cropping (decoding only), and unpacking of DCT coefficients. The images are made: noise
 * of all frequencies, 500x375 pixels, quality 90, 4:2:0, about 4 bits per pixel, as photos have.
 * Usage: jpeg_bench [SECONDS per case, 2] [WIDTH HEIGHT]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jpeglib.h>
#include "image/jpeg_coefficients.h"
#include "image/jpeg_huffman.h"
#include "image/jpeg_segment.h"
#include "image/jpeg_segment_table.h"
#include "image/jpeg_transcode.h"

enum { IMAGES = 50, CACHED = 256 };

typedef struct sample {
    unsigned char *jpeg;
    unsigned long size;
    fgi_buf segmented, table, coefficients;
} sample;

static sample samples[IMAGES];
static int width = 500, height = 375;
static double seconds = 2;
static fgi_jpeg_cropper *cropper;
static uint8_t *pixels;
static void *dense;
static fg_error err;

static _Noreturn void stop(const char *what)
{
    (void)fprintf(stderr, "jpeg_bench: %s: %s\n", what, err.message);
    exit(1);
}

static uint32_t draw(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static double uniform(void) { return draw() / 16777216.0; }

/* ---- images ---------------------------------------------------------------------------------- */

/* Adds smooth noise of one frequency: a grid of random values, interpolated. */
static void add_octave(float *plane, int w, int h, int cell, float amplitude)
{
    const int columns = w / cell + 2, rows = h / cell + 2;
    float *grid = malloc(sizeof(*grid) * (size_t)columns * (size_t)rows);
    if (grid == NULL)
        stop("out of memory");
    for (int i = 0; i < columns * rows; i++)
        grid[i] = amplitude * (float)(uniform() - 0.5);
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            const float *g = grid + y / cell * columns + x / cell;
            const float fx = (float)(x % cell) / (float)cell, fy = (float)(y % cell) / (float)cell;
            plane[y * w + x] += (g[0] * (1 - fx) + g[1] * fx) * (1 - fy) +
                                (g[columns] * (1 - fx) + g[columns + 1] * fx) * fy;
        }
    }
    free(grid);
}

static uint8_t *make_pixels(int w, int h)
{
    float *plane = malloc(sizeof(*plane) * (size_t)w * (size_t)h);
    uint8_t *rgb = malloc((size_t)w * (size_t)h * 3);
    if (plane == NULL || rgb == NULL)
        stop("out of memory");
    for (int c = 0; c < 3; c++) {
        if (c == 0) /* G and B are R with a little noise added */
            memset(plane, 0, sizeof(*plane) * (size_t)w * (size_t)h);
        for (int cell = 128; cell >= 1; cell /= 2)
            add_octave(plane, w, h, cell,
                       c == 0 ? 48 + (float)cell * 1.2f : 6 + (float)cell * 0.3f);
        for (int i = 0; i < w * h; i++)
            rgb[3 * i + c] = (uint8_t)fmaxf(0, fminf(255, plane[i] + 128));
    }
    free(plane);
    return rgb;
}

static void encode(const uint8_t *rgb, int w, int h, unsigned char **out, unsigned long *size)
{
    struct jpeg_compress_struct writer;
    struct jpeg_error_mgr errors;
    writer.err = jpeg_std_error(&errors);
    jpeg_create_compress(&writer);
    jpeg_mem_dest(&writer, out, size);
    writer.image_width = (JDIMENSION)w;
    writer.image_height = (JDIMENSION)h;
    writer.input_components = 3;
    writer.in_color_space = JCS_RGB;
    jpeg_set_defaults(&writer);
    jpeg_set_quality(&writer, 90, TRUE);
    jpeg_start_compress(&writer, TRUE);
    while (writer.next_scanline < writer.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(rgb + (size_t)writer.next_scanline * (size_t)w * 3);
        jpeg_write_scanlines(&writer, &row, 1);
    }
    jpeg_finish_compress(&writer);
    jpeg_destroy_compress(&writer);
}

static void make_samples(void)
{
    double bytes = 0, segmented = 0, packed = 0;
    for (int i = 0; i < IMAGES; i++) {
        sample *s = &samples[i];
        uint8_t *rgb = make_pixels(width, height);
        encode(rgb, width, height, &s->jpeg, &s->size);
        free(rgb);
        if (fgi_jpeg_transcode_segments("bench", s->jpeg, s->size, 0, &s->segmented, &s->table,
                                        &err) != FG_OK)
            stop("transcode");
        rgb = make_pixels(CACHED, CACHED);
        const fg_image image = {.pixels = rgb, .width = CACHED, .height = CACHED, .channels = 3};
        if (fgi_jpeg_coefficients_encode("bench", &image, 90, (fgi_jpeg_sampling){3, 2, 2},
                                         &s->coefficients, &err) != FG_OK)
            stop("coefficients");
        free(rgb);
        bytes += (double)s->size / IMAGES;
        segmented += (double)(s->segmented.size + s->table.size) / IMAGES;
        packed += (double)s->coefficients.size / IMAGES;
    }
    printf("%d x %d: %.0f bytes, %.2f bits/pixel; with segments and table %.0f bytes\n", width,
           height, bytes, 8 * bytes / width / height, segmented);
    printf("coefficients of %d x %d: %.0f bytes, %.3f of the pixels\n", CACHED, CACHED, packed,
           packed / (CACHED * CACHED * 3));
}

/* ---- cases ----------------------------------------------------------------------------------- */

static struct jpeg_decompress_struct reader;
static struct jpeg_error_mgr reader_errors;

static void open_reader(const sample *s)
{
    jpeg_mem_src(&reader, (const unsigned char *)s->segmented.data, s->segmented.size);
    (void)jpeg_read_header(&reader, TRUE);
}

static void entropy_libjpeg(const sample *s)
{
    open_reader(s);
    (void)jpeg_read_coefficients(&reader);
    (void)jpeg_finish_decompress(&reader);
}

static fgi_huffman_table *tables; /* DC 0, DC 1, AC 0, AC 1 */

/* The scan of a 4:2:0 image whose header was read. */
static fgi_huffman_scan scan_of_reader(void)
{
    fgi_huffman_scan scan = {.blocks = 6, .mcus_per_row = (width + 15) / 16};
    for (int i = 0; i < 2; i++) {
        const JHUFF_TBL *dc = reader.dc_huff_tbl_ptrs[i], *ac = reader.ac_huff_tbl_ptrs[i];
        if (!fgi_huffman_build(&tables[i], dc->bits, dc->huffval, false) ||
            !fgi_huffman_build(&tables[2 + i], ac->bits, ac->huffval, true))
            stop("Huffman tables");
    }
    for (int i = 0; i < 6; i++) {
        scan.component[i] = (uint8_t)(i < 4 ? 0 : i - 3);
        scan.dc[i] = &tables[i >= 4];
        scan.ac[i] = &tables[2 + (i >= 4)];
    }
    return scan;
}

static int16_t *coefficients;
static fgi_huffman_segment *jobs;
static fgi_huffman_scratch scratch;
static fgi_jpeg_segment_table table;

/* All segments; coefficients of two MCU rows at a time, as the decoder of crops does. */
static void entropy_ours(const sample *s)
{
    open_reader(s);
    const fgi_huffman_scan scan = scan_of_reader();
    jpeg_abort_decompress(&reader);
    if (fgi_jpeg_segment_table_read(&table, "bench", (const uint8_t *)s->table.data, s->table.size,
                                    s->segmented.size, &err) != FG_OK)
        stop("table");
    const int mcus = scan.mcus_per_row * ((height + 15) / 16), rows = (height + 15) / 16;
    size_t next = 0;
    for (int row = 0; row < rows; row += 2) {
        const int end = (row + 2 < rows ? row + 2 : rows) * scan.mcus_per_row;
        const fgi_huffman_window window = {row, row + 2, 0, scan.mcus_per_row, coefficients};
        int count = 0;
        memset(coefficients, 0,
               sizeof(*coefficients) * 2 * 6 * FGI_HUFFMAN_STRIDE * (size_t)scan.mcus_per_row);
        for (; next < table.count && (int)next * table.interval < end; next++) {
            const int first = (int)next * table.interval;
            jobs[count++] = (fgi_huffman_segment){
                (const uint8_t *)s->segmented.data + table.begin[next],
                table.begin[next + 1] - 2 - table.begin[next], first,
                first + table.interval < mcus ? table.interval : mcus - first, true};
        }
        if (fgi_huffman_decode(&scan, &window, jobs, count, &scratch) >= 0)
            stop("segment");
    }
}

/* torchvision's RandomResizedCrop: 8 % to 100 % of the area, 3/4 to 4/3. */
static fgi_jpeg_crop random_crop(void)
{
    for (int i = 0; i < 10; i++) {
        const double area = width * height * (0.08 + 0.92 * uniform());
        const double ratio = exp((uniform() * 2 - 1) * log(4.0 / 3));
        const int w = (int)lrint(sqrt(area * ratio)), h = (int)lrint(sqrt(area / ratio));
        if (w > 0 && h > 0 && w <= width && h <= height)
            return (fgi_jpeg_crop){(int)(uniform() * (width - w + 1)),
                                   (int)(uniform() * (height - h + 1)), w, h, 1};
    }
    return (fgi_jpeg_crop){0, 0, height < width ? height : width, height < width ? height : width,
                           1};
}

/* Half the size, a quarter ... while the crop still has 224 pixels on each side. */
static fgi_jpeg_crop scaled_crop(void)
{
    fgi_jpeg_crop crop = random_crop();
    while (crop.divisor < 8 && crop.width >= 448 && crop.height >= 448)
        crop = (fgi_jpeg_crop){crop.x / 2, crop.y / 2, crop.width / 2, crop.height / 2,
                               crop.divisor * 2};
    return crop;
}

static void decode(const fgi_jpeg_record *record, fgi_jpeg_crop crop)
{
    if (fgi_jpeg_segment_decode(cropper, record, &crop, pixels, (size_t)crop.width * 3, &err) !=
        FG_OK)
        stop("decode");
}

static fgi_jpeg_record plain(const sample *s)
{
    return (fgi_jpeg_record){"bench", s->jpeg, s->size, NULL, 0};
}

static fgi_jpeg_record segmented(const sample *s)
{
    return (fgi_jpeg_record){"bench", s->segmented.data, s->segmented.size, s->table.data,
                             s->table.size};
}

static void whole_libjpeg(const sample *s)
{
    const fgi_jpeg_record record = plain(s);
    decode(&record, (fgi_jpeg_crop){0, 0, width, height, 1});
}

static void whole_segments(const sample *s)
{
    const fgi_jpeg_record record = segmented(s);
    decode(&record, (fgi_jpeg_crop){0, 0, width, height, 1});
}

static void crop_libjpeg(const sample *s)
{
    const fgi_jpeg_record record = plain(s);
    decode(&record, scaled_crop());
}

static void crop_segments(const sample *s)
{
    const fgi_jpeg_record record = segmented(s);
    decode(&record, scaled_crop());
}

static void unpack(const sample *s)
{
    fgi_jpeg_coefficients record;
    if (fgi_jpeg_coefficients_open("bench", s->coefficients.data, s->coefficients.size, &record,
                                   &err) != FG_OK ||
        fgi_jpeg_coefficients_unpack("bench", &record, dense, &err) != FG_OK)
        stop("unpack");
}

static void transcode(const sample *s)
{
    fgi_buf jpeg = {0}, segments = {0};
    if (fgi_jpeg_transcode_segments("bench", s->jpeg, s->size, 0, &jpeg, &segments, &err) != FG_OK)
        stop("transcode");
    fgi_buf_fini(&jpeg);
    fgi_buf_fini(&segments);
}

/* ---- measure --------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(const char *name, void (*run)(const sample *))
{
    for (int i = 0; i < IMAGES; i++)
        run(&samples[i]);
    const double begin = cpu_seconds();
    double elapsed = 0;
    long count = 0;
    for (; elapsed < seconds; elapsed = cpu_seconds() - begin) {
        for (int i = 0; i < IMAGES; i++)
            run(&samples[i]);
        count += IMAGES;
    }
    printf("%-44s %9.0f images/s per core\n", name, (double)count / elapsed);
    (void)fflush(stdout);
}

static void allocate(void)
{
    const size_t most = (size_t)width * (size_t)height * 3;
    pixels = malloc(most);
    dense = malloc(fgi_jpeg_dense_bytes((size_t)CACHED * CACHED / 64 * 3 / 2));
    tables = calloc(4, sizeof(*tables));
    coefficients = malloc(sizeof(*coefficients) * 2 * 6 * FGI_HUFFMAN_STRIDE * (size_t)width);
    jobs = malloc(sizeof(*jobs) * (size_t)width);
    scratch.bytes[0] = malloc(most);
    scratch.bytes[1] = malloc(most);
    if (pixels == NULL || dense == NULL || tables == NULL || coefficients == NULL || jobs == NULL ||
        scratch.bytes[0] == NULL || scratch.bytes[1] == NULL ||
        fgi_jpeg_cropper_create(&cropper, &err) != FG_OK)
        stop("out of memory");
    reader.err = jpeg_std_error(&reader_errors);
    jpeg_create_decompress(&reader);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seconds = strtod(argv[1], NULL);
    if (argc > 3) {
        width = (int)strtol(argv[2], NULL, 10);
        height = (int)strtol(argv[3], NULL, 10);
    }
    allocate();
    make_samples();
    measure("transcode to segments", transcode);
    measure("entropy decoding, libjpeg-turbo", entropy_libjpeg);
    measure("entropy decoding, segments", entropy_ours);
    measure("whole image, libjpeg-turbo", whole_libjpeg);
    measure("whole image, segments", whole_segments);
    measure("random crop, libjpeg-turbo", crop_libjpeg);
    measure("random crop, segments", crop_segments);
    measure("unpack coefficients, 256 x 256", unpack);
    return 0;
}
