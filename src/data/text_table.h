/* text_table.h - a table, or JSON objects in lines, whose rows have a text, and the class of the
 * text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_TEXT_TABLE_H
#define FGI_DATA_TEXT_TABLE_H

#include <fulgurite/format.h>

#include "data/next_tokens.h"

/* Whether a file has JSON objects in lines, or is a table or that, by its name. */
bool fgi_is_json_lines(const char *path);
bool fgi_is_text_table(const char *path);

/* How to read it. Columns, or members of the objects, are named by the options data.text and
 * data.target. */
typedef struct fgi_text_table {
    const char *path;       /* .csv, .tsv, or JSON lines */
    const char *classes_of; /* the table whose classes the labels are, if the request has none */
    const char *text, *target;
    const fg_tokenizer *tokenizer;
    int64_t length;
} fgi_text_table;

/* Field "tokens", s32[length]: the text of each row, cut off or followed by the padding token of
 * the tokenizer ([PAD], <pad>, else 0); unless the request needs no target, "label", s32[]: its
 * class, of the sorted names. Says how many texts were cut off. Errors: FG_EFORMAT (the message has
 * line and column), FG_EINVAL (a column does not exist), FG_ENOMEM, and those of opening the files.
 */
fg_status fgi_text_table_load(const fgi_text_table *table, const fg_format_request *request,
                              fg_dataset **out, fg_error *err);
/* Appends all texts, each as a document. */
fg_status fgi_text_table_tokens(const fgi_text_table *table, const fg_format_request *request,
                                fgi_documents *out, fg_error *err);

#endif
