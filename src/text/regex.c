/* regex.c - regular expressions, compiled to machine code by PCRE2 where it can do so.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <pcre2.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/library.h"

#define FUNCTIONS(X)                                                                               \
    X(compile, pcre2_compile_8)                                                                    \
    X(jit, pcre2_jit_compile_8)                                                                    \
    X(free, pcre2_code_free_8)                                                                     \
    X(match, pcre2_match_8)                                                                        \
    X(data, pcre2_match_data_create_8)                                                             \
    X(data_free, pcre2_match_data_free_8)                                                          \
    X(vector, pcre2_get_ovector_pointer_8)                                                         \
    X(message, pcre2_get_error_message_8)
FGI_LIBRARY(pcre2, FUNCTIONS, "libpcre2-8.so.0")

struct fgi_regex {
    pcre2_code *code;
};

struct fgi_regex_work {
    pcre2_match_data *data;
};

/* The members of the classes \w and \s in Unicode (UTS #18, annex C), which PCRE2 defines by other
 * properties. */
#define WORD  "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}"
#define SPACE "\\p{White_Space}"

/* What PCRE2 would read as something else, at p; NULL: nothing. */
static const char *unsupported(const char *p, int depth)
{
    if (p[0] == '\\' && (p[1] == 'h' || p[1] == 'H'))
        return "\\h";
    if (depth > 0 && p[0] == '&' && p[1] == '&')
        return "&& in a set";
    return depth > 0 && p[0] == '[' && p[1] == '^' ? "[^ in a set" : NULL;
}

/* Rewrites what is written in another way; sets that are members of a set are joined with it.
 * Returns what cannot be, NULL: nothing. */
static const char *translate(const char *pattern, fgi_buf *out)
{
    int depth = 0; /* in brackets */
    for (const char *p = pattern; *p != '\0'; p++) {
        const bool is_escape = *p == '\\' && p[1] != '\0';
        const bool is_named = depth > 0 && *p == '[' && p[1] == ':' && strstr(p, ":]") != NULL;
        const char *members = is_escape && (p[1] == 'w' || p[1] == 'W') ? WORD : SPACE;
        size_t size = is_escape ? 2 : is_named ? (size_t)(strstr(p, ":]") + 2 - p) : 1;
        if (unsupported(p, depth) != NULL)
            return unsupported(p, depth);
        depth += size > 1 ? 0 : *p == '[' ? 1 : *p == ']' && depth > 0 ? -1 : 0;
        if (is_escape && (p[1] == 's' || p[1] == 'w'))
            fgi_buf_printf(out, depth > 0 ? "%s" : "[%s]", members);
        else if (is_escape && (p[1] == 'S' || p[1] == 'W') && depth == 0)
            fgi_buf_printf(out, "[^%s]", members);
        else if (size > 1 || !((*p == '[' && depth > 1) || (*p == ']' && depth > 0)))
            fgi_buf_add(out, p, size);
        p += size - 1;
    }
    return NULL;
}

static fg_status compile(const char *where, fgi_str pattern, bool is_literal, fgi_regex *regex,
                         fg_error *err)
{
    int fault = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR text[120] = "";
    const uint32_t flags =
        PCRE2_UTF | PCRE2_NO_UTF_CHECK | (is_literal ? PCRE2_LITERAL : PCRE2_UCP);
    regex->code = pcre2.compile((PCRE2_SPTR)pattern.data, pattern.size, flags, &fault, &at, NULL);
    if (regex->code != NULL) {
        (void)pcre2.jit(regex->code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
        return FG_OK;
    }
    (void)pcre2.message(fault, text, sizeof text);
    return fgi_fail(err, FG_EFORMAT, "%s: the regular expression '%.160s' is not supported: %s",
                    where, pattern.data, (const char *)text);
}

fg_status fgi_regex_create(const char *where, const char *pattern, bool is_literal, fgi_regex **out,
                           fg_error *err)
{
    fgi_buf text = {0};
    fg_status status;
    fgi_regex *regex = *out = NULL;
    if (!pcre2_is_loaded())
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: this tokenizer requires PCRE2, which is not installed\n"
                        "sudo apt-get install libpcre2-8-0",
                        where);
    const char *what = NULL;
    if (is_literal)
        fgi_buf_puts(&text, pattern);
    else
        what = translate(pattern, &text);
    FGI_DONE(fgi_buf_status(&text, err));
    FGI_DONE(what == NULL ? FG_OK
                          : fgi_fail(err, FG_EUNSUPPORTED,
                                     "%s: the regular expression '%.160s' is not supported: it "
                                     "has %s",
                                     where, pattern, what));
    regex = fgi_calloc(1, sizeof *regex);
    FGI_DONE(regex != NULL ? FG_OK : fgi_no_memory(err));
    FGI_DONE(compile(where, (fgi_str){fgi_buf_text(&text), text.size}, is_literal, regex, err));
    *out = regex;
    regex = NULL;
done:
    fgi_regex_destroy(regex);
    fgi_buf_fini(&text);
    return status;
}

void fgi_regex_destroy(fgi_regex *regex)
{
    if (regex != NULL && regex->code != NULL)
        pcre2.free(regex->code);
    fgi_free(regex);
}

/* ---- matching -------------------------------------------------------------------------------- */

static fgi_regex_work *create_work(void)
{
    fgi_regex_work *work = fgi_calloc(1, sizeof *work);
    if (work == NULL)
        return NULL;
    work->data = pcre2.data(1, NULL);
    if (work->data != NULL)
        return work;
    fgi_free(work);
    return NULL;
}

void fgi_regex_work_destroy(fgi_regex_work *work)
{
    if (work != NULL)
        pcre2.data_free(work->data);
    fgi_free(work);
}

static fg_status fail(int code, fg_error *err)
{
    PCRE2_UCHAR text[120] = "";
    if (code == PCRE2_ERROR_NOMEMORY)
        return fgi_no_memory(err);
    (void)pcre2.message(code, text, sizeof text);
    return fgi_fail(err, FG_EINVAL, "matching a regular expression failed: %s", (const char *)text);
}

bool fgi_regex_find(const fgi_regex *regex, fgi_regex_work **work, fgi_str text, size_t from,
                    size_t *out_start, size_t *out_end, fg_status *status, fg_error *err)
{
    if (*work == NULL && (*work = create_work()) == NULL) {
        *status = fgi_no_memory(err);
        return false;
    }
    const int found = pcre2.match(regex->code, (PCRE2_SPTR)text.data, text.size, from,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, (*work)->data, NULL);
    if (found < 0) {
        *status = found == PCRE2_ERROR_NOMATCH ? *status : fail(found, err);
        return false;
    }
    const PCRE2_SIZE *range = pcre2.vector((*work)->data);
    *out_start = range[0];
    *out_end = range[1];
    return range[0] < range[1]; /* \K in a lookahead can end a match before its start */
}
