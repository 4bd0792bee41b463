/* options.c - parses a command line by a command's table.
 *
 * Long options are --name, --name=TEXT or --name TEXT; letters may be combined (-nq), with their
 * text attached or separate. If a command takes a configuration, each configuration key is also an
 * option, which is passed on as an override without parsing it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/text.h"
#include "key_help.h"
#include "option/option.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct parser {
    const cli_command *command;
    const char **argv;
    int argc, next; /* argv[next] is looked at next */
    cli_call *out;
    int status; /* of the program, once there is nothing to run */
} parser;

static const cli_option help_option = CLI_FLAG('h', "help", NULL, "show this help");

/* There is nothing to run; always false. */
static bool end(parser *p, int status)
{
    p->status = status;
    return false;
}

/* Prints an error with a reference to the help; always returns false. */
static bool refuse(parser *p, const char *what, const char *dashes, const char *word,
                   const char *hint)
{
    return end(p, cli_complain(CLI_USAGE, p->command->name,
                               "%s '%s%s'%s%s%s (see fulgurite %s --help)", what, dashes, word,
                               hint != NULL ? ": did you mean '--" : "", hint != NULL ? hint : "",
                               hint != NULL ? "'?" : "", p->command->name));
}

/* Of an option or a key. */
static bool usage(parser *p, const char *what, const char *name, const char *hint)
{
    return refuse(p, what, "--", name, hint);
}

const cli_option *cli_option_at(const cli_command *command, size_t index)
{
    const cli_option *const tables[] = {command->options, cli_common};
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o != NULL && o->kind != CLI_KIND_END; o++)
            if (index-- == 0)
                return o;
    return NULL;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t size)
{
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++)
        if (strncmp(o->name, name, size) == 0 && o->name[size] == '\0')
            return o;
    return strncmp("help", name, size) == 0 && size == 4 ? &help_option : NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++)
        if (o->letter == letter)
            return o;
    return letter == 'h' ? &help_option : NULL;
}

/* The nearest name among the options, or of a key if the command takes keys; NULL: none. */
static const char *nearest_option(const cli_command *command, const char *name)
{
    static const char *names[72] = {"help"};
    const cli_option *o;
    size_t count = 1;
    for (; count < sizeof names / sizeof *names && (o = cli_option_at(command, count - 1)); count++)
        names[count] = o->name;
    const char *dot = command->takes_config ? strrchr(name, '.') : NULL;
    const char *key = command->takes_config ? key_suggest(name) : NULL;
    const char *option = fgi_nearest(dot != NULL ? dot + 1 : name, names, count);
    return option == NULL || (dot != NULL && key != NULL) ? key : option;
}

/* A copy of a word of a list of choices. It lives as long as the program; equal words are stored
 * once. */
static const char *word_of(const char *list, size_t size)
{
    static char *words[64];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i] == NULL)
            words[i] = cli_strndup(list, size);
        if (strncmp(words[i], list, size) == 0 && words[i][size] == '\0')
            return words[i];
    }
    return NULL;
}

/* The choice in "a|b|c" that equals `text`, in any case; NULL: none. */
static const char *choice_of(const char *choices, const char *text)
{
    for (const char *at = choices; *at != '\0';) {
        const size_t size = strcspn(at, "|");
        if (strlen(text) == size && strncasecmp(at, text, size) == 0)
            return word_of(at, size);
        at += size + (at[size] == '|');
    }
    return NULL;
}

/* "best|last" accepts only these; "best|last|PATH" accepts any text. */
static bool is_closed(const char *argument)
{
    if (strchr(argument, '|') == NULL)
        return false;
    for (; *argument != '\0'; argument++)
        if (*argument >= 'A' && *argument <= 'Z')
            return false;
    return true;
}

static bool set_text(parser *p, const cli_option *o, const char *text)
{
    const char *choice = text;
    if (is_closed(o->argument) && *text != '\0')
        choice = choice_of(o->argument, text);
    if (choice == NULL)
        return end(p, cli_complain(CLI_USAGE, p->command->name, "--%s is '%s': expected %s",
                                   o->name, text, o->argument));
    if (o->kind != CLI_KIND_LIST) {
        *(const char **)o->value = choice;
        return true;
    }
    cli_list *list = o->value;
    if (list->count == CLI_MAX_LIST)
        return usage(p, "too many of option", o->name, NULL);
    list->at[list->count++] = choice;
    return true;
}

