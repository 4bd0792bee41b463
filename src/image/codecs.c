/* codecs.c - the list of codecs, and the search for the codec of a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/codec.h"

#include <string.h>
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"

static const fgi_image_codec *const codecs[] = {&fgi_jpeg_codec, &fgi_png_codec,  &fgi_webp_codec,
                                                &fgi_gif_codec,  &fgi_tiff_codec, &fgi_bmp_codec,
                                                &fgi_pnm_codec};

enum { CODEC_COUNT = sizeof codecs / sizeof *codecs };

const fgi_image_codec *fgi_image_codec_at(size_t index)
{
    return index < CODEC_COUNT ? codecs[index] : NULL;
}

/* First bytes of formats that are not supported. '?' matches any byte. */
static const struct {
    size_t offset;
    const char *bytes;
    const char *name;
} known[] = {
    {4, "ftypavif", "an AVIF image"},     {4, "ftypavis", "an AVIF image sequence"},
    {4, "ftypheic", "a HEIC image"},      {4, "ftypheix", "a HEIC image"},
    {4, "ftypmif1", "a HEIF image"},      {4, "ftyp", "an ISO media file (video?)"},
    {4, "JXL \r\n", "a JPEG XL image"},   {0, "\xff\x0a", "a JPEG XL image"},
    {4, "jP  \r\n", "a JPEG 2000 image"}, {0, "\xff\x4f\xff\x51", "a JPEG 2000 codestream"},
    {0, "P7\n", "a PAM image"},           {0, "PF\n", "a PFM image"},
    {0, "8BPS", "a Photoshop file"},      {0, "%PDF", "a PDF file"},
    {0, "qoif", "a QOI image"},           {0, "PK\x03\x04", "a ZIP archive"},
    {0, "\x1f\x8b", "a gzip file"},       {0, "\x1a\x45\xdf\xa3", "a Matroska or WebM video"},
};

static const char *name_of(const fgi_image_file *file)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i].bytes);
        if (file->size >= known[i].offset + length &&
            memcmp(file->data + known[i].offset, known[i].bytes, length) == 0)
            return known[i].name;
    }
    return NULL;
}

/* HTML, SVG and other text: servers send error pages in place of images. */
static const char *name_of_text(const fgi_image_file *file)
{
    char head[256];
    const size_t size = file->size < sizeof head - 1 ? file->size : sizeof head - 1;
    for (size_t i = 0; i < size; i++) {
        const uint8_t c = file->data[i];
        if (c == 0 || (c < ' ' && c != '\n' && c != '\r' && c != '\t'))
            return NULL;
        head[i] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
    }
    head[size] = '\0';
    if (strstr(head, "<svg") != NULL)
        return "an SVG image";
    if (strstr(head, "<html") != NULL || strstr(head, "<!doctype html") != NULL)
        return "an HTML page, such as a server's error message";
    return "text";
}

fg_status fgi_image_codec_find(const fgi_image_file *file, const fgi_image_codec **out,
                               fg_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < CODEC_COUNT && *out == NULL; i++)
        if (codecs[i]->matches(file))
            *out = codecs[i];
    if (*out != NULL)
        return FG_OK;
    if (file->size == 0)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 0: the file is empty", file->name);
    FGI_TRY(fgi_file_refuse(file->name, file->data, file->size, file->size, err));
    const char *format = name_of(file);
    if (format == NULL)
        format = name_of_text(file);
    if (format != NULL)
        return fgi_fail(err, FG_EUNSUPPORTED, "%s: unsupported image format: this is %s",
                        file->name, format);
    char bytes[3 * 8 + 1] = "";
    for (size_t i = 0; i < file->size && i < 8; i++)
        (void)snprintf(bytes + 3 * i, 4, " %02x", file->data[i]);
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: unsupported image format: the file begins with the bytes%s", file->name,
                    bytes);
}

fg_status fgi_image_corrupt(const fgi_image_file *file, size_t offset, fg_error *err,
                            const char *message)
{
    return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: %s", file->name, offset, message);
}
