/* completion.c - shell completion, derived from the tables. The printed script contains all words;
 * it does not call the program while completing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* The literal words of "a|b|FILE", separated by spaces. */
static void print_choices(FILE *out, const char *choices)
{
    while (*choices != '\0') {
        const size_t size = strcspn(choices, "|");
        if (*choices < 'A' || *choices > 'Z')
            (void)fprintf(out, "%.*s ", (int)size, choices);
        choices += size + (choices[size] == '|');
    }
}

static bool has_values(const fg_recipe_key *key) { return key->words[0] != '\0'; }

static bool has_choices(const cli_option *o)
{
    return o->argument != NULL && strchr(o->argument, '|') != NULL;
}

/* All options of a command as words, with "=" after those that require a value. */
static void print_option_words(FILE *out, const cli_command *command)
{
    for (const cli_option *o = command->options; o != NULL && o->kind != CLI_KIND_END; o++)
        (void)fprintf(out, "--%s%s ", o->name, o->kind == CLI_KIND_TEXT ? "=" : "");
    (void)fputs("--help", out);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void print_bash_values(FILE *out)
{
    (void)fputs("_fulgurite_values() {\n    case \"$1\" in\n", out);
    fg_recipe_key key;
    for (size_t i = 0; fg_recipe_key_at(i, &key, NULL) == FG_OK; i++) {
        if (!has_values(&key))
            continue;
        (void)fprintf(out, "    --%s) echo \"", key.path);
        print_choices(out, key.words);
        (void)fputs("\" ;;\n", out);
    }
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        for (const cli_option *o = (*c)->options; o != NULL && o->kind != CLI_KIND_END; o++)
            if (has_choices(o)) {
                (void)fprintf(out, "    --%s) echo \"", o->name);
                print_choices(out, o->argument);
                (void)fputs("\" ;;\n", out);
            }
    (void)fputs("    esac\n}\n", out);
}

static void print_bash_words(FILE *out)
{
    (void)fputs("_fulgurite_words() {\n    case \"$1\" in\n", out);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)fprintf(out, "    %s) echo \"", (*c)->name);
        print_option_words(out, *c);
        (void)fprintf(out, "%s\" ;;\n", (*c)->takes_config ? " $_fulgurite_keys" : "");
    }
    (void)fputs("    esac\n}\n", out);
}

static void print_bash(FILE *out)
{
    (void)fputs("# bash completion for fulgurite; use: source <(fulgurite completion bash)\n"
                "_fulgurite_keys=\"",
                out);
    fg_recipe_key key;
    for (size_t i = 0; fg_recipe_key_at(i, &key, NULL) == FG_OK; i++)
        (void)fprintf(out, "%s--%s=", i > 0 ? "\n" : "", key.path);
    (void)fputs("\"\n_fulgurite_commands=\"", out);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        (void)fprintf(out, "%s ", (*c)->name);
    (void)fputs("--help --version\"\n", out);
    print_bash_words(out);
    print_bash_values(out);
    (void)fputs(
        "_fulgurite() {\n"
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
        "complete -o filenames -F _fulgurite fulgurite\n",
        out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Help inside '...[...]': no brackets, colons or quotes. */
static void print_zsh_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        (void)fputc(strchr("[]:'`\"$\\", *text) != NULL ? ' ' : *text, out);
}

static void print_zsh_values(FILE *out, const char *choices)
{
    (void)fputs(":value:(", out);
    print_choices(out, choices);
    (void)fputs(")' \\\n", out);
}

static void print_zsh_option(FILE *out, const cli_option *o)
{
    (void)fprintf(out, "        '--%s%s[", o->name,
                  o->kind == CLI_KIND_TEXT       ? "="
                  : o->kind == CLI_KIND_OPTIONAL ? "=-"
                                                 : "");
    print_zsh_text(out, o->help);
    (void)fputs("]", out);
    if (has_choices(o))
        print_zsh_values(out, o->argument);
    else
        (void)fputs(o->kind == CLI_KIND_FLAG ? "' \\\n" : ":value:_files' \\\n", out);
}

static void print_zsh_key(FILE *out, const fg_recipe_key *key)
{
    (void)fprintf(out, "        '--%s=[", key->path);
    print_zsh_text(out, key->help);
    (void)fputs("]", out);
    if (!has_values(key)) {
        (void)fputs(":value:_files' \\\n", out);
        return;
    }
    print_zsh_values(out, key->words);
}

static void print_zsh_command(FILE *out, const cli_command *command)
{
    (void)fprintf(out, "    %s) _arguments \\\n", command->name);
    for (const cli_option *o = command->options; o != NULL && o->kind != CLI_KIND_END; o++)
        print_zsh_option(out, o);
    if (command->takes_config)
        (void)fputs("        $keys \\\n", out);
    (void)fputs("        '--help[show the help]' '*:file:_files' ;;\n", out);
}

static void print_zsh(FILE *out)
{
    (void)fputs("#compdef fulgurite\n"
                "# zsh completion for fulgurite; put it as _fulgurite into a folder of $fpath, or\n"
                "# use: source <(fulgurite completion zsh)\n"
                "_fulgurite() {\n"
                "    local -a commands keys\n    keys=(\n",
                out);
    fg_recipe_key key;
    for (size_t i = 0; fg_recipe_key_at(i, &key, NULL) == FG_OK; i++)
        print_zsh_key(out, &key);
    (void)fputs("    )\n    commands=(\n", out);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)fprintf(out, "        '%s:", (*c)->name);
        print_zsh_text(out, (*c)->summary);
        (void)fputs("'\n", out);
    }
    (void)fputs("    )\n"
                "    if (( CURRENT == 2 )); then\n"
                "        _describe command commands\n"
                "        return\n"
                "    fi\n"
                "    local command=${words[2]}\n"
                "    shift words\n"
                "    (( CURRENT-- ))\n"
                "    case $command in\n",
                out);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        print_zsh_command(out, *c);
    (void)fputs("    esac\n}\ncompdef _fulgurite fulgurite\n", out);
}

static bool print_completion(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else
        return false;
    return true;
}

static int run(const cli_call *call)
{
    if (!print_completion(stdout, call->args[0]))
        return cli_complain(CLI_USAGE, "completion", "unknown shell '%s': expected bash or zsh",
                            call->args[0]);
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
