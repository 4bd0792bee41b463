/* help.c - the help and the man pages, derived from the tables of commands, options and keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "key_help.h"

enum { COLUMNS = 100 };

static const char summary[] = "train neural networks through PJRT plugins";
static const char exit_help[] =
    "0 success; 1 failure; 2 invalid command line or configuration; 3 no progress for "
    "trainer.watchdog_s; 143 stopped by a signal, state saved.";

const char *cli_option_form(const cli_option *option)
{
    static char form[128];
    const char *argument = option->argument != NULL ? option->argument : "TEXT";
    if (option->kind == CLI_KIND_FLAG)
        (void)snprintf(form, sizeof(form), "%s", option->name);
    else
        (void)snprintf(form, sizeof(form), option->alone != NULL ? "%s[=%s]" : "%s=%s",
                       option->name, argument);
    return form;
}

static void print_usage(FILE *out, const cli_command *command)
{
    (void)fprintf(out, "fulgurite %s%s%s%s%s", command->name,
                  command->options != NULL ? " [OPTION]..." : "", *command->arguments ? " " : "",
                  command->arguments, command->takes_config ? " [--KEY=VALUE]..." : "");
}

/* "other names: train, training" after `lead`, or nothing. */
static void print_aliases(FILE *out, const cli_command *command, const char *lead)
{
    const char *alias;
    for (size_t i = 0; (alias = cli_command_alias(command, i)) != NULL; i++)
        (void)fprintf(out, "%s%s%s", i == 0 ? lead : ", ", i == 0 ? "other names: " : "", alias);
}

/* ---- --help ---------------------------------------------------------------------------------- */

static void print_option(FILE *out, char letter, const char *form, const char *help)
{
    char left[160];
    (void)snprintf(left, sizeof(left), "  %c%c%s --%s", letter != 0 ? '-' : ' ',
                   letter != 0 ? letter : ' ', letter != 0 ? "," : " ", form);
    (void)fprintf(out, strlen(left) > 30 ? "%s\n%30s  %s\n" : "%-30s%s  %s\n", left, "", help);
}

static void print_program_help(FILE *out)
{
    (void)fprintf(out, "fulgurite: %s\n\nusage: fulgurite COMMAND [ARGUMENT]...\n\n", summary);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        (void)fprintf(out, "  %-12s %-26s %s\n", (*c)->name, (*c)->arguments, (*c)->summary);
    (void)fprintf(out,
                  "\n  train, eval and infer are aliases of fit, validate and predict\n"
                  "\n  fulgurite COMMAND --help     help for one command\n"
                  "  fulgurite help config        all keys of the configuration\n"
                  "  fulgurite --version\n\nexit status: %s\n",
                  exit_help);
}

void cli_print_help(FILE *out, const cli_command *command)
{
    if (command == NULL) {
        print_program_help(out);
        return;
    }
    (void)fputs("usage: ", out);
    print_usage(out, command);
    (void)fprintf(out, "\n\n%s", command->summary);
    print_aliases(out, command, "\n\n");
    (void)fputs("\n\n", out);
    fgi_buf text = {0};
    if (command->details != NULL) {
        fgi_buf_wrap(&text, command->details, COLUMNS, "");
        fgi_buf_puts(&text, "\n\n");
        (void)fputs(cli_need(text.data), out);
        fgi_buf_clear(&text);
    }
    for (const cli_command *const *c = command->subcommands; c != NULL && *c != NULL; c++)
        (void)fprintf(out, "  %-12s %-26s %s\n%s", (*c)->name, (*c)->arguments, (*c)->summary,
                      c[1] == NULL ? "\n" : "");
    for (const cli_option *o = command->options; o != NULL && o->kind != CLI_KIND_END; o++)
        print_option(out, o->letter, cli_option_form(o), o->help);
    if (command->takes_config)
        print_option(out, 0, "KEY=VALUE", "set a configuration key, for example --trainer.seed=1");
    for (const cli_option *o = cli_common; o->kind != CLI_KIND_END; o++)
        print_option(out, o->letter, cli_option_form(o), o->help);
    print_option(out, 'h', "help", "show this help");
    if (command->takes_config) {
        fgi_buf_puts(&text,
                     "\nconfiguration keys by section (--section.key=value); `fulgurite help "
                     "config` explains\nall of them, `fulgurite help config trainer` those "
                     "of one section:\n");
        key_help_put_names(&text);
        (void)fputs(cli_need(text.data), out);
    }
    fgi_buf_fini(&text);
}

