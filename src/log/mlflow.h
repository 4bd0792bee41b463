/* mlflow.h - a run on an MLflow tracking server, through its REST interface.
 * Source: MLflow 3, "REST API" (api/2.0/mlflow).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_MLFLOW_H
#define FGI_LOG_MLFLOW_H

#include <fulgurite/logger.h>
#include <jansson.h>

#include "base/arena.h"

/* How to reach the server. Strings may be NULL, but not the address. */
typedef struct fgi_mlflow_server {
    const char *uri;   /* "http://127.0.0.1:5000", without a slash at its end */
    const char *token; /* "Authorization: Bearer ..." */
    const char *user;  /* "name:password" */
    int timeout_ms;    /* of a request */
} fgi_mlflow_server;

/* Sends a GET or POST request. *out receives the answer, json_decref it; NULL after a failure.
 * *out_code is the HTTP status, 0 if there is no answer. Errors: FG_EIO if a later request may
 * succeed: no answer, or status 408, 429 or 500 and above; FG_ENOTFOUND for 404 and if libcurl is
 * missing; FG_EINVAL for statuses other than 200, with the server's message; FG_EFORMAT for an
 * answer that is not JSON; FG_ENOMEM. */
fg_status fgi_mlflow_get(const fgi_mlflow_server *server, const char *path, json_t **out,
                         int *out_code, fg_error *err);
/* The body is consumed; NULL: out of memory. out may be NULL. */
fg_status fgi_mlflow_post(const fgi_mlflow_server *server, const char *path, json_t *take_body,
                          json_t **out, int *out_code, fg_error *err);

/* Finds the experiment, or creates it; its id in the arena. */
fg_status fgi_mlflow_experiment(const fgi_mlflow_server *server, const char *name, fgi_arena *arena,
                                const char **out_id, fg_error *err);
/* Creates a run; its id in the arena. name NULL: that of the run's folder. */
fg_status fgi_mlflow_create_run(const fgi_mlflow_server *server, const char *experiment_id,
                                const char *name, const fg_log_start *start, fgi_arena *arena,
                                const char **out_id, fg_error *err);
/* Sends the settings as the parameters of a run, which may have some of them. */
fg_status fgi_mlflow_send_settings(const fgi_mlflow_server *server, const char *run_id,
                                   const fg_log_start *start, fg_error *err);

#endif
