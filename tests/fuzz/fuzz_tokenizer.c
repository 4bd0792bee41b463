/* fuzz_tokenizer.c - any bytes as a tokenizer.json: rejected, or a tokenizer whose tokens are in
 * its vocabulary and can be decoded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include <fulgurite/tokenizer.h>

static void encode(const fg_tokenizer *t, const char *text)
{
    fg_token_list list = {0};
    fg_error err = {0};
    char *decoded = NULL;
    if (fg_tokenizer_encode(t, text, strlen(text), NULL, &list, &err) == FG_OK &&
        fg_tokenizer_decode(t, list.at, list.count, NULL, &decoded, NULL, &err) == FG_OK &&
        decoded == NULL)
        abort();
    fg_free(decoded);
    fg_free(list.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fg_tokenizer *t = NULL;
    fg_error err = {0};
    if (fg_tokenizer_parse("input", (const char *)data, size, &t, &err) != FG_OK) {
        if (t != NULL || err.message[0] == '\0')
            abort();
        return 0;
    }
    encode(t, "a  b'll \xc3\xa9\xe4\xb8\x80 12\n<s>[MASK]x ");
    encode(t, "");
    fg_tokenizer_destroy(t);
    return 0;
}