/* ---- man pages ------------------------------------------------------------------------------- */

/* Text in roff: escapes backslashes, hyphens, and dots and quotes that would start a request. */
static void print_roff(FILE *out, const char *text)
{
    bool is_start = true;
    for (; *text != '\0'; text++) {
        if (is_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", out);
        is_start = *text == '\n';
        if (*text == '\\')
            (void)fputs("\\e", out);
        else if (*text == '-')
            (void)fputs("\\-", out);
        else if (*text == '\n' && text[1] == '\n')
            (void)fputs("\n.PP", out); /* an empty line separates paragraphs */
        else
            (void)fputc(*text, out);
    }
}

static void print_entry(FILE *out, const char *term, const char *text)
{
    (void)fputs(".TP\n.B ", out);
    print_roff(out, term);
    (void)fputc('\n', out);
    print_roff(out, text);
    (void)fputc('\n', out);
}

static void print_man_head(FILE *out, const char *name, const char *what)
{
    (void)fprintf(out, ".TH \"%s\" 1 \"\" \"fulgurite %s\" \"fulgurite\"\n.SH NAME\n", name,
                  FG_VERSION_STRING);
    print_roff(out, name);
    (void)fputs(" \\- ", out);
    print_roff(out, what);
    (void)fputs("\n.SH SYNOPSIS\n", out);
}

static void print_program_man(FILE *out)
{
    print_man_head(out, "fulgurite", summary);
    (void)fputs(".B fulgurite\nCOMMAND [ARGUMENT]...\n.SH COMMANDS\n", out);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++) {
        char term[128];
        (void)snprintf(term, sizeof(term), "%s %s", (*c)->name, (*c)->arguments);
        print_entry(out, term, (*c)->summary);
    }
    (void)fputs(".SH EXIT STATUS\n", out);
    print_roff(out, exit_help);
    (void)fputs("\n.SH SEE ALSO\n", out);
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        (void)fprintf(out, ".BR fulgurite\\-%s (1)%s\n", (*c)->name, c[1] != NULL ? "," : "");
}

static void print_keys(FILE *out)
{
    (void)fputs(".SH CONFIGURATION\n", out);
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        const char *initial = key->option->initial;
        char term[160], text[2048];
        (void)snprintf(term, sizeof(term), "--%s=VALUE", key->path);
        (void)snprintf(text, sizeof(text), "%s (%s%s%s; example: %s)", fgi_config_explain(key),
                       fgi_config_type(key), initial != NULL ? "; default " : "",
                       initial != NULL ? initial : "", key->option->example);
        print_entry(out, term, text);
    }
}

void cli_print_man(FILE *out, const cli_command *command)
{
    char name[64], term[160];
    if (command == NULL) {
        print_program_man(out);
        return;
    }
    (void)snprintf(name, sizeof(name), "fulgurite-%s", command->name);
    print_man_head(out, name, command->summary);
    print_usage(out, command);
    (void)fputs("\n.SH DESCRIPTION\n", out);
    print_roff(out, command->details != NULL ? command->details : command->summary);
    print_aliases(out, command, "\n.PP\n");
    if (command->subcommands != NULL)
        (void)fputs("\n.SH SUBCOMMANDS\n", out);
    for (const cli_command *const *c = command->subcommands; c != NULL && *c != NULL; c++) {
        (void)snprintf(term, sizeof(term), "%s %s", (*c)->name, (*c)->arguments);
        print_entry(out, term, (*c)->summary);
    }
    (void)fputs("\n.SH OPTIONS\n", out);
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        const char letter[] = {'-', o->letter, ',', ' ', '\0'};
        (void)snprintf(term, sizeof(term), "%s--%s", o->letter != 0 ? letter : "",
                       cli_option_form(o));
        print_entry(out, term, o->help);
    }
    print_entry(out, "-h, --help", "show this help");
    if (command->takes_config)
        print_keys(out);
    (void)fputs(".SH EXIT STATUS\n", out);
    print_roff(out, exit_help);
    (void)fputs("\n.SH SEE ALSO\n.BR fulgurite (1)\n", out);
}
