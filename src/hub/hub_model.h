/* hub_model.h - one model on a hub, and the downloads of its files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HUB_HUB_MODEL_H
#define FGI_HUB_HUB_MODEL_H

#include <fulgurite/hub.h>

#include "base/buf.h"
#include "base/file.h"
#include "host/http.h"

enum { FGI_HUB_NAME = 256 };

typedef struct fgi_hub {
    const char *name;                              /* as given, for messages: "hf:OWNER/NAME" */
    char id[FGI_HUB_NAME], revision[FGI_HUB_NAME]; /* "OWNER/NAME", "main" */
    char commit[FGI_HUB_NAME];                     /* of the revision; "": not known yet */
    const char *endpoint;                          /* "https://huggingface.co" */
    char *header;                                  /* with the token; NULL: none */
    const fg_hub_options *options;
    char *cache, *folder; /* of all models, and of this one */
} fgi_hub;

/* A file of the model, as the hub lists it. */
typedef struct fgi_hub_file {
    const char *name, *etag;
    int64_t size;
    bool is_large; /* the etag is its SHA-256; else that of a Git blob */
} fgi_hub_file;

/* Sends a request to the endpoint for a path that begins with '/', and again if the connection
 * breaks or the hub is overloaded. `take` receives the body from byte *first on and moves *first. A
 * server that does not continue there is asked for the whole: `restart` is called before. what: for
 * messages. */
typedef struct fgi_hub_sink {
    bool (*take)(void *self, const void *data, size_t size);
    bool (*restart)(void *self);
    void *self;
    int64_t *first;
} fgi_hub_sink;
fg_status fgi_hub_get(const fgi_hub *hub, const char *path, const char *what,
                      const fgi_hub_sink *sink, fg_error *err);

/* Reports a line. */
void fgi_hub_say(const fgi_hub *hub, const char *format, ...) FG_PRINTF(2, 3);

/* Downloads a file unless the cache has it, and links it into the snapshot of hub->commit. */
fg_status fgi_hub_file_get(const fgi_hub *hub, const fgi_hub_file *file, fg_error *err);

#endif
