/* map_guard.h - mapped files that may shrink. Reading a page of a mapping that the file no longer
 * has, or that the disk cannot deliver, raises SIGBUS, which ends the process. For a guarded
 * mapping, the handler replaces the missing pages by zeros and sets a flag, so the reader continues
 * and reports an error.
 *
 * The handler is installed when the first mapping is guarded, and passes other faults to the
 * handler that was installed before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_MAP_GUARD_H
#define FGI_BASE_MAP_GUARD_H

#include <stdatomic.h>
#include <fulgurite/base.h>

/* Guards a mapping of `size` bytes that starts at a page. *is_lost becomes true when pages have
 * been replaced; both must live until fgi_guard_remove. Errors: FG_EUNSUPPORTED (too many guarded
 * mappings), FG_EIO. Thread-safe. */
fg_status fgi_guard_add(const void *data, size_t size, atomic_bool *is_lost, fg_error *err);
/* Call it before unmapping. NULL is allowed. */
void fgi_guard_remove(const void *data);
/* Installs the handler again if another one has replaced it since. */
void fgi_guard_renew(void);

#endif
