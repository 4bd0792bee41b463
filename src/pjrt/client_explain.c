/* client_explain.c - explains why a requested accelerator is not available: what was found, why it
 * cannot be used, and which command to run. It never falls back to another accelerator.
 *
 * The machine is a parameter, so that a test can simulate one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host/tpu.h"
#include "pjrt/plugin.h"

static const char elsewhere[] = "\nuse accelerator=cpu or accelerator=auto to train without one; "
                                "`fulgurite devices` lists what is available";

static bool is_tpu(const char *accelerator) { return strcmp(accelerator, "tpu") == 0; }

static const char *what_to_type(const char *accelerator)
{
    if (strcmp(accelerator, "cpu") == 0)
        return "fulgurite setup cpu";
    return is_tpu(accelerator) ? "fulgurite setup tpu" : "fulgurite setup cuda13";
}

/* "this machine has 4 TPU chips of v5e, but " or "this machine has no visible NVIDIA GPU, and ".
 * True if the machine has the accelerator. */
static bool describe_machine(const fgi_host *host, const char *accelerator, char *out, size_t size)
{
    fgi_tpu_scan scan;
    out[0] = '\0';
    if (strcmp(accelerator, "cpu") == 0)
        return true;
    const bool is_there = fgi_machine_has(host && host->root ? host->root : "", accelerator);
    if (!is_tpu(accelerator)) {
        (void)snprintf(out, size,
                       is_there ? "this machine has an NVIDIA GPU, but "
                                : "this machine has no visible NVIDIA GPU, and ");
        return is_there;
    }
    fgi_host_tpu_scan(host, &scan);
    if (scan.chips > 0)
        (void)snprintf(out, size, "this machine has %d TPU chip%s%s%s, but ", scan.chips,
                       scan.chips > 1 ? "s" : "", scan.generation ? " of " : "",
                       scan.generation ? scan.generation : "");
    else
        (void)snprintf(out, size, "this machine has no visible TPU, and ");
    return scan.chips > 0;
}

/* "\n  python: /usr: /usr/lib/...": one path per source, as many as fit. */
static void list_places(const fg_plugin_candidate *places, size_t count, char *out, size_t size)
{
    char last[48] = "";
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (strcmp(places[i].source, last) == 0 && i + 1 < count)
            continue;
        (void)snprintf(last, sizeof last, "%s", places[i].source);
        const int n =
            snprintf(out + used, size - used, "\n  %s: %s", places[i].source, places[i].path);
        if (n < 0 || (size_t)n >= size - used) {
            out[used] = '\0';
            return;
        }
        used += (size_t)n;
    }
}

fg_status fgi_explain_missing(const fgi_host *host, const char *accelerator,
                              const fg_plugin_candidate *places, size_t count, fg_error *err)
{
    char machine[100], where[240];
    const bool is_there = describe_machine(host, accelerator, machine, sizeof machine);
    list_places(places, count, where, sizeof where);
    return fgi_fail(err, FG_ENOTFOUND, "%sno PJRT plugin for '%s' is installed%s%s%s\nlooked in%s",
                    machine, accelerator, is_there ? "; type: " : "",
                    is_there ? what_to_type(accelerator) : "", is_there ? "" : elsewhere, where);
}

fg_status fgi_explain_no_compiler(const char *accelerator, const fg_plugin_candidate *places,
                                  size_t count, fg_error *err)
{
    char where[240];
    list_places(places, count, where, sizeof where);
    return fgi_fail(
        err, FG_ENOTFOUND, "the compiler for %s is not installed; `%s` downloads it\nlooked in%s",
        is_tpu(accelerator) ? "TPUs (libtpu)" : "NVIDIA GPUs (XLA's CUDA plugin)",
        is_tpu(accelerator) ? "fulgurite setup tpu" : "fulgurite setup --compile-only cuda13",
        where);
}

/* A GPU can be shared: a process that uses it need not be the reason. */
static fg_status explain_gpu(const fgi_host *host, fg_status status, fg_error *err)
{
    fgi_device_holder holder;
    const char *words = err->message;
    char text[240];
    if (!fgi_machine_has(host && host->root ? host->root : "", "cuda"))
        return fgi_fail(err, status,
                        "this machine has no visible NVIDIA GPU (no /dev/nvidiactl): %s%s", words,
                        elsewhere);
    if (!fgi_host_device_holder(host, "cuda", &holder))
        return status;
    fgi_host_holder_text(&holder, text, sizeof text);
    return fgi_fail(err, status,
                    "%s\n%s (check with `nvidia-smi` whether it has free memory and its compute "
                    "mode allows it)",
                    words, text);
}

fg_status fgi_explain_refusal(const fgi_host *host, const char *accelerator, fg_status status,
                              fg_error *err)
{
    fg_error local = {0};
    fg_error *to = err ? err : &local;
    char words[sizeof to->message], text[sizeof to->message];
    if (accelerator == NULL || strcmp(accelerator, "cpu") == 0 || status == FG_ENOMEM)
        return status;
    if (!is_tpu(accelerator))
        return explain_gpu(host, status, to);
    (void)snprintf(words, sizeof words, "%s", to->message);
    fgi_host_tpu_explain(host, words, text, sizeof text);
    const bool has_none = strncmp(text, "this machine has no visible TPU", 25) == 0;
    return fgi_fail(to, status, "%s%s", text, has_none ? elsewhere : "");
}

fg_status fgi_check_cores(const char *kind, int chosen, int all, fg_error *err)
{
    static const char *const paired[] = {"TPU v2", "TPU v3"};
    bool is_paired = false;
    for (int i = 0; i < 2; i++)
        is_paired |= strncmp(kind, paired[i], strlen(paired[i])) == 0;
    if (!is_paired || chosen == 1 || chosen == all)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%d of %d cores were requested, but %s can use only one of them or all\nuse "
                    "devices=%d, devices=1, or devices=[i] for core i, 0 to %d",
                    chosen, all, kind, all, all - 1);
}
