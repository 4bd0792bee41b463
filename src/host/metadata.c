/* metadata.c - attributes of the instance from Google Cloud's metadata server, or from files in a
 * test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/doctor.h"
#include "host/http.h"

#define PATH "/computeMetadata/v1/instance/attributes/"

enum { TIMEOUT_MS = 1000 };

bool fgi_metadata_get(const fg_host *host, const char *attribute, char *out, size_t size)
{
    char url[512];
    if (!host->metadata)
        return false;
    (void)snprintf(url, sizeof url, "%s" PATH "%s", host->metadata, attribute);
    if (host->metadata[0] == '\0')
        return fgi_host_read(&host->source, url, out, size);
    fgi_buf answer = {0};
    const fgi_http_request request = {
        .url = url, .header = "Metadata-Flavor: Google", .timeout_ms = TIMEOUT_MS};
    const fg_status status = fgi_http_send(&request, &answer, NULL);
    (void)snprintf(out, size, "%s", status == FG_OK && answer.data ? answer.data : "");
    fgi_buf_fini(&answer);
    return status == FG_OK;
}
