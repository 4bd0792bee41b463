/* completion.c - completion scripts of shells for a program whose commands accept the keys of a
 * configuration. The script contains all words; it does not call the program while completing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/recipe.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/reserved.h"

/* A script with the name of the program in place of each '~'. */
typedef struct script {
    fgi_buf *out;
    const char *program;
    const fg_recipe_command *commands;
    size_t count;
} script;

static void put(const script *s, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '~')
            fgi_buf_puts(s->out, s->program);
        else
            fgi_buf_putc(s->out, *text);
}

/* The literal words of "a|b|FILE", separated by spaces. */
static void put_choices(const script *s, const char *choices)
{
    while (*choices != '\0') {
        const size_t size = strcspn(choices, "|");
        if (*choices < 'A' || *choices > 'Z')
            fgi_buf_printf(s->out, "%.*s ", (int)size, choices);
        choices += size + (choices[size] == '|');
    }
}

static bool has_choices(const fg_recipe_option *o)
{
    return o->argument != NULL && strchr(o->argument, '|') != NULL;
}

static bool is_next_key(size_t i, fg_recipe_key *out)
{
    return fg_recipe_key_at(i, out, NULL) == FG_OK;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void put_bash_case(const script *s, const char *name, const char *choices)
{
    fgi_buf_printf(s->out, "    --%s) echo \"", name);
    put_choices(s, choices);
    fgi_buf_puts(s->out, "\" ;;\n");
}

static void put_bash_values(const script *s)
{
    fg_recipe_key key;
    put(s, "_~_values() {\n    case \"$1\" in\n");
    for (size_t i = 0; is_next_key(i, &key); i++)
        if (key.words[0] != '\0')
            put_bash_case(s, key.path, key.words);
    for (size_t c = 0; c < s->count; c++)
        for (size_t i = 0; i < s->commands[c].option_count; i++)
            if (has_choices(&s->commands[c].options[i]))
                put_bash_case(s, s->commands[c].options[i].name,
                              s->commands[c].options[i].argument);
    put(s, "    esac\n}\n");
}

/* All options of each command as words, with "=" after those that require a value. */
static void put_bash_words(const script *s)
{
    put(s, "_~_words() {\n    case \"$1\" in\n");
    for (const fg_recipe_command *c = s->commands; c < s->commands + s->count; c++) {
        fgi_buf_printf(s->out, "    %s) echo \"", c->name);
        for (const fg_recipe_option *o = c->options; o < c->options + c->option_count; o++)
            fgi_buf_printf(s->out, "--%s%s ", o->name,
                           o->argument != NULL && !o->is_optional ? "=" : "");
        put(s, c->takes_config ? "--help $_~_keys\" ;;\n" : "--help\" ;;\n");
    }
    put(s, "    esac\n}\n");
}

static void put_bash(const script *s)
{
    fg_recipe_key key;
    put(s, "# bash completion for ~; use: source <(~ completion bash)\n_~_keys=\"");
    for (size_t i = 0; is_next_key(i, &key); i++)
        fgi_buf_printf(s->out, "%s--%s=", i > 0 ? "\n" : "", key.path);
    put(s, "\"\n_~_commands=\"");
    for (size_t c = 0; c < s->count; c++)
        fgi_buf_printf(s->out, "%s ", s->commands[c].name);
    put(s, "--help --version\"\n");
    put_bash_words(s);
    put_bash_values(s);
    put(s,
        "_~() {\n"
        "    local line=\"${COMP_LINE:0:COMP_POINT}\" words word key\n"
        "    read -r -a words <<< \"$line\"\n"
        "    word=\"${words[${#words[@]}-1]}\"\n"
        "    [[ \"$line\" == *' ' ]] && word=''\n"
        "    COMPREPLY=()\n"
        "    if [[ ${#words[@]} -le 1 || ( ${#words[@]} -eq 2 && -n \"$word\" ) ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$_~_commands\" -- \"$word\"))\n"
        "    elif [[ \"$word\" == --*=* ]]; then\n"
        "        key=\"${word%%=*}\"\n"
        "        COMPREPLY=($(compgen -W \"$(_~_values \"$key\")\" -- \"${word#*=}\"))\n"
        "        [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- \"${word#*=}\"))\n"
        "    elif [[ \"$word\" == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$(_~_words \"${words[1]}\")\" -- \"$word\"))\n"
        "        [[ ${#COMPREPLY[@]} -eq 1 && \"${COMPREPLY[0]}\" == *= ]] && compopt -o nospace\n"
        "    else\n"
        "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "    fi\n"
        "}\n"
        "complete -o filenames -F _~ ~\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Help inside '...[...]': no brackets, colons or quotes. */
static void put_zsh_text(const script *s, const char *text)
{
    for (; *text != '\0'; text++)
        fgi_buf_putc(s->out, (char)(strchr("[]:'`\"$\\", *text) != NULL ? ' ' : *text));
}

/* choices: NULL: no value; without '|': a file */
static void put_zsh_option(const script *s, const char *name, const char *equals, const char *help,
                           const char *choices, bool has_words)
{
    fgi_buf_printf(s->out, "        '--%s%s[", name, equals);
    put_zsh_text(s, help);
    fgi_buf_puts(s->out, "]");
    if (has_words) {
        fgi_buf_puts(s->out, ":value:(");
        put_choices(s, choices);
        fgi_buf_puts(s->out, ")' \\\n");
    } else {
        fgi_buf_puts(s->out, choices == NULL ? "' \\\n" : ":value:_files' \\\n");
    }
}

static void put_zsh_command(const script *s, const fg_recipe_command *c)
{
    fgi_buf_printf(s->out, "    %s) _arguments \\\n", c->name);
    for (const fg_recipe_option *o = c->options; o < c->options + c->option_count; o++)
        put_zsh_option(s, o->name,
                       o->argument == NULL ? ""
                       : o->is_optional    ? "=-"
                                           : "=",
                       o->help, o->argument, has_choices(o));
    put(s, c->takes_config ? "        $keys \\\n" : "");
    put(s, "        '--help[show the help]' '*:file:_files' ;;\n");
}

static void put_zsh(const script *s)
{
    fg_recipe_key key;
    put(s, "#compdef ~\n"
           "# zsh completion for ~; put it as _~ into a folder of $fpath, or\n"
           "# use: source <(~ completion zsh)\n"
           "_~() {\n"
           "    local -a commands keys\n    keys=(\n");
    for (size_t i = 0; is_next_key(i, &key); i++)
        put_zsh_option(s, key.path, "=", key.help, key.words, key.words[0] != '\0');
    put(s, "    )\n    commands=(\n");
    for (const fg_recipe_command *c = s->commands; c < s->commands + s->count; c++) {
        fgi_buf_printf(s->out, "        '%s:", c->name);
        put_zsh_text(s, c->summary);
        fgi_buf_puts(s->out, "'\n");
    }
    put(s, "    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=${words[2]}\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $command in\n");
    for (size_t c = 0; c < s->count; c++)
        put_zsh_command(s, &s->commands[c]);
    put(s, "    esac\n}\ncompdef _~ ~\n");
}

static fg_status check_commands(const fg_recipe_command *commands, size_t count, fg_error *err)
{
    for (const fg_recipe_command *c = commands; c < commands + count; c++) {
        FGI_TRY_RESERVED(fg_recipe_command, c, err);
        for (const fg_recipe_option *o = c->options; o < c->options + c->option_count; o++)
            FGI_TRY_RESERVED(fg_recipe_option, o, err);
    }
    return FG_OK;
}

fg_status fg_recipe_completion(const char *program, const fg_recipe_command *commands, size_t count,
                               const char *shell, char **out, fg_error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    fgi_buf text = {0};
    const script s = {&text, program, commands, count};
    *out = NULL;
    FGI_TRY(check_commands(commands, count, err));
    if (*program == '\0' || program[strspn(program, allowed)] != '\0')
        return fgi_fail(err, FG_EINVAL, "program '%s': expected a name of letters, digits and '_'",
                        program);
    if (strcmp(shell, "bash") == 0)
        put_bash(&s);
    else if (strcmp(shell, "zsh") == 0)
        put_zsh(&s);
    else
        return fgi_fail(err, FG_EINVAL, "unknown shell '%s': expected bash or zsh", shell);
    const fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        *out = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    return status;
}
