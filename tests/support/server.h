/* server.h - a server of one test on a port of this machine: answers each connection with bytes
 * that were written down before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_H
#define SERVER_H

#include <pthread.h>

#include "fgt.h"

/* Once a connection has sent `ask`, and the body of its HTTP request, `answer` is sent; other
 * connections get nothing. */
typedef struct server_line {
    const char *ask;
    const void *answer;
    size_t size;
} server_line;

enum { SERVER_LINES = 8, SERVER_BYTES = 1 << 17 };

typedef struct server {
    server_line lines[SERVER_LINES]; /* ends with ask NULL; the first that matches is sent */
    int times[SERVER_LINES];         /* by line: how many times, then not again; 0: any number */
    int socket;
    uint16_t port; /* 0: one that is free */
    pthread_t thread;
    char address[32];         /* "127.0.0.1:PORT" */
    char asked[SERVER_BYTES]; /* what the last connection sent, terminated */
    char all[SERVER_BYTES];   /* what each of them sent, as far as there is room, terminated */
    size_t all_size;
} server;

/* Lines are set; the bytes must live as long as the server. */
void server_start(server *s);
void server_stop(server *s);

#endif