/* Checks a number like an option of a configuration. */
static bool set_number(parser *p, const cli_option *o, const char *text, void *value)
{
    char name[64];
    fg_error err = {0};
    fg_option_values *values = NULL;
    void *number = NULL;
    const char *example = o->alone != NULL ? o->alone : "1";
    const fg_option row = {
        .name = name, .kind = o->number, .range = o->range, .example = example, .help = o->help};
    const fg_entry entry = {
        .name = name, .options = &row, .option_count = 1, .size = sizeof(int64_t)};
    const fg_option_text item = {.text = text};
    (void)snprintf(name, sizeof name, "--%s", o->name);
    fg_status status = fg_option_values_create(NULL, &row, 1, &values, &err);
    if (status == FG_OK)
        status = fg_option_set_items(values, name, &(fg_option_items){&item, 1, NULL}, &err);
    if (status == FG_OK)
        status = fgi_row_create(&entry, values, &number, &err);
    if (status == FG_OK)
        memcpy(value, number, sizeof(int64_t)); /* or of a double */
    fgi_free(number);
    fg_option_values_destroy(values);
    return status == FG_OK || end(p, cli_complain(CLI_USAGE, p->command->name, "%s", err.message));
}

/* Appends the integers of "1,2,3". */
static bool add_ints(parser *p, const cli_option *o, const char *text)
{
    char *copy = cli_strdup(text), *rest = copy;
    cli_ints *list = o->value;
    bool is_good = true;
    for (; is_good && rest != NULL; list->count += is_good)
        is_good = list->count < CLI_MAX_LIST
                      ? set_number(p, o, strsep(&rest, ","), &list->at[list->count])
                      : usage(p, "more than 32 values are given for option", o->name, NULL);
    free(copy);
    return is_good;
}

static bool show_help(parser *p)
{
    cli_print_help(stdout, p->command);
    return end(p, CLI_DONE);
}

/* Applies an option whose attached text is `text`; NULL: the next word, if the option requires a
 * text. */
static bool apply(parser *p, const cli_option *o, const char *text)
{
    if (o == &help_option)
        return show_help(p);
    if (o->kind == CLI_KIND_FLAG && text != NULL)
        return usage(p, "no value is expected for option", o->name, NULL);
    if (o->kind == CLI_KIND_FLAG) {
        *(bool *)o->value = true;
        return true;
    }
    text = text != NULL ? text : o->alone;
    if (text == NULL && p->next == p->argc)
        return usage(p, "a value is missing for option", o->name, NULL);
    text = text != NULL ? text : p->argv[p->next++];
    if (o->kind == CLI_KIND_INTS)
        return add_ints(p, o, text);
    return o->kind == CLI_KIND_NUMBER ? set_number(p, o, text, o->value) : set_text(p, o, text);
}

/* Whether the next word is the value of a boolean key; "--KEY" alone means true. */
static bool has_truth(const parser *p)
{
    static const char *const words[] = {"true", "false", "yes", "no",  "on",
                                        "off",  "1",     "0",   "null"};
    for (size_t i = 0; p->next < p->argc && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(p->argv[p->next], words[i]) == 0)
            return true;
    return false;
}

/* --a.b=value, or --a.b value, which is then joined; that lives as long as the program. */
static bool take_override(parser *p, const char *word, const char *equals)
{
    static char *joined[CLI_MAX_OVERRIDES];
    const int count = p->out->override_count;
    if (count == CLI_MAX_OVERRIDES)
        return usage(p, "too many keys before", word, NULL);
    if (equals == NULL) {
        const bool is_alone =
            fgi_config_find(NULL, word)->option->kind == FG_OPTION_BOOL && !has_truth(p);
        if (!is_alone && p->next == p->argc)
            return usage(p, "a value is missing for key", word, NULL);
        free(joined[count]);
        joined[count] = cli_printf("%s=%s", word, is_alone ? "true" : p->argv[p->next++]);
        word = joined[count];
    }
    p->out->overrides[p->out->override_count++] = word;
    return true;
}

static bool refuse_unknown(parser *p, const char *name)
{
    const char *near = nearest_option(p->command, name);
    if (near == NULL || find_long(p->command, near, strlen(near)) != NULL ||
        fgi_config_find(NULL, near) != NULL)
        return usage(p, "unknown option", name, near);
    return end(p, cli_complain(CLI_USAGE, p->command->name,
                               "unknown option '--%s': a key of the section %s is set with "
                               "--%s.KEY=VALUE (see fulgurite help config %s)",
                               name, near, near, near));
}

