/* plugin_search.c - lists the paths where plugins are searched: an explicit path, the environment,
 * plugins installed by `fulgurite setup`, packages of the active Python environment and of the one
 * in which this library is installed. Folders are read; Python is never run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/reserved.h"
#include "host/tpu.h"
#include "pjrt/plugin.h"

/* Path of a plugin within a folder of Python packages. `setup` is also the folder under plugins/
 * and the name of the list of pinned versions; tools/fetch-plugin uses the same names. */
static const struct layout {
    const char *accelerator, *setup, *file;
} layouts[] = {
    {"tpu", "tpu", "libtpu/libtpu.so"},
    {"cuda", "cuda13", "jax_plugins/xla_cuda13/xla_cuda_plugin.so"},
    {"cuda", "cuda12", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
    {"cpu", "cpu", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0], PREFIXES = 6, PYTHONS = 16 };

typedef struct finder {
    const char *accelerator;
    fg_plugin_candidate *out;
    size_t capacity, count;
    char seen[PREFIXES][FGI_PATH_MAX]; /* Python prefixes already searched */
    int seen_count;
} finder;

/* A path that is too long is not searched. */
static void add(finder *f, const char *source, const char *path)
{
    if (strlen(path) >= FGI_PATH_MAX)
        return;
    if (f->count < f->capacity) {
        fg_plugin_candidate *c = &f->out[f->count];
        memset(c, 0, sizeof *c);
        snprintf(c->accelerator, sizeof c->accelerator, "%s", f->accelerator);
        snprintf(c->source, sizeof c->source, "%s", source);
        snprintf(c->path, sizeof c->path, "%s", path);
        c->exists = fgi_is_file(path);
    }
    f->count++;
}

bool fgi_home_folder(char out[FGI_PATH_MAX])
{
    const char *own = getenv("FULGURITE_HOME");
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    int n = -1;
    if (own && *own)
        n = snprintf(out, FGI_PATH_MAX, "%s", own);
    else if (data && *data)
        n = snprintf(out, FGI_PATH_MAX, "%s/fulgurite", data);
    else if (home && *home)
        n = snprintf(out, FGI_PATH_MAX, "%s/.local/share/fulgurite", home);
    return n > 0 && n < FGI_PATH_MAX;
}

/* The plugins of the accelerator below a folder of Python packages or, with `has_setup`, below
 * those of the folder that `fulgurite setup` fills. */
static void add_packages(finder *f, const char *source, const char *folder, bool has_setup)
{
    char path[2 * FGI_PATH_MAX];
    for (int i = 0; i < LAYOUTS; i++) {
        if (strcmp(layouts[i].accelerator, f->accelerator) != 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s%s%s", folder, has_setup ? layouts[i].setup : "",
                     has_setup ? "/" : "", layouts[i].file) < (int)sizeof path)
            add(f, source, path);
    }
}

static void add_setup(finder *f)
{
    char home[FGI_PATH_MAX], plugins[FGI_PATH_MAX + 16];
    if (!fgi_home_folder(home))
        return;
    snprintf(plugins, sizeof plugins, "%s/plugins", home);
    add_packages(f, "fulgurite setup", plugins, true);
}

static int newest_first(const void *a, const void *b) { return strverscmp(b, a); }

/* The names of prefix/lib/python3*, newest first; returns their number. */
static int list_pythons(const char *lib, char names[PYTHONS][32])
{
    int count = 0;
    DIR *folder = opendir(lib);
    for (const struct dirent *e; (e = fgi_folder_next(&folder)) != NULL;) {
        if (count < PYTHONS && strncmp(e->d_name, "python3", 7) == 0 &&
            strlen(e->d_name) < sizeof names[0]) {
            memset(names[count], 0, sizeof names[0]);
            memcpy(names[count++], e->d_name, strlen(e->d_name));
        }
    }
    qsort(names, (size_t)count, sizeof names[0], newest_first);
    return count;
}

/* The package folders of a Python installation. If it has none, its pattern is listed, so that a
 * user sees that it was searched. */
