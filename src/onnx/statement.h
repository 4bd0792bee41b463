/* statement.h - reads the text that src/hlo writes: one operation at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_ONNX_STATEMENT_H
#define FGI_ONNX_STATEMENT_H

#include <fulgurite/dtype.h>

enum { FGI_STATEMENT_INPUTS = 128, FGI_STATEMENT_NAME = 64 };

/* %result = "stablehlo.name"(%in...) ({region}, {region}) {attributes} : (types) -> type
 * loc("place"...). */
typedef struct fgi_statement {
    char name[FGI_STATEMENT_NAME]; /* "add"; "return" at the end, "arguments" at the beginning of a
                                      region: `result` is the first one */
    char body[FGI_STATEMENT_NAME]; /* the only operation in the region; "": others, or no region */
    const char *region[2];         /* where its statements begin; NULL: none */
    char place[2 * FGI_STATEMENT_NAME];        /* "blocks.0.attn/matmul"; "": none */
    const char *attributes, *end;              /* of the attributes */
    uint32_t result, in[FGI_STATEMENT_INPUTS]; /* result: of several, which follow, the first */
    int in_count;
    fg_type type, in_type[FGI_STATEMENT_INPUTS];
} fgi_statement;

/* Reads the next statement of the function or region at *at, and advances *at. False: the text has
 * something else, such as a call, or several results but of a loop; its name is in out->name. */
bool fgi_statement_next(const char **at, fgi_statement *out);
/* The integers of an attribute "key = array<i64: 1, 2>", "[1, 2]", "dense<[[1, 2]]>" or "1";
 * returns how many, at most `most`; 0 if there is none. */
int fgi_statement_integers(const fgi_statement *s, const char *key, int most, int64_t *out);
/* Where the value of an attribute begins; NULL: missing. */
const char *fgi_statement_value(const fgi_statement *s, const char *key);
/* Whether two texts are equal but for integers that have powers of `length` in the one as factors
 * where those of the other have as many of `other`. */
bool fgi_statements_agree(const char *text, int64_t length, const char *other_text, int64_t other);

#endif
