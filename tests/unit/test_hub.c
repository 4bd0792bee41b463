/* test_hub.c - downloads of models from a server of this test: the cache, continued downloads,
 * damage, refusals, offline, several at once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/hub.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "server.h"

#define TOKEN                      "hf_secret"
/* The weights are the ten bytes 0123456789. */
#define SHA                        "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
#define OTHER                      "0000000000000000000000000000000000000000000000000000000000000000"
#define HEAD                       "Connection: close\r\n"
#define ANSWER(status, head, body) "HTTP/1.1 " status "\r\n" HEAD head "\r\n" body
#define LINE(ask, ...)                                                                             \
    {                                                                                              \
        ask, ANSWER(__VA_ARGS__), sizeof ANSWER(__VA_ARGS__) - 1                                   \
    }

#define FILE_ROW(name, size, id) "{\"rfilename\": \"" name "\", \"size\": " size ", " id "}"
#define LARGE(sha)               "\"blobId\": \"x\", \"lfs\": {\"sha256\": \"" sha "\"}"
#define MODEL(commit, sha)                                                                         \
    "{\"sha\": \"" commit                                                                          \
    "\", \"siblings\": [" FILE_ROW("README.md", "9", "\"blobId\": \"b0\"") ", " FILE_ROW(          \
        "config.json", "2",                                                                        \
        "\"blobId\": \"b1\"") ", " FILE_ROW("onnx/model.safetensors", "9",                         \
                                            LARGE(OTHER)) ", " FILE_ROW("model.safetensors", "10", \
                                                                        LARGE(sha)) "]}"
#define LIST    "GET /api/models/o/n/revision/main?blobs=true "
#define CONFIG  LINE("GET /o/n/resolve/c1/config.json ", "200 OK", "Content-Length: 2\r\n", "{}")
#define WEIGHTS "GET /o/n/resolve/c1/model.safetensors "
#define WHOLE   LINE(WEIGHTS, "200 OK", "Content-Length: 10\r\n", "0123456789")
#define LISTED  LINE(LIST, "200 OK", "", MODEL("c1", SHA))

static fg_error err;
static const char *base; /* the folder of all tests */

/* The line `once` is sent once; -1: none. */
static void start(server *s, const server_line *lines, size_t count, int once)
{
    *s = (server){.socket = -1};
    if (once >= 0)
        s->times[once] = 1;
    memcpy(s->lines, lines, count * sizeof *lines);
    server_start(s);
}

static char said[4096]; /* lines reported by the last fetch */

static void say(void *self, const char *line)
{
    (void)self;
    (void)snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

/* Fetches hf:o/n into the folder of this test; *out_folder must be freed. */
static fg_status fetch(const server *s, const char *name, bool offline, char **out_folder)
{
    char endpoint[64];
    (void)snprintf(endpoint, sizeof endpoint, "http://%s", s->address);
    const fg_hub_options options = {.endpoint = endpoint,
                                    .cache_dir = fgt_path(base, "cache"),
                                    .token = TOKEN,
                                    .offline = offline,
                                    .say = say};
    err = (fg_error){0};
    said[0] = '\0';
    const fg_status status = fg_hub_fetch(name, &options, out_folder, &err);
    assert_null(strstr(err.message, TOKEN));
    assert_null(strstr(said, TOKEN));
    return status;
}

static const char *in_model(const char *name)
{
    return fgt_path(fgt_path(base, "cache/models--o--n"), name);
}

static void holds(const char *name, const char *text)
{
    char *data = NULL;
    size_t size;
    fgt_ok(fgi_file_read(in_model(name), 1000, &data, &size, &err));
    assert_string_equal(data, text);
    fg_free(data);
}

static void clear_cache(void) { fgt_ok(fgi_folder_remove(fgt_path(base, "cache"), &err)); }

static int count_of(const server *s, const char *text)
{
    int count = 0;
    for (const char *at = s->all; at != NULL && at < s->all + s->all_size; at++) {
        at = memmem(at, (size_t)(s->all + s->all_size - at), text, strlen(text));
        if (at == NULL)
            break;
        count++;
    }
    return count;
}

static void the_cache_is_that_of_huggingface_hub(void **state)
{
    const server_line lines[] = {LISTED, CONFIG, WHOLE};
    char link[256] = "", *folder = NULL;
    server s;
    clear_cache();
    start(&s, lines, 3, -1);
    fgt_ok(fetch(&s, "hf:o/n", false, &folder));
    assert_string_equal(folder, in_model("snapshots/c1"));
    assert_string_equal(said, "downloading hf:o/n: config.json (2 B)\n"
                              "downloading hf:o/n: model.safetensors (10 B)\n");
    assert_true(readlink(in_model("snapshots/c1/model.safetensors"), link, sizeof link - 1) > 0);
    assert_string_equal(link, "../../blobs/" SHA);
    holds("snapshots/c1/model.safetensors", "0123456789");
    holds("snapshots/c1/config.json", "{}");
    holds("blobs/b1", "{}");
    holds("refs/main", "c1");
    assert_false(fgi_file_exists(in_model("snapshots/c1/README.md")));
    assert_false(fgi_file_exists(in_model("blobs/" SHA ".incomplete")));
    assert_int_equal(count_of(&s, "Authorization: Bearer " TOKEN "\r\n"), 3);
    fg_free(folder);
    fgt_ok(fetch(&s, "hf:o/n", false, &folder)); /* nothing but the list is asked for */
    assert_int_equal(count_of(&s, "GET "), 4);
    fg_free(folder);
    server_stop(&s);
    (void)state;
}

/* The cache of the last test, without the hub. */
static void the_cache_is_used_offline(void **state)
{
    char *folder = NULL;
    const server s = {.address = "127.0.0.1:1"};
    fgt_ok(fetch(&s, "hf:o/n", true, &folder));
    assert_string_equal(folder, in_model("snapshots/c1"));
    fg_free(folder);
    fgt_ok(fetch(&s, "hf:o/n", false, &folder)); /* nobody answers: the cached copy is used */
    assert_string_equal(folder, in_model("snapshots/c1"));
    fg_free(folder);
    assert_int_equal(fetch(&s, "hf:o/n@v2", true, &folder), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "revision 'v2' is not in the cache"));
    assert_null(folder);
    (void)state;
}

