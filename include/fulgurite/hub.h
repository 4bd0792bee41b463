/* hub.h - published models from a hub, such as https://huggingface.co, in a cache on this machine.
 *
 * The cache is that of huggingface_hub, so that Python programs and this library share it:
 * models--OWNER--NAME/blobs/ETAG has the content of a file, snapshots/COMMIT/FILE links to it, and
 * refs/REVISION has the commit. Files appear there only when they are complete and verified. An
 * interrupted download is continued; of several processes, one downloads a file, and the others
 * wait. Source: huggingface_hub, "Understand caching"; Hugging Face Hub API.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_HUB_H
#define FULGURITE_HUB_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A string that is NULL is taken from the environment, as huggingface_hub does. */
typedef struct fg_hub_options {
    const char *endpoint;  /* [HF_ENDPOINT, or https://huggingface.co] */
    const char *cache_dir; /* [HF_HUB_CACHE, HF_HOME/hub, or ~/.cache/huggingface/hub] */
    const char *token;     /* for private and gated models; "": none
                              [HF_TOKEN, or the file HF_TOKEN_PATH or HF_HOME/token]        */
    bool offline; /* use the cache only              [HF_HUB_OFFLINE is 1, true, yes or on] */
    void (*say)(void *self, const char *line); /* receives what is downloaded [the log] */
    void *self;
    uint64_t reserved[4];
} fg_hub_options;

/* Whether the text is the name of a model on a hub: "hf:OWNER/NAME" or "hf:OWNER/NAME@REVISION",
 * where REVISION is a branch [main], a tag or a commit. Thread-safe. */
FG_API bool fg_hub_is_name(const char *name);

/* Downloads the weights of a model and the files that describe them (safetensors, JSON, texts),
 * unless they are in the cache, and returns the folder with them, for fg_ckpt_open: free it with
 * fg_free. Branches are looked up on the hub, if it can be reached. What is downloaded is reported.
 * options may be NULL. Requires libcurl. Errors: FG_EINVAL (not such a name), FG_ENOTFOUND (the
 * model, the revision or, offline, the cache's copy does not exist; libcurl is missing), FG_EIO (no
 * access, no connection, no space), FG_EFORMAT (what was received is not what the hub lists, or has
 * no safetensors), FG_ENOMEM. No message contains the token. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_hub_fetch(const char *name, const fg_hub_options *options,
                                          char **out_folder, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
