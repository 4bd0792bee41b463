/* make_photos.c - draws photos of four materials (brick, grass, sand, water), to try image
 * classification without a download. The files are like those of a real collection: JPEGs of
 * different sizes, some stored rotated with an EXIF orientation, PNGs, a name with spaces.
 *                                            usage: make_photos FOLDER [PHOTOS_PER_CLASS [SEED]]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- random numbers -------------------------------------------------------------------------- */

/* A hash of three integers, from 0 to 1. Source: the mixing step of SplitMix64, Steele et al. 2014,
 * "Fast splittable pseudorandom number generators". */
static double hash(uint64_t key, int64_t x, int64_t y)
{
    uint64_t z = key + 0x9e3779b97f4a7c15u * (uint64_t)(x + 1) + 0xd1b54a32d192ed03u * (uint64_t)y;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* Random values on a grid, interpolated in between. */
static double noise(uint64_t key, double x, double y)
{
    const int64_t i = (int64_t)floor(x), j = (int64_t)floor(y);
    const double u = x - floor(x), v = y - floor(y);
    const double top = (1 - u) * hash(key, i, j) + u * hash(key, i + 1, j);
    const double bottom = (1 - u) * hash(key, i, j + 1) + u * hash(key, i + 1, j + 1);
    return (1 - v) * top + v * bottom;
}

/* ---- materials ------------------------------------------------------------------------------- */

/* What differs between two photos of a material. Lengths are in pixels. */
typedef struct scene {
    uint64_t key;
    double period, left, top; /* size of the texture, and where it begins */
    double light, slope, hue; /* brightness, its change across the photo, a shift of the color */
    int width, height;
} scene;

/* Each draws the color at (x, y), in periods, to rgb: 0 is black, 1 is white. */
static void brick(const scene *s, double x, double y, double rgb[3])
{
    const double row = floor(2 * y), shift = fmod(row, 2) / 2;
    const bool is_joint = 2 * y - row < 0.15 || x + shift - floor(x + shift) < 0.08;
    const double tone = 0.75 + 0.25 * hash(s->key, (int64_t)floor(x + shift), (int64_t)row);
    rgb[0] = is_joint ? 0.68 : 0.70 * tone;
    rgb[1] = is_joint ? 0.66 : 0.33 * tone;
    rgb[2] = is_joint ? 0.62 : 0.26 * tone;
}

static void grass(const scene *s, double x, double y, double rgb[3])
{
    const double blade = noise(s->key, 12 * x + y, 1.5 * y);
    rgb[0] = 0.16 + 0.30 * blade;
    rgb[1] = 0.32 + 0.40 * blade;
    rgb[2] = 0.12 + 0.14 * blade;
}

static void sand(const scene *s, double x, double y, double rgb[3])
{
    const double grain = 0.6 * noise(s->key, 9 * x, 9 * y) + 0.4 * noise(s->key, x, y);
    rgb[0] = 0.62 + 0.28 * grain;
    rgb[1] = 0.52 + 0.27 * grain;
    rgb[2] = 0.36 + 0.24 * grain;
}

static void water(const scene *s, double x, double y, double rgb[3])
{
    const double wave = 0.5 + 0.5 * sin(9 * y + 3 * noise(s->key, 0.7 * x, 2 * y));
    rgb[0] = 0.16 + 0.34 * wave * wave;
    rgb[1] = 0.36 + 0.32 * wave;
    rgb[2] = 0.50 + 0.32 * wave;
}

static const struct material {
    const char *name;
    void (*draw)(const scene *s, double x, double y, double rgb[3]);
} materials[] = {{"brick", brick}, {"grass", grass}, {"sand", sand}, {"water", water}};
enum { MATERIALS = sizeof materials / sizeof materials[0] };

/* ---- a photo --------------------------------------------------------------------------------- */

static scene choose_scene(uint64_t seed, int material, int number)
{
    scene s = {.key = (uint64_t)(hash(seed, material, number) * 9007199254740992.0)};
    s.width = 160 + (int)(160 * hash(s.key, 1, 0));
    s.height = 120 + (int)(120 * hash(s.key, 2, 0));
    s.period = 30 + 50 * hash(s.key, 3, 0);
    s.left = 100 * hash(s.key, 4, 0);
    s.top = 100 * hash(s.key, 5, 0);
    s.light = 0.7 + 0.4 * hash(s.key, 6, 0);
    s.slope = 0.4 * hash(s.key, 7, 0) - 0.2;
    s.hue = 0.2 * hash(s.key, 8, 0) - 0.1;
    return s;
}

/* The color at pixel (x, y) with the noise of a sensor. */
static void draw_pixel(const scene *s, const struct material *m, int x, int y, uint8_t out[3])
{
    double rgb[3];
    m->draw(s, s->left + x / s->period, s->top + y / s->period, rgb);
    const double light = s->light + s->slope * x / s->width;
    for (int c = 0; c < 3; c++) {
        const double grain = 0.06 * (hash(s->key + 1, 3 * (int64_t)x + c, y) - 0.5);
        const double value = rgb[c] * (light + (c - 1) * s->hue) + grain;
        out[c] = (uint8_t)(255 * fmin(fmax(value, 0), 1));
    }
}

/* Draws the photo as it is stored: if it is rotated, by 90 degrees, as EXIF orientation 6 says. */
static fg_status draw(const scene *s, const struct material *m, bool is_rotated, fg_image *out,
                      fg_error *err)
{
    const fg_status status = is_rotated ? fg_image_reserve(out, s->height, s->width, 3, err)
                                        : fg_image_reserve(out, s->width, s->height, 3, err);
    for (int y = 0; y < s->height && status == FG_OK; y++)
        for (int x = 0; x < s->width; x++) {
            const int64_t row = is_rotated ? s->width - 1 - x : y, column = is_rotated ? y : x;
            draw_pixel(s, m, x, y, out->pixels + 3 * (row * out->width + column));
        }
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool fail(const char *what, const char *path)
{
    (void)fprintf(stderr, "make_photos: cannot %s ", what);
    perror(path);
    return false;
}

/* A JPEG gets the orientation in an EXIF segment after its first two bytes. */
static bool write_file(const char *path, const fg_image_bytes *file, bool is_rotated)
{
    static const uint8_t exif[] = {
        0xff, 0xe1, 0,    34,   'E', 'x', 'i', 'f', 0, 0,       /* length, name */
        'I',  'I',  42,   0,    8,   0,   0,   0,               /* little-endian TIFF, directory */
        1,    0,    0x12, 0x01, 3,   0,   1,   0,   0, 0, 6, 0, /* one entry: orientation 6 */
        0,    0,    0,    0,    0,   0};                        /* no next directory */
    FILE *out = fopen(path, "wb");
    if (out == NULL)
        return fail("create", path);
    const size_t head = is_rotated ? 2 : file->size;
    bool ok = fwrite(file->data, 1, head, out) == head;
    if (is_rotated)
        ok = ok && fwrite(exif, sizeof exif, 1, out) == 1 &&
             fwrite(file->data + head, 1, file->size - head, out) == file->size - head;
    return (fclose(out) == 0 && ok) || fail("write", path);
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST || fail("create", path);
}

typedef struct scratch {
    fg_image image;
    fg_image_bytes file;
} scratch;

static bool make_photo(const char *folder, uint64_t seed, int material, int number, scratch *w)
{
    const bool is_png = number % 12 == 5, is_rotated = number % 10 == 7;
    const char *stem = number == 3 ? "my photo " : "";
    const scene s = choose_scene(seed, material, number);
    char path[4096];
    fg_error err = {0};
    if (snprintf(path, sizeof path, "%s/%s/%s%03d.%s", folder, materials[material].name, stem,
                 number, is_png ? "png" : "jpg") >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return fail("create", folder);
    }
    fg_status status = draw(&s, &materials[material], is_rotated && !is_png, &w->image, &err);
    if (status == FG_OK)
        status = is_png ? fg_image_encode_png(&w->image, NULL, &w->file, &err)
                        : fg_image_encode_jpeg(&w->image, NULL, &w->file, &err);
    if (status != FG_OK) {
        (void)fg_error_print(&err, "make_photos");
        return false;
    }
    return write_file(path, &w->file, is_rotated && !is_png);
}

int main(int argc, char **argv)
{
    const int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 50;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    scratch work = {0};
    if (argc < 2 || argc > 4 || count < 1 || count > 1000000) {
        (void)fprintf(stderr, "usage: make_photos FOLDER [PHOTOS_PER_CLASS [SEED]]\n");
        return 2;
    }
    bool ok = make_folder(argv[1]);
    for (int m = 0; m < MATERIALS && ok; m++) {
        char path[4096];
        ok = snprintf(path, sizeof path, "%s/%s", argv[1], materials[m].name) < (int)sizeof path &&
             make_folder(path);
        for (int i = 0; i < count && ok; i++)
            ok = make_photo(argv[1], seed, m, i, &work);
    }
    fg_image_fini(&work.image);
    fg_image_bytes_fini(&work.file);
    if (ok)
        printf("%s: %d photos of %d materials\n", argv[1], count * MATERIALS, MATERIALS);
    return ok ? 0 : 1;
}