/* A connection that breaks, a download that was killed, and one that cannot be continued. */
static void downloads_are_continued(void **state)
{
    const server_line rest = LINE("Range: bytes=4-", "206 Partial Content",
                                  "Content-Length: 6\r\nContent-Range: bytes 4-9/10\r\n", "456789");
    const server_line cut = LINE(WEIGHTS, "200 OK", "Content-Length: 10\r\n", "0123");
    const server_line broken[] = {LISTED, CONFIG, rest, cut},
                      refused[] = {LISTED, CONFIG,
                                   LINE("Range: bytes=4-", "416 Range Not Satisfiable", "", ""),
                                   WHOLE};
    for (int i = 0; i < 3; i++) {
        char *folder = NULL;
        server s;
        clear_cache();
        if (i > 0) {
            fgt_ok(fgi_folder_make(in_model("blobs"), &err));
            fgt_write(in_model("blobs/" SHA ".incomplete"), i == 1 ? "0123" : "wxyz", 4);
        }
        start(&s, i == 2 ? refused : broken, 4, i == 2 ? -1 : 3);
        fgt_ok(fetch(&s, "hf:o/n", false, &folder));
        holds("snapshots/c1/model.safetensors", "0123456789");
        assert_int_equal(strstr(said, ", continued\n") != NULL, i > 0);
        assert_int_equal(count_of(&s, "Range: bytes=4-"), 1);
        assert_int_equal(count_of(&s, WEIGHTS), i == 1 ? 1 : 2);
        fg_free(folder);
        server_stop(&s);
    }
    (void)state;
}

/* What the hub sends is not what it lists; the next attempt begins again. */
static void damage_is_found(void **state)
{
    const server_line other[] = {
        LISTED, CONFIG, LINE(WEIGHTS, "200 OK", "Content-Length: 10\r\n", "012345678x"), WHOLE};
    const server_line longer[] = {LISTED, CONFIG,
                                  LINE(WEIGHTS, "200 OK", "Content-Length: 11\r\n", "0123456789x")};
    char *folder = NULL;
    server s;
    clear_cache();
    start(&s, other, 4, 2);
    assert_int_equal(fetch(&s, "hf:o/n", false, &folder), FG_EFORMAT);
    assert_non_null(strstr(err.message, "hf:o/n: model.safetensors: SHA-256 is "));
    assert_non_null(strstr(err.message, "the hub lists " SHA));
    assert_false(fgi_file_exists(in_model("refs/main")));
    fgt_ok(fetch(&s, "hf:o/n", false, &folder));
    fg_free(folder);
    server_stop(&s);
    clear_cache();
    start(&s, longer, 3, -1);
    assert_int_equal(fetch(&s, "hf:o/n", false, &folder), FG_EFORMAT);
    assert_non_null(strstr(err.message, "received more than the 10 bytes listed"));
    server_stop(&s);
    (void)state;
}