static bool parse_long(parser *p, const char *word)
{
    char name[128];
    const char *equals = strchr(word, '=');
    const size_t size = equals != NULL ? (size_t)(equals - word) : strlen(word);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(size < 127 ? size : 127), word);
    const cli_option *o = find_long(p->command, word, size);
    if (o != NULL)
        return apply(p, o, equals != NULL ? equals + 1 : NULL);
    if (p->command->takes_config && fgi_config_find(NULL, name) != NULL)
        return take_override(p, word, equals);
    return refuse_unknown(p, name);
}

/* The key of "a.b=value", which was probably meant as an option; NULL: none. */
static const char *key_of(const parser *p, const char *word)
{
    char name[128];
    const size_t size = strcspn(word, "=");
    if (!p->command->takes_config || word[size] == '\0')
        return NULL;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(size < 127 ? size : 127), word);
    return fgi_config_find(NULL, name) != NULL ? word : NULL;
}

static bool parse_letters(parser *p, const char *word)
{
    for (const char *at = word; *at != '\0'; at++) {
        const cli_option *o = find_letter(p->command, *at);
        if (o == NULL && key_of(p, word) != NULL)
            return refuse(p, "unknown option", "-", word, word);
        if (o == NULL)
            return refuse(p, "unknown option", "-", (const char[]){*at, '\0'}, NULL);
        if (o->kind != CLI_KIND_FLAG && o->alone == NULL)
            return apply(p, o, at[1] != '\0' ? at + 1 : NULL);
        if (!apply(p, o, NULL))
            return false;
    }
    return true;
}

static bool check_count(parser *p)
{
    const cli_command *c = p->command;
    if (p->out->count >= c->min_args && p->out->count <= c->max_args)
        return true;
    if (p->out->count > c->max_args)
        return refuse(p, "unexpected argument", "", p->out->args[c->max_args], NULL);
    return end(p, cli_complain(CLI_USAGE, c->name, "expected %s (see fulgurite %s --help)",
                               c->arguments, c->name));
}

/* "~/x", "--out=~/x" and "-o~/x" with the home folder in place of "~", which the shell only does
 * for the first; other words as they are. The copies live as long as the program. */
static bool expand_home(parser *p)
{
    static char *kept[2 * CLI_MAX_OVERRIDES];
    static size_t count;
    for (int i = p->next; i < p->argc; i++) {
        fg_error err = {0};
        char *path = NULL;
        const char *word = p->argv[i], *equals = strchr(word, '=');
        const bool is_long = strncmp(word, "--", 2) == 0;
        const bool is_letter = !is_long && word[0] == '-' && word[1] != '\0';
        const char *value = is_long && equals != NULL ? equals + 1 : is_letter ? word + 2 : word;
        if (strncmp(value, "~/", 2) != 0 || count == sizeof kept / sizeof kept[0])
            continue;
        if (fg_path_expand(value, &path, &err) != FG_OK)
            return end(p, cli_complain(CLI_USAGE, p->command->name, "%s", err.message));
        kept[count] = cli_printf("%.*s%s", (int)(value - word), word, path);
        p->argv[i] = kept[count++];
        fg_free(path);
    }
    return true;
}

/* Of any message, so it is applied before all others. */
static bool is_color(const char *word)
{
    return strncmp(word, "--color=", strlen("--color=")) == 0;
}

bool cli_parse(const cli_command *command, int argc, const char **argv, cli_call *out,
               int *out_status)
{
    parser p = {.command = command, .argv = argv, .argc = argc, .next = 1, .out = out};
    bool is_good = expand_home(&p), has_ended = false;
    *out = (cli_call){.command = command->name, .args = argv + 1};
    for (int i = 1; is_good && i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_color(argv[i]))
            is_good = parse_long(&p, argv[i] + 2);
    while (is_good && p.next < argc) {
        const char *word = argv[p.next++];
        if (!has_ended && strcmp(word, "--") == 0)
            has_ended = true;
        else if (!has_ended && strncmp(word, "--", 2) == 0)
            is_good = is_color(word) || parse_long(&p, word + 2);
        else if (!has_ended && word[0] == '-' && word[1] != '\0')
            is_good = parse_letters(&p, word + 1);
        else if (key_of(&p, word) != NULL && access(word, F_OK) != 0)
            is_good = refuse(&p, "unexpected argument", "", word, word);
        else
            argv[1 + out->count++] = word; /* after the arguments that are already read */
    }
    is_good = is_good && check_count(&p);
    *out_status = p.status;
    return is_good;
}
