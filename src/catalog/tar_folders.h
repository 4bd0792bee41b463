/* tar_folders.h - classes of a tar archive whose images are in a folder per class.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_TAR_FOLDERS_H
#define FGI_CATALOG_TAR_FOLDERS_H

#include "catalog/draft.h"

/* Sets labels and splits of the samples, which have no label, by the folders in their paths. No
 * effect if the folders are not classes: images next to folders, or all in one folder. */
fg_status fgi_tar_folders(fgi_draft *b, fg_error *err);

#endif