/* A branch that has moved, on a hub that is overloaded at first: a snapshot next to the old one. */
static void another_commit(void **state)
{
    const server_line before[] = {LISTED, CONFIG, WHOLE};
    const server_line after[] = {
        LINE(LIST, "503 Service Unavailable", "", ""),
        LINE(LIST, "200 OK", "",
             MODEL("c2", "72399361da6a7754fec986dca5b7cbaf1c810a28ded4abaf56b2106d06cb78b0")),
        LINE("GET /o/n/resolve/c2/model.safetensors ", "200 OK", "Content-Length: 10\r\n",
             "abcdefghij")};
    char text[65], *folder = NULL;
    server s;
    clear_cache();
    start(&s, before, 3, -1);
    fgt_ok(fetch(&s, "hf:o/n", false, &folder));
    fg_free(folder);
    server_stop(&s);
    start(&s, after, 3, 0);
    fgt_ok(fetch(&s, "hf:o/n", false, &folder));
    assert_string_equal(folder, in_model("snapshots/c2"));
    fg_free(folder);
    server_stop(&s);
    holds("refs/main", "c2");
    holds("snapshots/c2/model.safetensors", "abcdefghij");
    holds("snapshots/c1/model.safetensors", "0123456789");
    fgi_sha256 hash;
    fgi_sha256_init(&hash);
    fgi_sha256_add(&hash, "abc", 3); /* FIPS 180-4, example of one block */
    fgi_sha256_end(&hash, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    (void)state;
}

static void refusals_say_what_to_do(void **state)
{
    static const struct {
        server_line line;
        fg_status status;
        const char *message;
    } rows[] = {
        {LINE(LIST, "404 Not Found", "", ""), FG_ENOTFOUND,
         "hf:o/n: the model does not exist on http://127.0.0.1:"},
        {LINE(LIST, "401 Unauthorized", "X-Error-Code: RepoNotFound\r\n", ""), FG_ENOTFOUND,
         "(HTTP status 401); the token may lack access to it"},
        {LINE(LIST, "404 Not Found", "X-Error-Code: RevisionNotFound\r\n", ""), FG_ENOTFOUND,
         "hf:o/n: the model has no revision 'main'"},
        {LINE(LIST, "403 Forbidden", "X-Error-Code: GatedRepo\r\n", ""), FG_EIO,
         "access to this model must be requested on http://127.0.0.1:"},
        {LINE(LIST, "401 Unauthorized", "", ""), FG_EIO,
         "no access to the model (HTTP status 401)"},
        {LINE(LIST, "200 OK", "", "{}"), FG_EFORMAT, "has no commit: is it a hub?"},
        {LINE(LIST, "200 OK", "", "<html>"), FG_EFORMAT, " is not JSON: is it a hub?"},
        {LINE(LIST, "200 OK", "", "{\"sha\": \"../c\"}"), FG_EFORMAT, "has no commit"},
        {LINE(LIST, "200 OK", "",
              "{\"sha\": \"c1\", \"siblings\": [{\"rfilename\": "
              "\"pytorch_model.bin\"}]}"),
         FG_EFORMAT, "has no model.safetensors, only a pickle"},
        {LINE(LIST, "200 OK", "", "{\"sha\": \"c1\", \"siblings\": [{\"rfilename\": \"m.gguf\"}]}"),
         FG_EFORMAT, "has no model.safetensors, only m.gguf"},
        {LINE(LIST, "200 OK", "",
              "{\"sha\": \"c1\", \"siblings\": [{\"rfilename\": "
              "\"model.safetensors\"}]}"),
         FG_EFORMAT, "does not list the size and hash of 'model.safetensors'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *folder = NULL;
        server s;
        clear_cache();
        start(&s, &rows[i].line, 1, -1);
        assert_int_equal(fetch(&s, "hf:o/n", false, &folder), rows[i].status);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("%s", err.message);
        server_stop(&s);
    }
    (void)state;
}

static void names(void **state)
{
    static const char *const wrong[] = {"hf:",       "hf:a/b/c", "hf:/b",       "hf:a/",  "hf:a/b@",
                                        "hf:a/../b", "hf:a b/c", "hf:a/b@../x", "hf:.a/b"};
    const server s = {.address = "127.0.0.1:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *folder = NULL;
        assert_int_equal(fetch(&s, wrong[i], true, &folder), FG_EINVAL);
        assert_non_null(strstr(err.message, "expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION"));
    }
    assert_false(fg_hub_is_name("a/b"));
    assert_false(fg_hub_is_name(NULL));
    assert_int_equal(fg_hub_fetch("a/b", NULL, &(char *){NULL}, &err), FG_EINVAL);
    (void)state;
}

/* ---- settings, and several at once ----------------------------------------------------------- */

/* The environment, and a token in a file. */
static void settings_of_the_environment(void **state)
{
    const server_line lines[] = {LISTED, CONFIG, WHOLE};
    char endpoint[64], *folder = NULL;
    server s;
    start(&s, lines, 3, -1);
    (void)snprintf(endpoint, sizeof endpoint, "http://%s/", s.address);
    const char *home = fgt_path(base, "home");
    fgt_ok(fgi_folder_make(home, &err));
    fgt_write(fgt_path(home, "token"), "of_a_file\n", 10);
    assert_int_equal(setenv("HF_HOME", home, 1) | setenv("HF_ENDPOINT", endpoint, 1), 0);
    fgt_ok(fg_hub_fetch("hf:o/n", NULL, &folder, &err));
    assert_string_equal(folder, fgt_path(home, "hub/models--o--n/snapshots/c1"));
    assert_int_equal(count_of(&s, "Authorization: Bearer of_a_file\r\n"), 3);
    fg_free(folder);
    const char *cache = fgt_path(base, "other");
    assert_int_equal(setenv("HF_HUB_CACHE", cache, 1) | setenv("HF_TOKEN", "of_env", 1), 0);
    fgt_ok(fg_hub_fetch("hf:o/n", NULL, &folder, &err));
    assert_string_equal(folder, fgt_path(cache, "models--o--n/snapshots/c1"));
    assert_int_equal(count_of(&s, "Authorization: Bearer of_env\r\n"), 3);
    fg_free(folder);
    server_stop(&s);
    assert_int_equal(setenv("HF_HUB_OFFLINE", "1", 1), 0);
    fgt_ok(fg_hub_fetch("hf:o/n", NULL, &folder, &err));
    fg_free(folder);
    assert_int_equal(unsetenv("HF_HUB_OFFLINE") | unsetenv("HF_HOME") | unsetenv("HF_HUB_CACHE") |
                         unsetenv("HF_TOKEN") | unsetenv("HF_ENDPOINT"),
                     0);
    (void)state;
}

typedef struct fetching {
    const server *server;
    fg_status status;
} fetching;

static void *fetch_it(void *self)
{
    fetching *f = self;
    char endpoint[64], *folder = NULL;
    (void)snprintf(endpoint, sizeof endpoint, "http://%s", f->server->address);
    const fg_hub_options options = {
        .endpoint = endpoint, .cache_dir = fgt_path(base, "cache"), .token = ""};
    f->status = fg_hub_fetch("hf:o/n", &options, &folder, NULL);
    fg_free(folder);
    return NULL;
}

static void several_at_once_download_a_file_once(void **state)
{
    enum { THREADS = 4 };
    const server_line lines[] = {LISTED, CONFIG, WHOLE};
    pthread_t threads[THREADS];
    fetching f[THREADS];
    server s;
    clear_cache();
    start(&s, lines, 3, -1);
    for (int i = 0; i < THREADS; i++) {
        f[i] = (fetching){.server = &s};
        assert_int_equal(pthread_create(&threads[i], NULL, fetch_it, &f[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(f[i].status, FG_OK);
    }
    assert_int_equal(count_of(&s, WEIGHTS), 1);
    assert_int_equal(count_of(&s, "Authorization"), 0);
    holds("snapshots/c1/model.safetensors", "0123456789");
    server_stop(&s);
    (void)state;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_cache_is_that_of_huggingface_hub),
    cmocka_unit_test(the_cache_is_used_offline),
    cmocka_unit_test(downloads_are_continued),
    cmocka_unit_test(damage_is_found),
    cmocka_unit_test(another_commit),
    cmocka_unit_test(refusals_say_what_to_do),
    cmocka_unit_test(names),
    cmocka_unit_test(settings_of_the_environment),
    cmocka_unit_test(several_at_once_download_a_file_once),
};

int main(void)
{
    base = fgt_temp_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
