/* resources.h - the processors and the memory that this process may use: the one answer for every
 * number of threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_RESOURCES_H
#define FGI_BASE_RESOURCES_H

#include <fulgurite/base.h>

/* Number of processors available to this process, at least 1: those of its affinity, or the CPU
 * quota of its cgroup (version 1 or 2) if that is less. */
int fgi_cpu_count(void);

/* The quota alone, in processors, rounded, at least 1; 0: none. `root` is the prefix of all paths,
 * "" for this machine. */
int fgi_cpu_quota(const char *root);
/* The affinity alone, which is what XLA's CPU client counts. */
int fgi_cpu_affinity(void);

/* Memory of the machine in bytes, or the limit of the cgroup if that is less. */
uint64_t fgi_memory_bytes(const char *root);

#endif
