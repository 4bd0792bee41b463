/* allocator.c - the settings of jemalloc, the program's allocator, which it reads when it starts.
 * $MALLOC_CONF overrides them.
 *
 * Freed memory is kept and used again, because XLA's CPU backend allocates all temporaries of a
 * training step for each step: as new pages, the kernel clears them each time. All threads
 * share one arena, since the one that allocates differs from step to step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
extern const char *malloc_conf;
__attribute__((visibility("default"))) const char *malloc_conf =
    "narenas:1,oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1";
