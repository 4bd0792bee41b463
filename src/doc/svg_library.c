/* svg_library.c - loads librsvg, and with it cairo and GLib. Few programs write PNG files of plots,
 * so it is not linked. Its headers would bring those of GLib, cairo and gdk-pixbuf into every
 * build; the ten functions that are used are stable, and are declared here instead.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "doc/svg_library.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/library.h"

enum { RGB24 = 1 }; /* CAIRO_FORMAT_RGB24 */

/* RsvgRectangle of librsvg/rsvg.h */
typedef struct rectangle {
    double x, y, width, height;
} rectangle;

/* See librsvg/rsvg.h, glib-object.h and cairo.h. */
static struct {
    void *(*open)(const unsigned char *data, size_t size, void **error);
    int (*size)(void *handle, double *width, double *height);
    int (*render)(void *handle, void *cairo, const rectangle *viewport, void **error);
    void (*unref)(void *handle);
    void (*free_error)(void *error);
    void *(*surface)(int format, int width, int height);
    void (*surface_destroy)(void *surface);
    int (*write)(void *surface, int (*put)(void *self, const unsigned char *data, unsigned size),
                 void *self);
    void *(*cairo)(void *surface);
    void (*cairo_destroy)(void *cairo);
} functions;

static bool is_loaded(void)
{
    static const char *const files[] = {"librsvg-2.so.2", NULL};
    static const char *const symbols[] = {/* in the order of the struct */
                                          "rsvg_handle_new_from_data",
                                          "rsvg_handle_get_intrinsic_size_in_pixels",
                                          "rsvg_handle_render_document",
                                          "g_object_unref",
                                          "g_error_free",
                                          "cairo_image_surface_create",
                                          "cairo_surface_destroy",
                                          "cairo_surface_write_to_png_stream",
                                          "cairo_create",
                                          "cairo_destroy",
                                          NULL};
    static atomic_int state;
    return fgi_library_load(files, symbols, &functions, &state);
}

static int add(void *self, const unsigned char *data, unsigned size)
{
    fgi_buf_add(self, data, size);
    return 0; /* CAIRO_STATUS_SUCCESS; the buffer keeps its failure */
}

/* Draws the document into a picture of that width. */
static bool draw(void *handle, int width, fgi_buf *out)
{
    double w = 0, h = 0;
    void *error = NULL;
    if (!functions.size(handle, &w, &h) || !(w > 0))
        return false;
    const double height = width * h / w;
    void *surface = functions.surface(RGB24, width, (int)height);
    void *cairo = functions.cairo(surface);
    const bool is_good =
        functions.render(handle, cairo, &(rectangle){0, 0, width, height}, &error) != 0 &&
        functions.write(surface, add, out) == 0;
    functions.cairo_destroy(cairo);
    functions.surface_destroy(surface);
    if (error != NULL)
        functions.free_error(error);
    return is_good;
}

fg_status fgi_svg_to_png(const char *svg, size_t size, int width, fgi_buf *out, fg_error *err)
{
    if (!is_loaded())
        return fgi_fail(err, FG_ENOTFOUND,
                        "PNG files of plots need librsvg (librsvg-2.so.2), which is not installed; "
                        "SVG files do not");
    void *error = NULL, *handle = functions.open((const unsigned char *)svg, size, &error);
    const bool is_good = handle != NULL && draw(handle, width, out);
    if (handle != NULL)
        functions.unref(handle);
    if (error != NULL)
        functions.free_error(error);
    FGI_TRY(fgi_buf_status(out, err));
    return is_good ? FG_OK : fgi_fail(err, FG_EFORMAT, "librsvg did not draw the plot");
}
