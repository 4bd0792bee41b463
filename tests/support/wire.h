/* wire.h - walks over messages in protobuf's wire format, without a schema.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_WIRE_H
#define FGT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A message, or the rest of one. */
typedef struct wire {
    const unsigned char *data;
    size_t size;
} wire;

typedef struct wire_field {
    int number;
    uint64_t value; /* of a number */
    wire bytes;     /* of a text or a message */
} wire_field;

static inline uint64_t wire_varint(wire *w)
{
    uint64_t value = 0;
    for (int shift = 0; w->size > 0 && shift < 64; shift += 7) {
        const unsigned char byte = *w->data++;
        w->size--;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return value;
}

/* The next field; false at the end, or at something invalid, which leaves w->size > 0. */
static inline bool wire_next(wire *w, wire_field *out)
{
    if (w->size == 0)
        return false;
    const wire before = *w;
    const uint64_t key = wire_varint(w);
    *out = (wire_field){.number = (int)(key >> 3)};
    const int type = (int)(key & 7);
    if (type == 0) {
        out->value = wire_varint(w);
        return true;
    }
    const uint64_t size = type == 2 ? wire_varint(w) : type == 1 ? 8 : type == 5 ? 4 : UINT64_MAX;
    if (out->number == 0 || size > w->size) {
        *w = before;
        return false;
    }
    out->bytes = (wire){w->data, (size_t)size};
    w->data += size;
    w->size -= (size_t)size;
    return true;
}

/* The index-th field of that number; a field with number 0 if there is none. */
static inline wire_field wire_get(wire message, int number, int index)
{
    wire_field field;
    while (wire_next(&message, &field))
        if (field.number == number && index-- == 0)
            return field;
    return (wire_field){0};
}

static inline int wire_count(wire message, int number)
{
    int count = 0;
    wire_field field;
    while (wire_next(&message, &field))
        count += field.number == number;
    return count;
}

static inline bool wire_is(wire text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

/* The first message of field `number` whose field `name_field` is that text; empty: none. */
static inline wire wire_find(wire message, int number, int name_field, const char *name)
{
    wire_field field;
    while (wire_next(&message, &field))
        if (field.number == number && wire_is(wire_get(field.bytes, name_field, 0).bytes, name))
            return field.bytes;
    return (wire){0};
}

#endif
