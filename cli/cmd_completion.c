/* fulgurite completion: completion scripts of shells, derived from the tables of commands, options
 * and keys. A script contains all words; it does not call the program while completing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "key_help.h"

static void put(const char *text) { (void)fputs(text, stdout); }

/* The literal words of "a|b|FILE", separated by spaces. */
static void put_choices(const char *choices)
{
    while (*choices != '\0') {
        const size_t size = strcspn(choices, "|");
        if (*choices < 'A' || *choices > 'Z')
            (void)printf("%.*s ", (int)size, choices);
        choices += size + (choices[size] == '|');
    }
}

static bool has_choices(const cli_option *o)
{
    return o->argument != NULL && strchr(o->argument, '|') != NULL;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void put_bash_case(const char *name, const char *choices)
{
    (void)printf("    --%s) echo \"", name);
    put_choices(choices);
    put("\" ;;\n");
}

static void put_bash_values(void)
{
    const cli_option *o;
    put("_fulgurite_values() {\n    case \"$1\" in\n");
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++)
        if (*key_words(&fgi_config_table_built_in()->keys[i]) != '\0')
            put_bash_case(fgi_config_table_built_in()->keys[i].path,
                          key_words(&fgi_config_table_built_in()->keys[i]));
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        for (size_t i = 0; (o = cli_option_at(*c, i)) != NULL; i++)
            if (has_choices(o))
                put_bash_case(o->name, o->argument);
    put("    esac\n}\n");
}

/* All options of each command as words, with "=" after those that require a value. */
static void put_bash_words(void)
{
    const cli_option *o;
    put("_fulgurite_words() {\n    case \"$1\" in\n");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)printf("    %s) echo \"", (*c)->name);
        for (size_t i = 0; (o = cli_option_at(*c, i)) != NULL; i++)
            (void)printf("--%s%s ", o->name, o->argument != NULL && o->alone == NULL ? "=" : "");
        put((*c)->takes_config ? "--help $_fulgurite_keys\" ;;\n" : "--help\" ;;\n");
    }
    put("    esac\n}\n");
}

static void put_bash(void)
{
    put("# bash completion for fulgurite; use: source <(fulgurite completion bash)\n"
        "_fulgurite_keys=\"");
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++)
        (void)printf("%s--%s=", i > 0 ? "\n" : "", fgi_config_table_built_in()->keys[i].path);
    put("\"\n_fulgurite_commands=\"");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        (void)printf("%s ", (*c)->name);
    put("--help --version\"\n");
    put_bash_words();
    put_bash_values();
    put("_fulgurite() {\n"
        "    local line=\"${COMP_LINE:0:COMP_POINT}\" words word key\n"
        "    read -r -a words <<< \"$line\"\n"
        "    word=\"${words[${#words[@]}-1]}\"\n"
        "    [[ \"$line\" == *' ' ]] && word=''\n"
        "    COMPREPLY=()\n"
        "    if [[ ${#words[@]} -le 1 || ( ${#words[@]} -eq 2 && -n \"$word\" ) ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$_fulgurite_commands\" -- \"$word\"))\n"
        "    elif [[ \"$word\" == --*=* ]]; then\n"
        "        key=\"${word%%=*}\"\n"
        "        COMPREPLY=($(compgen -W \"$(_fulgurite_values \"$key\")\" -- \"${word#*=}\"))\n"
        "        [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- \"${word#*=}\"))\n"
        "    elif [[ \"$word\" == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$(_fulgurite_words \"${words[1]}\")\" -- \"$word\"))\n"
        "        [[ ${#COMPREPLY[@]} -eq 1 && \"${COMPREPLY[0]}\" == *= ]] && compopt -o nospace\n"
        "    else\n"
        "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "    fi\n"
        "}\n"
        "complete -o filenames -F _fulgurite fulgurite\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Help inside '...[...]': no brackets, colons or quotes. */
static void put_zsh_text(const char *text)
{
    for (; *text != '\0'; text++)
        (void)putchar(strchr("[]:'`\"$\\", *text) != NULL ? ' ' : *text);
}

/* choices: NULL: no value; without '|': a file */
static void put_zsh_option(const char *name, const char *equals, const char *help,
                           const char *choices, bool has_words)
{
    (void)printf("        '--%s%s[", name, equals);
    put_zsh_text(help);
    put("]");
    if (has_words) {
        put(":value:(");
        put_choices(choices);
        put(")' \\\n");
    } else {
        put(choices == NULL ? "' \\\n" : ":value:_files' \\\n");
    }
}

static void put_zsh_command(const cli_command *c)
{
    const cli_option *o;
    (void)printf("    %s) _arguments \\\n", c->name);
    for (size_t i = 0; (o = cli_option_at(c, i)) != NULL; i++)
        put_zsh_option(o->name,
                       o->argument == NULL ? ""
                       : o->alone != NULL  ? "=-"
                                           : "=",
                       o->help, o->argument, has_choices(o));
    put(c->takes_config ? "        $keys \\\n" : "");
    put("        '--help[show the help]' '*:file:_files' ;;\n");
}

static void put_zsh(void)
{
    put("#compdef fulgurite\n"
        "# zsh completion for fulgurite; put it as _fulgurite into a folder of $fpath, or\n"
        "# use: source <(fulgurite completion zsh)\n"
        "_fulgurite() {\n"
        "    local -a commands keys\n    keys=(\n");
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        put_zsh_option(key->path, "=", fgi_config_explain(key), key_words(key),
                       *key_words(key) != '\0');
    }
    put("    )\n    commands=(\n");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)printf("        '%s:", (*c)->name);
        put_zsh_text((*c)->summary);
        put("'\n");
    }
    put("    )\n"
        "    if (( CURRENT == 2 )); then\n"
        "        _describe command commands\n"
        "        return\n"
        "    fi\n"
        "    local command=${words[2]}\n"
        "    shift words\n"
        "    (( CURRENT-- ))\n"
        "    case $command in\n");
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        put_zsh_command(*c);
    put("    esac\n}\ncompdef _fulgurite fulgurite\n");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(const cli_call *call)
{
    const char *shell = call->args[0];
    if (strcmp(shell, "bash") == 0)
        put_bash();
    else if (strcmp(shell, "zsh") == 0)
        put_zsh();
    else
        return cli_complain(CLI_USAGE, "completion", "unknown shell '%s': expected bash or zsh",
                            shell);
    return CLI_DONE;
}

const cli_command cli_completion = {
    .name = "completion",
    .arguments = "bash|zsh",
    .summary = "print a shell completion script",
    .details = "To enable completion in the current shell: source <(fulgurite completion bash)",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
