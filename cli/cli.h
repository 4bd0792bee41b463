/* cli.h - the program's framework: commands, their option tables, and everything derived from these
 * tables: parsing, --help, man pages and shell completion. A command is one file cmd_NAME.c with
 * one cli_command in it; commands.c lists them.
 *
 * Results are written to standard output, progress to standard error. Exit status: CLI_DONE,
 * CLI_FAILED, CLI_USAGE, CLI_HUNG, CLI_STOPPED.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <fulgurite/option.h>
#include <fulgurite/recipe.h>

enum {
    CLI_DONE = 0,     /* success */
    CLI_FAILED = 1,   /* failure; standard error has the reason */
    CLI_USAGE = 2,    /* the command line or the configuration is wrong */
    CLI_HUNG = 3,     /* no progress of a device or the data within trainer.watchdog_s */
    CLI_STOPPED = 143 /* stopped by a signal, state saved */
};

/* ---- options --------------------------------------------------------------------------------- */

typedef enum cli_kind {
    CLI_KIND_END,
    CLI_KIND_FLAG,   /* --name            sets a bool */
    CLI_KIND_TEXT,   /* --name=TEXT       sets a const char * */
    CLI_KIND_LIST,   /* --name=TEXT       appends to a cli_list */
    CLI_KIND_NUMBER, /* --name=NUMBER     sets an int64_t or a double */
    CLI_KIND_INTS    /* --name=N,N        appends to a cli_ints */
} cli_kind;

enum { CLI_MAX_LIST = 32 };
typedef struct cli_list {
    const char *at[CLI_MAX_LIST];
    size_t count;
} cli_list;
typedef struct cli_ints {
    int64_t at[CLI_MAX_LIST];
    size_t count;
} cli_ints;

/* One row of a command's table. */
typedef struct cli_option {
    cli_kind kind;
    char letter;          /* 0: none */
    const char *name;     /* without the dashes */
    void *value;          /* bool *, const char **, cli_list *, cli_ints *, int64_t *, double * */
    const char *argument; /* "FILE" in the help; "a|b|c": only these; "a|B": any */
    const char *help;
    fg_option_kind number; /* of a NUMBER: FG_OPTION_INT, or with a double FLOAT or DURATION */
    const char *range;     /* of the numbers, as in fg_option; NULL: any */
    const char *alone;     /* the value of --name without a value; NULL: a value is required */
} cli_option;

/* clang-format off */
#define CLI_OPTION(...)                               {__VA_ARGS__, FG_OPTION_INT, NULL, NULL}
#define CLI_FLAG(letter, name, value, help)           CLI_OPTION(CLI_KIND_FLAG, letter, name, value, NULL, help)
#define CLI_TEXT(letter, name, value, argument, help) CLI_OPTION(CLI_KIND_TEXT, letter, name, value, argument, help)
#define CLI_OPTIONAL(letter, name, value, argument, help) \
    {CLI_KIND_TEXT, letter, name, value, argument, help, FG_OPTION_INT, NULL, ""}
