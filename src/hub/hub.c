/* hub.c - finds a model on a hub and the files of it that are needed.
 *
 * The list of files, with their sizes and hashes, is one request to the hub's API; it also has the
 * commit of the revision. Settings are those of huggingface_hub (its documentation, "Environment
 * variables"). The token is only sent to the endpoint: libcurl does not repeat it to other hosts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "hub/hub_model.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/thread.h"
#include "input/json_file.h"

#define PREFIX "hf:"

enum { ATTEMPTS = 5, STALL_MS = 30000, MOST_TOKEN_BYTES = 4096, COMMIT_DIGITS = 40 };

/* ---- names ----------------------------------------------------------------------------------- */

bool fg_hub_is_name(const char *name)
{
    return name != NULL && strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

/* Letters, digits, '.', '_' and '-', and what else is allowed. */
static bool is_plain(const char *text, const char *others)
{
    for (const char *at = text; *at != '\0'; at++)
        if (!fgi_is_alnum(*at) && strchr("._-", *at) == NULL && strchr(others, *at) == NULL)
            return false;
    return *text != '\0' && *text != '.' && *text != '/' && strstr(text, "..") == NULL;
}

static bool split(fgi_hub *hub)
{
    const char *text = hub->name + strlen(PREFIX), *at = strchr(text, '@');
    const size_t size = at != NULL ? (size_t)(at - text) : strlen(text);
    (void)snprintf(hub->id, sizeof hub->id, "%.*s", (int)size, text);
    (void)snprintf(hub->revision, sizeof hub->revision, "%s", at != NULL ? at + 1 : "main");
    const char *slash = strchr(hub->id, '/');
    return size < sizeof hub->id && strlen(text) - size < sizeof hub->revision &&
           is_plain(hub->id, "/") && is_plain(hub->revision, "/") &&
           (slash == NULL || (slash[1] != '\0' && strchr(slash + 1, '/') == NULL));
}

/* ---- settings -------------------------------------------------------------------------------- */

static const char *given(const char *text) { return text != NULL && *text != '\0' ? text : NULL; }

/* The first of two environment variables. */
static const char *variable(const char *name, const char *older)
{
    const char *value = given(getenv(name));
    return value != NULL || older == NULL ? value : given(getenv(older));
}

/* HF_HOME, or ~/.cache/huggingface; a new string. */
static char *home(void)
{
    const char *hf = variable("HF_HOME", NULL), *cache = variable("XDG_CACHE_HOME", NULL);
    const char *user = variable("HOME", NULL);
    fgi_buf path = {0};
    if (hf != NULL)
        fgi_buf_puts(&path, hf);
    else if (cache != NULL)
        fgi_buf_printf(&path, "%s/huggingface", cache);
    else
        fgi_buf_printf(&path, "%s/.cache/huggingface", user != NULL ? user : ".");
    return fgi_buf_take(&path);
}

/* The header with the token of the options, the environment or a file. */
static fg_status read_token(fgi_hub *hub, const char *asked, const char *home_dir, fg_error *err)
{
    const char *set = variable("HF_TOKEN_PATH", NULL);
    char *text = NULL, *path = set != NULL ? fgi_strdup(set) : fgi_path_join(home_dir, "token");
    size_t size = 0;
    if (path == NULL)
        return fgi_no_memory(err);
    if (asked == NULL)
        asked = variable("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
    if (asked == NULL && fgi_file_read(path, MOST_TOKEN_BYTES, &text, &size, NULL) == FG_OK)
        asked = text;
    const fgi_str token = fgi_str_trim(fgi_str_of(asked != NULL ? asked : ""));
    fgi_buf header = {0};
    if (token.size > 0)
        fgi_buf_printf(&header, "Authorization: Bearer %.*s", (int)token.size, token.data);
    const fg_status status = fgi_buf_status(&header, err);
    hub->header = token.size > 0 ? fgi_buf_take(&header) : NULL;
    fgi_buf_fini(&header);
    fgi_free(text);
    fgi_free(path);
    return status;
}

/* CACHE/models--OWNER--NAME */
static fg_status find_cache(fgi_hub *hub, const char *asked, const char *home_dir, fg_error *err)
{
    if (asked == NULL)
        asked = variable("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE");
    hub->cache = asked != NULL ? fgi_strdup(asked) : fgi_path_join(home_dir, "hub");
    fgi_buf folder = {0};
    fgi_buf_printf(&folder, "%s/models--", hub->cache != NULL ? hub->cache : "");
    for (const char *at = hub->id; *at != '\0'; at++)
        fgi_buf_printf(&folder, *at == '/' ? "--" : "%c", *at);
    hub->folder = fgi_buf_take(&folder);
    return hub->cache != NULL && hub->folder != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status set_up(fgi_hub *hub, const fg_hub_options *o, fg_error *err)
{
    const char *endpoint = variable("HF_ENDPOINT", NULL);
    hub->endpoint = o->endpoint != NULL ? o->endpoint
                    : endpoint != NULL  ? endpoint
                                        : "https://huggingface.co";
    if (!split(hub))
        return fgi_fail(err, FG_EINVAL,
                        "'%s': expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION, such as "
                        "hf:microsoft/resnet-18",
                        hub->name);
    char *home_dir = home();
    fg_status status = home_dir != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK)
        status = find_cache(hub, o->cache_dir, home_dir, err);
    if (status == FG_OK)
        status = read_token(hub, o->token, home_dir, err);
    fgi_free(home_dir);
    return status;
}

static bool is_offline(const fg_hub_options *o)
{
    const char *set = variable("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE");
    return o->offline ||
           (set != NULL &&
            (strcmp(set, "1") == 0 || fgi_compare_nocase(set, "true") == 0 ||
             fgi_compare_nocase(set, "yes") == 0 || fgi_compare_nocase(set, "on") == 0));
}

/* ---- requests -------------------------------------------------------------------------------- */

void fgi_hub_say(const fgi_hub *hub, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (hub->options->say != NULL)
        hub->options->say(hub->options->self, line);
    else
        fgi_log(FG_LOG_INFO, "%s", line);
}

/* What a status means to the user; FG_OK for success. */
static fg_status explain(const fgi_hub *hub, const char *what, int code, const char *word,
                         fg_error *err)
{
    const char *token = hub->header != NULL ? "the token may lack access to it"
                                            : "if it is private, set HF_TOKEN to a token";
    if (code == 200 || code == 206)
        return FG_OK;
    if (strcmp(word, "GatedRepo") == 0)
        return fgi_fail(err, FG_EIO, "%s: access to this model must be requested on %s/%s%s",
                        hub->name, hub->endpoint, hub->id,
                        hub->header != NULL ? "" : "; then set HF_TOKEN to your token");
    if (strcmp(word, "RevisionNotFound") == 0)
        return fgi_fail(err, FG_ENOTFOUND, "%s: the model has no revision '%s'", hub->name,
                        hub->revision);
    if (code == 404 || strcmp(word, "RepoNotFound") == 0)
        return fgi_fail(err, FG_ENOTFOUND, "%s: %s does not exist on %s (HTTP status %d); %s",
                        hub->name, what, hub->endpoint, code, token);
    if (code == 401 || code == 403)
        return fgi_fail(err, FG_EIO, "%s: no access to %s (HTTP status %d): %s", hub->name, what,
                        code, token);
    return fgi_fail(err, FG_EIO, "%s: %s: HTTP status %d from %s", hub->name, what, code,
                    hub->endpoint);
}

static bool is_overloaded(int code) { return code == 408 || code == 429 || code >= 500; }

/* One attempt; *out_again: another one may succeed. */
static fg_status ask(const fgi_hub *hub, const char *url, const char *what,
                     const fgi_hub_sink *sink, bool *out_again, fg_error *err)
{
    char word[FGI_HTTP_CODE] = "";
    int code = 0;
    fgi_buf answer = {0};
    const int64_t first = *sink->first;
    const fg_status status = fgi_http_send(&(fgi_http_request){.url = url,
                                                               .header = hub->header,
                                                               .timeout_ms = STALL_MS,
                                                               .use_proxy = true,
                                                               .out_status = &code,
                                                               .take = sink->take,
                                                               .self = sink->self,
                                                               .first_byte = first,
                                                               .out_code = word},
                                           &answer, err);
    fgi_buf_fini(&answer);
    const bool is_refused = status == FG_OK && code == 416; /* nothing begins at this byte */
    *out_again = status == FG_EIO || is_overloaded(code) || is_refused;
    if (*out_again && first > 0 && *sink->first == first && !sink->restart(sink->self))
        *out_again = false;
    return status != FG_OK ? fgi_context(err, status, "%s: %s", hub->name, what)
                           : explain(hub, what, code, word, err);
}

fg_status fgi_hub_get(const fgi_hub *hub, const char *path, const char *what,
                      const fgi_hub_sink *sink, fg_error *err)
{
    fgi_buf url = {0};
    bool again = true;
    size_t size = strlen(hub->endpoint);
    while (size > 0 && hub->endpoint[size - 1] == '/')
        size--;
    fgi_buf_printf(&url, "%.*s%s", (int)size, hub->endpoint, path);
    fg_status status = fgi_buf_status(&url, err);
    for (int i = 0; i < ATTEMPTS && again && (i == 0 || status != FG_OK); i++) {
        if (i > 0)
            fgi_sleep(0.125 * (1 << i));
        status = ask(hub, url.data, what, sink, &again, err);
    }
    fgi_buf_fini(&url);
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool has_file(const json_t *files, const char *name)
{
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(fgi_json_words(json_array_get(files, i), "rfilename"), name) == 0)
            return true;
    return false;
}

/* Weights, in one file if there is one, and the texts next to them. */
static bool is_wanted(const json_t *files, const char *name)
{
    const bool is_single = has_file(files, "model.safetensors");
    if (!is_plain(name, ""))
        return false;
    if (fgi_ends_with(name, ".safetensors"))
        return is_single ? strcmp(name, "model.safetensors") == 0 : strncmp(name, "model-", 6) == 0;
    return fgi_ends_with(name, ".json") ? !is_single || !fgi_ends_with(name, ".index.json")
                                        : fgi_ends_with(name, ".txt");
}

static fg_status get_file(const fgi_hub *hub, const json_t *entry, fg_error *err)
{
    const json_t *large = json_object_get(entry, "lfs");
    const fgi_hub_file file = {.name = fgi_json_words(entry, "rfilename"),
                               .etag = large != NULL ? fgi_json_words(large, "sha256")
                                                     : fgi_json_words(entry, "blobId"),
                               .size = json_integer_value(json_object_get(entry, "size")),
                               .is_large = json_is_object(large)};
    if (!is_plain(file.etag, "") || strlen(file.etag) > 64 ||
        !json_is_integer(json_object_get(entry, "size")))
        return fgi_fail(err, FG_EFORMAT, "%s: the hub does not list the size and hash of '%s'",
                        hub->name, file.name);
    return fgi_hub_file_get(hub, &file, err);
}

static fg_status get_files(const fgi_hub *hub, const json_t *files, fg_error *err)
{
    size_t weights = 0;
    const char *other = NULL;
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        const char *name = fgi_json_words(entry, "rfilename");
        const bool is_weights = fgi_ends_with(name, ".safetensors") && is_wanted(files, name);
        weights += is_weights;
        if (fgi_ends_in_one_of(name, ".safetensors|.gguf|.h5|.msgpack|.onnx|.pt|.pth"))
            other = name;
    }
    if (weights == 0 && has_file(files, "pytorch_model.bin"))
        return fgi_fail(err, FG_EFORMAT,
                        "%s: the model has no model.safetensors, only a pickle: another revision "
                        "may have it, such as refs/pr/1",
                        hub->name);
    if (weights == 0)
        return fgi_fail(err, FG_EFORMAT, "%s: the model has no model.safetensors%s%s", hub->name,
                        other != NULL ? ", only " : "", other != NULL ? other : "");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        if (is_wanted(files, fgi_json_words(entry, "rfilename")))
            FGI_TRY(get_file(hub, entry, err));
    }
    return FG_OK;
}

