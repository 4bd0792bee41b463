/* doc.h - a document, written once and rendered as lines for a terminal or as a self-contained HTML
 * page: no scripts, nothing from the network, light and dark; also well-formed XML. Its third form,
 * JSON, is the object that it is written from: blocks name the members that they show.
 *
 *     static const fgi_field programs[] = {FGI_FIELD("program", "program", FGI_WORDS),
 *                                          FGI_FIELD("step", "step", FGI_COUNT), FGI_FIELDS_END};
 *     fgi_doc_heading(d, "Compiled programs");
 *     fgi_doc_table(d, programs, json_object_get(report, "compiles"));
 *
 * What is not known is left out: a card without a value, a table without rows, and a heading that
 * nothing follows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DOC_DOC_H
#define FGI_DOC_DOC_H

#include <fulgurite/data.h>
#include <jansson.h>

#include "doc/chart.h"
#include "doc/html.h"
#include "input/json_file.h"
#include "base/buf.h"

typedef enum fgi_kind {
    FGI_WORDS,   /* a string; a number with 6 digits */
    FGI_FIGURE,  /* the same, aligned as numbers are */
    FGI_NUMBER,  /* 4 digits */
    FGI_COUNT,   /* an integer */
    FGI_BYTES,   /* "1.2 GB" */
    FGI_TIME,    /* seconds: "1 min 3 s" */
    FGI_PERCENT, /* of a fraction */
    FGI_CELL, /* of a matrix, "cells.3/all": a count over a bar of its fraction, nothing if it is 0;
                 a hit if its key is the row's `hit` */
    FGI_BAR,  /* a number as a bar; the longest is that of the largest number, or of 1 of ratios */
    FGI_FITS, /* true, false or null: "fits", "does not fit", "no verdict" */
    FGI_KEY,  /* words next to the color of series `color`, a member of the row */
} fgi_kind;

typedef enum fgi_where { FGI_BOTH, FGI_LINES, FGI_PAGE } fgi_where;

/* A column of a table, or a card. Arrays of them end with a name that is NULL. */
typedef struct fgi_field fgi_field;
struct fgi_field {
    const char *name;
    const char
        *key; /* of a member, or "time.wall_s" of a member of one, or "values.0" of an array */
    fgi_kind kind;
    fgi_where where;
    /* The words instead, for those that are not a member; NULL: the member. */
    void (*put)(fgi_buf *out, const fgi_field *field, const json_t *row);
};

#define FGI_FIELD(name, key, kind)                                                                 \
    {                                                                                              \
        name, key, kind, FGI_BOTH, NULL                                                            \
    }
#define FGI_FIELD_IN(where, name, key, kind)                                                       \
    {                                                                                              \
        name, key, kind, where, NULL                                                               \
    }
#define FGI_FIELD_PUT(name, kind, put)                                                             \
    {                                                                                              \
        name, NULL, kind, FGI_BOTH, put                                                            \
    }
#define FGI_FIELDS_END                                                                             \
    {                                                                                              \
        NULL, NULL, FGI_WORDS, FGI_BOTH, NULL                                                      \
    }

typedef struct fgi_doc {
    fgi_buf *out;
    const struct fgi_doc_form *form;
    bool is_page;
    /* state of doc.c */
    fgi_buf heading; /* not yet written */
    int level, group;
    size_t items; /* in the group */
    int indent;   /* of lines below a heading */
} fgi_doc;

