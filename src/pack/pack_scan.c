/* pack_scan.c - finds records by their headers.
 *
 * A header has a magic number, a separate CRC, and the position of its record, which must be
 * where the layout places it: so other bytes are not mistaken for one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack_scan.h"

#include "base/crc32c.h"

static uint64_t end_of_head(const fgi_pack_scan *scan, const fgi_pack_head *head)
{
    const uint64_t begin = (uint64_t)((const unsigned char *)head - scan->data);
    return begin + fgi_pack_head_size(head);
}

static bool is_intact(const fgi_pack_scan *scan, const fgi_pack_head *head)
{
    return fgi_crc32c(0, scan->data + head->offset, head->length) == head->crc;
}

const fgi_pack_head *fgi_pack_scan_next(fgi_pack_scan *scan, uint64_t number)
{
    const uint64_t at = fgi_pack_align(scan->at, FGI_PACK_HEAD_ALIGN);
    const fgi_pack_head *head = fgi_pack_head_at(scan->data, scan->size, at);
    if (head == NULL || head->number != number ||
        !fgi_pack_is_zero(scan->data + scan->at, (size_t)(at - scan->at)) || !is_intact(scan, head))
        return NULL;
    const uint64_t end = end_of_head(scan, head);
    if (!fgi_pack_is_zero(scan->data + end, (size_t)(head->offset - end)))
        return NULL;
    scan->at = head->offset + head->length;
    return head;
}

const fgi_pack_head *fgi_pack_scan_search(fgi_pack_scan *scan, bool *out_is_intact)
{
    uint64_t at = fgi_pack_align(scan->at, FGI_PACK_HEAD_ALIGN);
    for (; at < scan->size; at += FGI_PACK_HEAD_ALIGN) {
        const fgi_pack_head *head = fgi_pack_head_at(scan->data, scan->size, at);
        if (head == NULL)
            continue;
        *out_is_intact = is_intact(scan, head);
        scan->at = head->offset + head->length;
        return head;
    }
    scan->at = scan->size;
    return NULL;
}
