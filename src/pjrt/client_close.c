/* client_close.c - destroys a client: after fg_client_close, and after everything created with it.
 *
 * Arrays, programs and traces have a reference each, so they may be destroyed in any order. A
 * plugin's client must outlive its buffers and programs: the last reference destroys it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/plugin.h"

fg_client *fgi_client_retain(fg_client *client)
{
    if (client)
        (void)atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
    return client;
}

void fgi_client_release(fg_client *client)
{
    if (!client || atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) != 1)
        return;
    if (client->client) {
        FGI_ARGS(PJRT_Client_Destroy_Args, args, .client = client->client);
        (void)fgi_ignore(&client->plugin, client->plugin.api->PJRT_Client_Destroy(&args));
    }
    fgi_topology_close(client);
    if (client->has_lock)
        pthread_mutex_destroy(&client->lock);
    fgi_free(client->cache_dir);
    fgi_arena_fini(&client->arena);
    fgi_free(client);
}

void fg_client_close(fg_client *client)
{
    if (!client)
        return;
    atomic_store(&client->is_closed, true); /* before the lists are emptied for the last time */
    fgi_donated_free(client, true);
    fgi_client_release(client);
}
