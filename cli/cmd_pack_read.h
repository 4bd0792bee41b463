/* cmd_pack_read.h - the subcommands of pack for packs that exist.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

extern const cli_command cli_pack_info, cli_pack_verify, cli_pack_rebuild, cli_pack_export,
    cli_pack_show;
