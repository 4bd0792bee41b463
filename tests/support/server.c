/* server.c - a server of one test. One connection at a time, each until the client closes it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const server_line *line_of(server *s, const char *data, size_t size)
{
    for (int i = 0; s->lines[i].ask; i++) {
        if (s->times[i] < 0 || !memmem(data, size, s->lines[i].ask, strlen(s->lines[i].ask)))
            continue;
        if (s->times[i] > 0 && --s->times[i] == 0)
            s->times[i] = -1;
        return &s->lines[i];
    }
    return NULL;
}

/* Whether there is nothing more to come of an HTTP request with a body. */
static bool is_whole(const char *data, size_t size)
{
    static const char length[] = "Content-Length: ";
    const char *end = memmem(data, size, "\r\n\r\n", 4);
    const char *at =
        end != NULL ? memmem(data, (size_t)(end - data), length, strlen(length)) : NULL;
    return at == NULL || size - (size_t)(end + 4 - data) >= strtoul(at + strlen(length), NULL, 10);
}

static void note(server *s, const char *data, size_t size)
{
    memcpy(s->asked, data, size);
    s->asked[size] = '\0';
    if (s->all_size + size >= sizeof s->all)
        return;
    memcpy(s->all + s->all_size, s->asked, size + 1);
    s->all_size += size + 1;
}

static void answer(server *s, int connection)
{
    char data[SERVER_BYTES];
    size_t size = 0;
    bool is_answered = false;
    for (ssize_t got = 1; got > 0 && size < sizeof data - 1;) {
        got = recv(connection, data + size, sizeof data - 1 - size, 0);
        size += got > 0 ? (size_t)got : 0;
        const server_line *l = is_answered || !is_whole(data, size) ? NULL : line_of(s, data, size);
        if (l) {
            is_answered = true;
            note(s, data, size);
            (void)send(connection, l->answer, l->size, MSG_NOSIGNAL);
            if (strncmp(l->ask, "GET", 3) == 0 ||
                (l->size > 7 && memcmp(l->answer, "HTTP/1.", 7) == 0))
                (void)shutdown(connection, SHUT_WR);
        }
    }
    (void)close(connection);
}

static void *serve(void *self)
{
    server *s = self;
    for (int c = accept(s->socket, NULL, NULL); c >= 0; c = accept(s->socket, NULL, NULL))
        answer(s, c);
    return NULL;
}

void server_start(server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int yes = 1;
    socklen_t size = sizeof at;
    s->socket = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s->socket >= 0);
    assert_int_equal(setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(bind(s->socket, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->socket, 8), 0);
    assert_int_equal(getsockname(s->socket, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    (void)snprintf(s->address, sizeof s->address, "127.0.0.1:%d", (int)s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void server_stop(server *s)
{
    (void)shutdown(s->socket, SHUT_RDWR); /* accept comes back */
    (void)pthread_join(s->thread, NULL);
    (void)close(s->socket);
}
