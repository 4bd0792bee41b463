/* reserved_rows.h - the rows of test_reserved.c: a struct, and a function that passes it to the
 * library with a `reserved` that is not zero.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RESERVED_ROWS_H
#define RESERVED_ROWS_H

#include "fgt.h"

#include <fulgurite/fulgurite.h>

typedef void call(fg_error *err); /* gives the library the struct with its last reserved bit set */

#define LAST(array) (array)[sizeof(array) / sizeof *(array)-1]
/* A struct `o` of this type whose `reserved` is not zero. */
#define NEWER(type, ...)                                                                           \
    type o = {__VA_ARGS__};                                                                        \
    LAST(o.reserved) = 1
#define BY_STATUS(type, expression)                                                                \
    static void by_##type(fg_error *err)                                                           \
    {                                                                                              \
        NEWER(type, 0);                                                                            \
        assert_int_equal(expression, FG_EINVAL);                                                   \
    }

typedef struct reserved_row {
    const char *type;
    call *give;
} reserved_row;

#define ROW(name)                                                                                  \
    {                                                                                              \
        .type = #name, .give = by_##name                                                           \
    }

/* Of datasets and images (reserved_data.c). */
extern const reserved_row reserved_data_rows[];
extern const size_t reserved_data_row_count;

/* The path of a CSV file with the columns a and b. */
const char *reserved_csv_file(void);

#endif