void fgi_doc_begin(fgi_doc *d, fgi_buf *out, bool is_page, const char *title);
void fgi_doc_end(fgi_doc *d);
/* A heading of level 2 or 3. Markup: "name: \1good\1fits" styles the words after it. */
void fgi_doc_heading(fgi_doc *d, int level, const char *format, ...) FG_PRINTF(3, 4);
/* A paragraph. class: NULL, "note", or that of an element. Nothing if there are no words. */
void fgi_doc_say(fgi_doc *d, const char *class, const char *format, ...) FG_PRINTF(3, 4);
/* Cards next to each other. */
void fgi_doc_cards(fgi_doc *d, const fgi_field *fields, const json_t *o);
void fgi_doc_card(fgi_doc *d, const char *name, const char *words);
/* An item of a list, and one with a name. */
void fgi_doc_item(fgi_doc *d, const char *format, ...) FG_PRINTF(2, 3);
void fgi_doc_fact(fgi_doc *d, const char *name, const char *format, ...) FG_PRINTF(3, 4);
/* A row per object, or, in lines, a string across all columns. The first cell has the member
 * `class` as style. In lines, a different `section` is separated by an empty line. Tables of class
 * "runs" have a block per row on narrow screens, and their cells are cut after 40 columns; those of
 * class "narrow", to the width of a terminal. On the page, rows are pictures with a caption instead
 * if one of them has a picture, the data URI `image`; the first cell is its name. */
void fgi_doc_table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows);
/* The same of rows that are released; NULL: out of memory. */
void fgi_doc_rows(fgi_doc *d, const char *class, const fgi_field *fields, json_t *take_rows);
/* A bar of parts, of the page only: numbers `key` of the rows, with their `name` and `color`. */
void fgi_doc_stack(fgi_doc *d, const json_t *rows, const char *key, double whole);
/* A chart, of the page only. */
void fgi_doc_chart(fgi_doc *d, const fgi_chart *chart);
/* Something to do, with its severity, "high", "medium" or "note"; what is "" is left out. */
typedef struct fgi_advice {
    const char *severity, *title, *detail, *action, *gain;
} fgi_advice;
void fgi_doc_advice(fgi_doc *d, const fgi_advice *advice);
/* Text that can be unfolded, of the page only. */
void fgi_doc_details(fgi_doc *d, const char *summary, const char *text);
/* A confusion matrix. Counts[count * count], row: true class, column: predicted; classes: objects
 * with a `name`. The bar of a cell is its fraction of the row. In lines, a matrix that is wider
 * than `columns` is a list of the most frequent confusions; a page of more than 8 classes has both.
 */
typedef struct fgi_confusion {
    const int64_t *counts;
    size_t count;
    const json_t *classes;
} fgi_confusion;
void fgi_doc_confusion(fgi_doc *d, const fgi_confusion *confusion, int columns);

/* Inserts a row, which is released, so that the highest number of a member is first, or the lowest;
 * unknown ones are last, and equal ones keep their order. Drops the last of more than `most` rows.
 */
void fgi_rows_insert(json_t *rows, json_t *take_row, const char *key, bool is_lowest_first,
                     size_t most);

/* The words of a value. */
void fgi_field_put(fgi_buf *out, const fgi_field *field, const json_t *row);
void fgi_kind_put(fgi_buf *out, fgi_kind kind, double value);
const json_t *fgi_field_value(const fgi_field *field, const json_t *row);
double fgi_field_number(const fgi_field *field, const json_t *row); /* NaN: not known */
bool fgi_field_is_number(const fgi_field *field);
/* A bar's fraction of the longest. */
double fgi_field_part(const fgi_field *field, const json_t *row, double most);
double fgi_field_most(const fgi_field *field, const json_t *rows);
/* Text of a file without control characters, which could be terminal escape sequences. */
void fgi_put_plain(fgi_buf *out, const char *text);

/* The sample as a data URI with a picture of at most 96 pixels on each side (fgi_free), as the
 * dataset gives it: without the augmentations of the step. Its first field is an image if it is
 * T[H,W], T[H,W,1 or 3], has as many values as `given` ([H, W, C], 0: unknown), or is encoded for
 * the device (fg_dataset_encoding). NULL: it is not an image, or cannot be read. */
char *fgi_thumbnail(const fg_dataset *dataset, int64_t index, const int64_t given[3]);

#endif