static void add_prefix(finder *f, const char *prefix)
{
    static const char *const kinds[] = {"site-packages", "dist-packages"};
    if (strlen(prefix) >= FGI_PATH_MAX - 64 || f->seen_count == PREFIXES)
        return;
    for (int i = 0; i < f->seen_count; i++) {
        if (strcmp(f->seen[i], prefix) == 0)
            return;
    }
    snprintf(f->seen[f->seen_count++], FGI_PATH_MAX, "%s", prefix);
    char lib[FGI_PATH_MAX], packages[2 * FGI_PATH_MAX], names[PYTHONS][32], source[48];
    snprintf(source, sizeof source, "python: %.38s", prefix);
    snprintf(lib, sizeof lib, "%s/lib", prefix);
    const int pythons = list_pythons(lib, names);
    bool any = false;
    for (int i = 0; i < pythons; i++) {
        for (int k = 0; k < 2; k++) {
            snprintf(packages, sizeof packages, "%s/%s/%s", lib, names[i], kinds[k]);
            if (fgi_is_folder(packages)) {
                add_packages(f, source, packages, false);
                any = true;
            }
        }
    }
    if (!any) {
        snprintf(packages, sizeof packages, "%s/python3*/site-packages", lib);
        add_packages(f, source, packages, false);
    }
}

/* Sets out to the parent of the folder of the first python3 on PATH. */
static bool python_prefix(char out[FGI_PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        char file[FGI_PATH_MAX + 16];
        if (n > 0 && n < FGI_PATH_MAX) {
            snprintf(file, sizeof file, "%.*s/python3", (int)n, path);
            if (fgi_is_file(file)) {
                snprintf(out, FGI_PATH_MAX, "%.*s", (int)n, path);
                char *slash = strrchr(out, '/');
                if (slash && slash != out)
                    *slash = '\0';
                return slash != NULL;
            }
        }
        path += n + (path[n] == ':');
    }
    return false;
}

/* pyenv puts small scripts named python3 on PATH; PYENV_VERSION or the first line of a file names
 * the installation that they start. Converts such a prefix into the real one. */
static void resolve_pyenv(char prefix[FGI_PATH_MAX])
{
    char path[2 * FGI_PATH_MAX], version[64] = "";
    const char *chosen = getenv("PYENV_VERSION");
    snprintf(path, sizeof path, "%s/shims/python3", prefix);
    if (!fgi_is_file(path))
        return;
    snprintf(path, sizeof path, "%s/version", prefix);
    FILE *in = chosen && *chosen ? NULL : fopen(path, "re");
    if (in) {
        if (!fgets(version, sizeof version, in))
            version[0] = '\0';
        fclose(in);
    } else if (chosen) {
        snprintf(version, sizeof version, "%s", chosen);
    }
    version[strcspn(version, ":\n")] = '\0';
    snprintf(path, sizeof path, "%s/versions/%s", prefix, version);
    if (version[0] && strlen(path) < FGI_PATH_MAX && fgi_is_folder(path))
        snprintf(prefix, FGI_PATH_MAX, "%.*s", FGI_PATH_MAX - 1, path);
}

/* A program that the shell found in PATH may only be known by its bare name. */
bool fgi_own_folder(char out[FGI_PATH_MAX])
{
    Dl_info info;
    static const char anchor = 0;
    if (dladdr(&anchor, &info) == 0 || !info.dli_fname)
        return false;
    char real[PATH_MAX];
    const char *path = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
    char *slash = realpath(path, real) ? strrchr(real, '/') : NULL;
    const bool fits = slash && slash - real < FGI_PATH_MAX;
    if (fits)
        snprintf(out, FGI_PATH_MAX, "%.*s", (int)(slash - real), real);
    return fits;
}

bool fgi_prefix_of(char folder[FGI_PATH_MAX])
{
    static const char *const ends[] = {"bin", "lib", "lib64"};
    for (int up = 0; up < 2; up++) { /* lib/x86_64-linux-gnu: the second to last component is lib */
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            return false;
        *slash = '\0';
        for (int i = 0; i < 3; i++) {
            if (strcmp(slash + 1, ends[i]) == 0)
                return true;
        }
    }
    return false;
}

