/* fake_control.h - control of the fake plugin by tests: FAKE_PATH, settings and counters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_CONTROL_H
#define FAKE_CONTROL_H

#include <dlfcn.h>
#include <string.h>

#define FAKE_PATH FGT_BINARY_DIR "/fakepjrt.so"

typedef struct fake_control {
    void (*set)(const char *name, long value);
    long (*get)(const char *name);
    void (*reset)(void);
} fake_control;

/* Loads the plugin if it is not loaded. False when it is missing. */
static inline int fake_open(fake_control *out)
{
    void *library = dlopen(FAKE_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
    void *set = dlsym(library, "fake_set");
    void *get = dlsym(library, "fake_get");
    void *reset = dlsym(library, "fake_reset");
    memcpy(&out->set, &set, sizeof set);
    memcpy(&out->get, &get, sizeof get);
    memcpy(&out->reset, &reset, sizeof reset);
    return set && get && reset;
}

#endif
