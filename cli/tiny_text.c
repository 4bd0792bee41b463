/* tiny_text.c - see tiny_text.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tiny_text.h"

#include <stdbool.h>
#include <string.h>

enum { SPACE = 3 };

typedef struct glyph {
    char character;
    int width;
    const char *rows; /* of width characters each, separated by spaces */
} glyph;

/* clang-format off */
static const glyph glyphs[] = {
    {'A', 4, ".##. #..# #### #..# #..#"},
    {'B', 4, "###. #..# ###. #..# ###."},
    {'C', 4, ".### #... #... #... .###"},
    {'D', 4, "###. #..# #..# #..# ###."},
    {'E', 4, "#### #... ###. #... ####"},
    {'F', 4, "#### #... ###. #... #..."},
    {'G', 4, ".### #... #.## #..# .###"},
    {'H', 4, "#..# #..# #### #..# #..#"},
    {'I', 3, "### .#. .#. .#. ###"},
    {'J', 4, "..## ...# ...# #..# .##."},
    {'K', 4, "#..# #.#. ##.. #.#. #..#"},
    {'L', 4, "#... #... #... #... ####"},
    {'M', 5, "#...# ##.## #.#.# #...# #...#"},
    {'N', 5, "#...# ##..# #.#.# #..## #...#"},
    {'O', 4, ".##. #..# #..# #..# .##."},
    {'P', 4, "###. #..# ###. #... #..."},
    {'Q', 4, ".##. #..# #..# #.#. .#.#"},
    {'R', 4, "###. #..# ###. #.#. #..#"},
    {'S', 4, ".### #... .##. ...# ###."},
    {'T', 5, "##### ..#.. ..#.. ..#.. ..#.."},
    {'U', 4, "#..# #..# #..# #..# .##."},
    {'V', 5, "#...# #...# .#.#. .#.#. ..#.."},
    {'W', 5, "#...# #...# #.#.# ##.## #...#"},
    {'X', 5, "#...# .#.#. ..#.. .#.#. #...#"},
    {'Y', 5, "#...# .#.#. ..#.. ..#.. ..#.."},
    {'Z', 4, "#### ...# .##. #... ####"},
    {'0', 4, ".##. #.## #### ##.# .##."},
    {'1', 3, ".#. ##. .#. .#. ###"},
    {'2', 4, "###. ...# .##. #... ####"},
    {'3', 4, "###. ...# .##. ...# ###."},
    {'4', 4, "#..# #..# #### ...# ...#"},
    {'5', 4, "#### #... ###. ...# ###."},
    {'6', 4, ".##. #... ###. #..# .##."},
    {'7', 4, "#### ...# ..#. .#.. .#.."},
    {'8', 4, ".##. #..# .##. #..# .##."},
    {'9', 4, ".##. #..# .### ...# .##."},
    {'!', 1, "# # # . #"},
    {'#', 5, ".#.#. ##### .#.#. ##### .#.#."},
    {'%', 4, "#..# ...# .##. #... #..#"},
    {'&', 4, ".#.. #.#. .#.. #.#. .#.#"},
    {'\'', 1, "# # . . ."},
    {'(', 2, ".# #. #. #. .#"},
    {')', 2, "#. .# .# .# #."},
    {'*', 3, "... #.# .#. #.# ..."},
    {'+', 3, "... .#. ### .#. ..."},
    {',', 2, ".. .. .. .# #."},
    {'-', 3, "... ... ### ... ..."},
    {'.', 1, ". . . . #"},
    {'/', 3, "..# ..# .#. #.. #.."},
    {':', 1, ". # . # ."},
    {'=', 3, "... ### ... ### ..."},
    {'?', 3, "### ..# .#. ... .#."},
    {'@', 4, ".##. #.## #.## #... .###"},
    {'[', 2, "## #. #. #. ##"},
    {']', 2, "## .# .# .# ##"},
    {'_', 3, "... ... ... ... ###"},
    {'>', 3, "#.. .#. ..# .#. #.."},
    {'~', 4, ".... .#.# #.#. .... ...."},
};
/* clang-format on */

/* The next character of a text, which advances; NULL: a space. */
static const glyph *next_glyph(const char **text)
{
    char c = *(*text)++;
    while (((unsigned char)**text & 0xc0) == 0x80) { /* the rest of a UTF-8 character */
        c = '?';
        (*text)++;
    }
    if (c == ' ')
        return NULL;
    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    const glyph *unknown = glyphs;
    for (size_t i = 0; i < sizeof glyphs / sizeof glyphs[0]; i++) {
        if (glyphs[i].character == c)
            return &glyphs[i];
        if (glyphs[i].character == '?')
            unknown = &glyphs[i];
    }
    return unknown;
}

int64_t tiny_text_width(const char *text)
{
    int64_t width = 0;
    while (*text != '\0') {
        const glyph *g = next_glyph(&text);
        width += (g != NULL ? g->width : SPACE) + 1;
    }
    return width > 0 ? width - 1 : 0;
}

static void fill(fg_image *image, int64_t x, int64_t y, int scale)
{
    for (int64_t row = y; row < y + scale; row++)
        for (int64_t column = x; column < x + scale; column++)
            if (row >= 0 && row < image->height && column >= 0 && column < image->width)
                memset(image->pixels + (row * image->width + column) * image->channels, 0,
                       (size_t)image->channels);
}

static void draw_glyph(fg_image *image, int64_t x, int64_t y, int scale, const glyph *g)
{
    for (int row = 0; row < TINY_TEXT_HEIGHT; row++)
        for (int column = 0; column < g->width; column++)
            if (g->rows[row * (g->width + 1) + column] == '#')
                fill(image, x + column * scale, y + row * scale, scale);
}

void tiny_text_draw(fg_image *image, int64_t x, int64_t y, int64_t width, int scale,
                    const char *text)
{
    for (int64_t at = 0; *text != '\0';) {
        const glyph *g = next_glyph(&text);
        const int64_t end = at + (int64_t)(g != NULL ? g->width : SPACE) * scale;
        if (end > width)
            return;
        if (g != NULL)
            draw_glyph(image, x + at, y, scale, g);
        at = end + scale;
    }
}
