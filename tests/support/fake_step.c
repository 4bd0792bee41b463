/* fake_step.c - a client of the fake plugin with one program, for the tests of src/pjrt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake_step.h"

fake_control fake_plugin;

fg_client *fake_step_client(int devices)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .plugin_path = FAKE_PATH,
                                               .cpu_devices = devices,
                                               .cache_dir = ""},
                          &client, &err));
    return client;
}

fake_step fake_step_begin(int devices)
{
    fg_error err = {0};
    fake_step f = {.client = fake_step_client(devices)};
    fgt_ok(fgi_compile(f.client, fake_step_text, strlen(fake_step_text), NULL, 0,
                       &(fgi_compile_options){.device_count = devices}, &f.step, &err));
    fgt_ok(fg_array_create(f.client, &vec4, numbers, &f.args[0], &err));
    fgt_ok(fg_array_create(f.client, &mat22, numbers, &f.args[1], &err));
    return f;
}

void fake_step_end(fake_step *f)
{
    fg_array_release(f->args[0]);
    fg_array_release(f->args[1]);
    fgi_executable_destroy(f->step);
    fg_client_close(f->client);
}

int fake_nothing_is_alive(void **state)
{
    (void)state;
    static const char *const counters[] = {"clients", "buffers", "events",  "states",
                                           "errors",  "bytes",   "programs"};
    int alive = fgi_alloc_live() != 0;
    if (alive)
        print_error("%ld blocks alive\n", fgi_alloc_live());
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        if (fake_plugin.get(counters[i]) != 0) {
            print_error("%ld %s alive\n", fake_plugin.get(counters[i]), counters[i]);
            alive = 1;
        }
    }
    fake_plugin.reset();
    return alive;
}
