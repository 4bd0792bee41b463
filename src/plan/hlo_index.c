/* hlo_index.c - finds instructions of an HLO module by id, and their users.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_work.h"

#include <stdlib.h>

#include "base/alloc.h"

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const fgi_hlo_entry *)a)->id, y = ((const fgi_hlo_entry *)b)->id;
    return (x > y) - (x < y);
}

const fgi_hlo_entry *fgi_hlo_find(const fgi_hlo_index *index, int64_t id)
{
    const fgi_hlo_entry key = {.id = id};
    return bsearch(&key, index->entry, index->count, sizeof key, by_id);
}

static void note_users(fgi_hlo_index *index)
{
    const Fgi__Hlo__Module *module = index->hlo->module;
    for (size_t c = 0; c < module->n_computation; c++)
        for (size_t i = 0; i < module->computation[c]->n_instruction; i++) {
            const fgi_hlo_op *op = module->computation[c]->instruction[i];
            for (size_t k = 0; k < op->n_operand; k++) {
                const fgi_hlo_entry *found = fgi_hlo_find(index, op->operand[k]);
                if (found != NULL && found->user == NULL)
                    index->entry[found - index->entry].user = op;
            }
        }
}

fg_status fgi_hlo_index_make(const fgi_hlo *hlo, fgi_hlo_index *out, fg_error *err)
{
    const Fgi__Hlo__Module *module = hlo->module;
    size_t count = 0;
    *out = (fgi_hlo_index){.hlo = hlo};
    for (size_t c = 0; c < module->n_computation; c++)
        count += module->computation[c]->n_instruction;
    out->entry = fgi_calloc(count + 1, sizeof *out->entry);
    if (out->entry == NULL)
        return fgi_no_memory(err);
    for (size_t c = 0; c < module->n_computation; c++)
        for (size_t i = 0; i < module->computation[c]->n_instruction; i++) {
            const fgi_hlo_op *op = module->computation[c]->instruction[i];
            out->entry[out->count++] = (fgi_hlo_entry){.id = op->id, .op = op};
        }
    qsort(out->entry, out->count, sizeof *out->entry, by_id);
    note_users(out);
    return FG_OK;
}

void fgi_hlo_index_fini(fgi_hlo_index *index)
{
    fgi_free(index->entry);
    *index = (fgi_hlo_index){0};
}

const fgi_hlo_op *fgi_hlo_in(const fgi_hlo_index *index, const fgi_hlo_op *op, size_t operand)
{
    if (operand >= op->n_operand)
        return NULL;
    const fgi_hlo_entry *found = fgi_hlo_find(index, op->operand[operand]);
    return found != NULL ? found->op : NULL;
}

const fgi_hlo_computation *fgi_hlo_called(const fgi_hlo_index *index, const fgi_hlo_op *op,
                                          size_t i)
{
    const Fgi__Hlo__Module *module = index->hlo->module;
    for (size_t c = 0; i < op->n_called && c < module->n_computation; c++)
        if (module->computation[c]->id == op->called[i])
            return module->computation[c];
    return NULL;
}

const fgi_hlo_op *fgi_hlo_root(const fgi_hlo_index *index, const fgi_hlo_computation *in)
{
    const fgi_hlo_entry *found = fgi_hlo_find(index, in->root);
    return found != NULL ? found->op : NULL;
}