#define CLI_LIST(letter, name, value, argument, help) CLI_OPTION(CLI_KIND_LIST, letter, name, value, argument, help)
/* kind: INT, whose value is an int64_t, FLOAT or DURATION */
#define CLI_NUMBER(letter, name, value, kind, range, argument, help) \
    {CLI_KIND_NUMBER, letter, name, value, argument, help, FG_OPTION_##kind, range, NULL}
#define CLI_INTS(letter, name, value, range, alone, argument, help) \
    {CLI_KIND_INTS, letter, name, value, argument, help, FG_OPTION_INT, range, alone}
#define CLI_END                                       CLI_OPTION(CLI_KIND_END, 0, NULL, NULL, NULL, NULL)
/* clang-format on */

/* ---- commands -------------------------------------------------------------------------------- */

enum { CLI_MAX_OVERRIDES = 256 };

/* The arguments of a parsed command line, without options. All borrowed from argv. */
typedef struct cli_call {
    const char *command; /* its name */
    const char *const *args;
    int count;
    const char *overrides[CLI_MAX_OVERRIDES]; /* "a.b=value", if the command takes_config */
    int override_count;
} cli_call;

typedef struct cli_command {
    const char *name;          /* of a subcommand: "pack info" */
    const char *arguments;     /* "CKPT"; shown in the usage line */
    const char *summary;       /* one line, no full stop */
    const char *details;       /* paragraphs, separated by "\n\n"; may be NULL */
    const cli_option *options; /* ends with CLI_END; NULL: none */
    int min_args, max_args;
    bool takes_config; /* --KEY=VALUE for each key of the configuration */
    int (*run)(const cli_call *call);
    const struct cli_command *const
        *subcommands; /* NAME SUBCOMMAND; NULL-terminated; may be NULL */
} cli_command;

/* The program's commands, in the order of the help; NULL-terminated. */
extern const cli_command *const cli_commands[];

/* The command with that name or alias ("train" is fit), in any case; NULL: there is none. */
const cli_command *cli_find_command(const char *name);
/* The subcommand with that name; NULL: there is none. */
const cli_command *cli_find_subcommand(const cli_command *command, const char *name);
/* An alias of the command: "train" for fit; NULL after the last. */
const char *cli_command_alias(const cli_command *command, size_t index);
/* Prints an error with the name that was probably meant, and returns CLI_USAGE. */
int cli_unknown_command(const char *name);

/* Parses argv[1..argc) by the command's table into its variables and *out; reorders argv so that
 * the arguments are contiguous. Options and arguments may be mixed; "--" ends the options. Returns
 * true if the command is to be run; otherwise *out_status is the exit status, and the help or an
 * error has been printed. */
bool cli_parse(const cli_command *command, int argc, const char **argv, cli_call *out,
               int *out_status);

/* ---- derived from the tables ----------------------------------------------------------------- */

/* The command's --help; NULL: the program's. */
void cli_print_help(FILE *out, const cli_command *command);
/* Its man page in roff; NULL: fulgurite(1). */
void cli_print_man(FILE *out, const cli_command *command);

/* "name=TEXT", "name[=TEXT]" or "name", as shown in the help; valid until the next call. */
const char *cli_option_form(const cli_option *option);

/* ---- helpers --------------------------------------------------------------------------------- */

/* Prints "fulgurite NAME: text" on standard error and returns the status. */
int cli_complain(int status, const char *command, const char *format, ...) FG_PRINTF(3, 4);

/* Prints the library's log (fg_log_set) on standard error. */
void cli_print_log(void *self, fg_log_level level, const char *line);

/* Return memory, or end the program if there is none, which only the program may do. */
void *cli_need(void *block);                /* the block, unless it is NULL */
void *cli_alloc(size_t count, size_t size); /* zeroed */
char *cli_strdup(const char *text);
char *cli_strndup(const char *text, size_t size);
char *cli_printf(const char *format, ...) FG_PRINTF(1, 2); /* in the locale "C" */

/* Colors of the terminal, as ANSI codes. */
typedef enum cli_color { CLI_WARNING = 33, CLI_ERROR = 31 } cli_color;
/* Prints text on stderr, in bold and this color if stderr has colors. */
void cli_put_colored(cli_color code, const char *text);
/* Whether `out` has colors: --color, else if it is a terminal, TERM is not "dumb", and NO_COLOR is
 * not set. */
bool cli_has_color(FILE *out);
/* The options of every command, ended by CLI_END. */
extern const cli_option cli_common[];
/* The options of a command and those of every command by their index; NULL after the last. */
const cli_option *cli_option_at(const cli_command *command, size_t index);

/* True when the environment's locale (LC_ALL, LC_CTYPE, LANG) is UTF-8. */
bool cli_is_utf8(void);
/* Columns of the terminal `out`, 80 if it is not a terminal or the width is unknown. */
int cli_columns(FILE *out);

#endif
