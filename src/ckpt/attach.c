/* attach.c - checks attachments, and converts them to entries of the model file's __metadata__.
 *
 * Readers use only the metadata, so that a checkpoint folder and a copy of its model file behave
 * the same; the files in the folder are for people and other programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/attach.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "ckpt/manifest.h"

#define KEY_PREFIX "fulgurite."
enum { KEY_BYTES = sizeof(KEY_PREFIX) + FGI_MANIFEST_NAME_BYTES };

static bool is_own_file(const char *name)
{
    static const char *const own[] = {FGI_CKPT_MODEL_FILE, FGI_CKPT_STATE_FILE, FGI_CKPT_JSON_FILE,
                                      FGI_CKPT_MANIFEST_FILE};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

fg_status fgi_attach_check(const char *what, const fg_attachment *attachments, size_t count,
                           fg_error *err)
{
    if (count > FGI_ATTACH_MOST || (count > 0 && !attachments))
        return fgi_fail(err, FG_EINVAL, "%s: %zu attachments: expected at most %d", what, count,
                        (int)FGI_ATTACH_MOST);
    for (size_t i = 0; i < count; i++) {
        const char *name = attachments[i].name;
        if (!name || !fgi_manifest_is_name(name) || is_own_file(name))
            return fgi_fail(
                err, FG_EINVAL,
                "%s: '%s' is not a valid attachment name: expected a file name of letters, digits, "
                "'.', '_' and '-' that the checkpoint does not use itself",
                what, name ? name : "");
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, attachments[k].name) == 0)
                return fgi_fail(err, FG_EINVAL, "%s: two attachments are named '%s'", what, name);
        if (!attachments[i].text || strlen(attachments[i].text) > FGI_ATTACH_MAX_BYTES)
            return fgi_fail(err, FG_EINVAL,
                            "%s: attachment '%s' has no text, or its text is larger than 64 MiB",
                            what, name);
        if (!fgi_text_is_utf8(fgi_str_of(attachments[i].text)))
            return fgi_fail(err, FG_EINVAL, "%s: the text of attachment '%s' is not UTF-8", what,
                            name);
    }
    return FG_OK;
}

const char **fgi_attach_metadata(const char *const *metadata, const fg_attachment *attachments,
                                 size_t count)
{
    size_t given = 0;
    while (metadata && metadata[given])
        given++;
    const size_t entries = given + 2 * count + 1;
    const char **list = fgi_calloc(1, entries * sizeof(*list) + count * KEY_BYTES);
    if (!list)
        return NULL;
    char *key = (char *)(list + entries);
    for (size_t i = 0; i < given; i++)
        list[i] = metadata[i];
    for (size_t i = 0; i < count; i++, key += KEY_BYTES) {
        (void)snprintf(key, KEY_BYTES, KEY_PREFIX "%s", attachments[i].name);
        list[given + 2 * i] = key;
        list[given + 2 * i + 1] = attachments[i].text;
    }
    return list;
}

const char *fg_ckpt_attachment(const fg_ckpt *ckpt, const char *name)
{
    char key[KEY_BYTES];
    const int size = snprintf(key, sizeof(key), KEY_PREFIX "%s", name);
    return size < (int)sizeof(key) ? fg_ckpt_metadata(ckpt, key) : NULL;
}
