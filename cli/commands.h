/* commands.h - the commands, one per file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "cli.h"

extern const cli_command cli_setup;      /* cmd_setup.c */
extern const cli_command cli_doctor;     /* cmd_doctor.c */
extern const cli_command cli_devices;    /* cmd_devices.c */
extern const cli_command cli_init;       /* cmd_init.c */
extern const cli_command cli_fit;        /* cmd_run.c */
extern const cli_command cli_validate;   /* cmd_run.c */
extern const cli_command cli_test;       /* cmd_run.c */
extern const cli_command cli_predict;    /* cmd_run.c */
extern const cli_command cli_batch_find; /* cmd_run.c */
extern const cli_command cli_plan;       /* cmd_plan.c */
extern const cli_command cli_show;       /* cmd_show.c */
extern const cli_command cli_completion; /* completion.c */
extern const cli_command cli_help;       /* cmd_help.c */

#endif