/* If pip has installed this library, it has also installed the plugin that the wheel requires; the
 * environment need not be active. */
static void add_own_python(finder *f)
{
    char prefix[FGI_PATH_MAX], lib[FGI_PATH_MAX + 8], names[PYTHONS][32];
    if (!fgi_own_folder(prefix) || !fgi_prefix_of(prefix))
        return;
    snprintf(lib, sizeof lib, "%s/lib", prefix);
    if (list_pythons(lib, names) > 0)
        add_prefix(f, prefix);
}

static void add_python(finder *f)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (int i = 0; i < 2; i++) {
        const char *prefix = getenv(variables[i]);
        if (prefix && *prefix)
            add_prefix(f, prefix);
    }
    add_own_python(f);
    char prefix[FGI_PATH_MAX];
    if (!python_prefix(prefix))
        return;
    resolve_pyenv(prefix);
    add_prefix(f, prefix);
    if (strcmp(prefix, "/usr") == 0) /* where pip installs as root on Debian and Colab */
        add_prefix(f, "/usr/local");
    const char *home = getenv("HOME");
    if (home && *home && strlen(home) < FGI_PATH_MAX - 16) { /* pip install --user */
        char user[FGI_PATH_MAX];
        snprintf(user, sizeof user, "%s/.local", home);
        add_prefix(f, user);
    }
}

const char *fgi_setup_file(const char *name)
{
    for (int i = 0; i < LAYOUTS; i++) {
        if (strcmp(layouts[i].setup, name) == 0)
            return layouts[i].file;
    }
    return NULL;
}

const char *fgi_accelerator_of_file(const char *path)
{
    const char *name = fgi_after_last(path, '/');
    if (strstr(name, "tpu"))
        return "tpu";
    if (strstr(name, "cuda") || strstr(name, "gpu"))
        return "cuda";
    return strstr(name, "cpu") ? "cpu" : NULL;
}

fg_status fg_plugin_search(const fg_client_options *options, fg_plugin_candidate *out,
                           size_t capacity, size_t *out_count, fg_error *err)
{
    const char *accelerator = options ? options->accelerator : NULL;
    *out_count = 0;
    FGI_TRY_RESERVED(fg_client_options, options, err);
    bool known = false;
    for (int i = 0; i < LAYOUTS && accelerator; i++)
        known = known || strcmp(layouts[i].accelerator, accelerator) == 0;
    if (!known)
        return fgi_fail(err, FG_EINVAL, "unknown accelerator '%s': expected cpu, cuda or tpu",
                        accelerator ? accelerator : "(none)");
    finder *f = fgi_calloc(1, sizeof *f);
    if (!f)
        return fgi_no_memory(err);
    f->accelerator = accelerator;
    f->out = out;
    f->capacity = capacity;
    if (options->plugin_path && *options->plugin_path)
        add(f, "option", options->plugin_path);
    const char *variable = getenv("FULGURITE_PLUGIN");
    if (variable && *variable) {
        const char *chosen = fgi_accelerator_of_file(variable);
        if (!chosen || strcmp(chosen, accelerator) == 0)
            add(f, "FULGURITE_PLUGIN", variable);
    }
    add_setup(f);
    add_python(f);
    *out_count = f->count;
    fgi_free(f);
    return FG_OK;
}

/* ---- accelerators of the machine ------------------------------------------------------------- */

bool fgi_machine_has(const char *root, const char *accelerator)
{
    static const char *const gpu_files[] = {"dev/nvidiactl", "dev/nvidia0", "dev/dxg"};
    char path[FGI_PATH_MAX];
    struct stat st;
    if (strcmp(accelerator, "cpu") == 0)
        return true;
    if (strcmp(accelerator, "tpu") == 0)
        return fgi_host_has_tpu(&(fgi_host){.root = root});
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, gpu_files[i]);
        if (stat(path, &st) == 0)
            return true;
    }
    return false;
}