/* ---- the list of files ----------------------------------------------------------------------- */

typedef struct text {
    fgi_buf data;
    int64_t first; /* stays 0: a list is small, and read again as a whole */
} text;

static bool take_text(void *self, const void *data, size_t size)
{
    text *t = self;
    fgi_buf_add(&t->data, data, size);
    return !t->data.failed;
}

static bool restart_text(void *self)
{
    fgi_buf_clear(&((text *)self)->data);
    return true;
}

/* Reads the list, and sets the commit. */
static fg_status list_files(fgi_hub *hub, json_t **out, fg_error *err)
{
    text t = {.first = 0};
    const fgi_hub_sink sink = {take_text, restart_text, &t, &t.first};
    fgi_buf url = {0};
    fgi_buf_printf(&url, "/api/models/%s/revision/", hub->id);
    for (const char *at = hub->revision; *at != '\0'; at++)
        fgi_buf_printf(&url, *at == '/' ? "%%2F" : "%c", *at);
    fgi_buf_puts(&url, "?blobs=true");
    fg_status status = fgi_buf_status(&url, err);
    if (status == FG_OK)
        status = fgi_hub_get(hub, url.data, "the model", &sink, err);
    if (status == FG_OK)
        status = fgi_json_parse(hub->name, 0, fgi_buf_text(&t.data), t.data.size, out, err);
    if (status == FG_EFORMAT)
        status = fgi_fail(err, status, "%s: the answer of %s is not JSON: is it a hub?", hub->name,
                          hub->endpoint);
    fgi_buf_fini(&url);
    fgi_buf_fini(&t.data);
    FGI_TRY(status);
    const char *commit = json_is_object(*out) ? fgi_json_words(*out, "sha") : "";
    if (!is_plain(commit, "") || strlen(commit) >= sizeof hub->commit)
        return fgi_fail(err, FG_EFORMAT, "%s: the answer of %s has no commit: is it a hub?",
                        hub->name, hub->endpoint);
    (void)snprintf(hub->commit, sizeof hub->commit, "%s", commit);
    return FG_OK;
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* refs/REVISION */
static char *ref_path(const fgi_hub *hub)
{
    char *refs = fgi_path_join(hub->folder, "refs");
    char *path = refs != NULL ? fgi_path_join(refs, hub->revision) : NULL;
    fgi_free(refs);
    return path;
}

/* Written when all files are there, so that an incomplete snapshot is never used offline. */
static fg_status keep_ref(const fgi_hub *hub, fg_error *err)
{
    char *path = ref_path(hub), *folder = path != NULL ? fgi_path_parent(path) : NULL;
    fg_status status = folder != NULL ? fgi_folder_make(folder, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = fgi_file_write_atomic(path, hub->commit, strlen(hub->commit), err);
    fgi_free(folder);
    fgi_free(path);
    return status;
}

/* The folder of the commit; a new string. */
static fg_status snapshot(const fgi_hub *hub, char **out, fg_error *err)
{
    char *all = fgi_path_join(hub->folder, "snapshots");
    *out = all != NULL ? fgi_path_join(all, hub->commit) : NULL;
    fgi_free(all);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

/* Finds the snapshot of the revision without the hub. */
static fg_status find_cached(fgi_hub *hub, char **out, fg_error *err)
{
    char *path = ref_path(hub), *commit = NULL;
    size_t size = 0;
    if (path == NULL)
        return fgi_no_memory(err);
    const bool is_ref = fgi_file_read(path, FGI_HUB_NAME - 1, &commit, &size, NULL) == FG_OK;
    fgi_free(path);
    (void)snprintf(hub->commit, sizeof hub->commit, "%s", is_ref ? commit : hub->revision);
    fgi_free(commit);
    FGI_TRY(is_plain(hub->commit, "") ? snapshot(hub, out, err) : FG_OK);
    if (*out != NULL && fgi_is_folder(*out))
        return FG_OK;
    fgi_free(*out);
    *out = NULL;
    return fgi_fail(err, FG_ENOTFOUND,
                    "%s: revision '%s' is not in the cache %s, and the hub is not used, because it "
                    "is offline: unset HF_HUB_OFFLINE, or copy the cache of another machine",
                    hub->name, hub->revision, hub->cache);
}

static fg_status fetch(fgi_hub *hub, char **out, fg_error *err)
{
    json_t *model = NULL;
    fg_status status = list_files(hub, &model, err);
    if (status == FG_EIO && find_cached(hub, out, &(fg_error){0}) == FG_OK) {
        fgi_hub_say(hub, "%s: using the cached copy", err->message);
        json_decref(model);
        return FG_OK;
    }
    if (status == FG_OK)
        status = get_files(hub, json_object_get(model, "siblings"), err);
    if (status == FG_OK)
        status = keep_ref(hub, err);
    if (status == FG_OK)
        status = snapshot(hub, out, err);
    json_decref(model);
    return status;
}

fg_status fg_hub_fetch(const char *name, const fg_hub_options *options, char **out_folder,
                       fg_error *err)
{
    static const fg_hub_options none;
    fg_error own = {0};
    err = err != NULL ? err : &own;
    fgi_hub hub = {.name = name};
    if (out_folder == NULL || !fg_hub_is_name(name))
        return fgi_fail(err, FG_EINVAL, "fg_hub_fetch: expected a name such as hf:OWNER/NAME");
    *out_folder = NULL;
    FGI_TRY_RESERVED(fg_hub_options, options, err);
    options = options != NULL ? options : &none;
    hub.options = options;
    fg_status status = set_up(&hub, options, err);
    if (status == FG_OK)
        status =
            is_offline(options) ? find_cached(&hub, out_folder, err) : fetch(&hub, out_folder, err);
    fgi_free(hub.header);
    fgi_free(hub.cache);
    fgi_free(hub.folder);
    return status;
}
