/* gradients.c - which parameters an update changes, and their gradients.
 *
 * Frozen parameters and parameters that the loss does not depend on are left unchanged, also by
 * weight decay and momentum. The latter are known when the update is traced; a gradient of 0 is not
 * the same.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "optim/optimizer.h"
#include "trace/trace.h"

enum { NAMES_SHOWN = 4 };

static void fail_out_of_memory(fg_trace *trace)
{
    (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
}

/* ---- parameters created after the optimizer -------------------------------------------------- */

static bool has(const fg_optimizer *o, const fg_variable *parameter)
{
    size_t i = 0;
    while (i < fg_optimizer_parameter_count(o) && fg_optimizer_parameter_at(o, i) != parameter)
        i++;
    return i < fg_optimizer_parameter_count(o);
}

/* Whether the optimizer has all parameters of its module; finds the first that is missing. */
static bool has_all(fg_optimizer *o, fg_trace *trace)
{
    if (fg_module_variable_count(o->root) == o->variable_count)
        return true;
    for (size_t i = 0; i < fg_module_variable_count(o->root); i++) {
        const fg_variable *variable = fg_module_variable_at(o->root, i);
        if (fg_variable_kind_of(variable) != FG_PARAMETER || has(o, variable))
            continue;
        (void)fgi_trace_fail(trace, FG_EINVAL,
                             "%s: parameter '%s' was created after the optimizer, which would not "
                             "train it\ncreate the optimizer after all layers",
                             fgi_optimizer_title(o), fg_variable_name(variable));
        return false;
    }
    o->variable_count = fg_module_variable_count(o->root);
    return true;
}

/* ---- parameters without a gradient ----------------------------------------------------------- */

/* Lists the trained parameters that have no gradient: all of them, or the new ones. */
static size_t list_without(const fg_optimizer *o, const fg_tensor *gradients, bool all,
                           fgi_buf *names)
{
    size_t count = 0;
    for (size_t i = 0; i < o->parameter_count; i++) {
        if (gradients[i].handle != 0 || !fg_variable_is_trainable(o->parameters[i]) ||
            (!all && o->has_warned[i]))
            continue;
        if (count < NAMES_SHOWN)
            fgi_buf_printf(names, "%s'%s'", count > 0 ? ", " : "",
                           fg_variable_name(o->parameters[i]));
        else if (count == NAMES_SHOWN)
            fgi_buf_puts(names, ", ...");
        count++;
    }
    return count;
}

/* Once per parameter: custom loops trace every iteration. */
static void warn_of_missing(fg_optimizer *o, const fg_trace *trace, const fg_tensor *gradients)
{
    const char *file = NULL;
    int line = 0;
    fgi_buf names = {0};
    const size_t count = list_without(o, gradients, false, &names);
    fgi_trace_source_line(trace, &file, &line);
    if (count > 0 && names.data != NULL)
        fgi_log(FG_LOG_WARNING,
                "%s:%d: %s: the loss does not depend on %zu of %zu parameters, which are left "
                "unchanged: %s\nfreeze them (fg_module_freeze) if that is intended",
                file != NULL ? file : "?", line, fgi_optimizer_title(o), count, o->parameter_count,
                names.data);
    for (size_t i = 0; i < o->parameter_count; i++)
        o->has_warned[i] |= gradients[i].handle == 0;
    fgi_buf_fini(&names);
}

/* An error when no parameter has a gradient; a warning when some have none. */
static void judge(fg_optimizer *o, fg_trace *trace, const fg_tensor *gradients, size_t trained)
{
    size_t there = 0;
    for (size_t i = 0; i < o->parameter_count; i++)
        there += gradients[i].handle != 0;
    if (there == trained)
        return;
    if (there > 0) {
        warn_of_missing(o, trace, gradients);
        return;
    }
    fgi_buf names = {0};
    (void)list_without(o, gradients, true, &names);
    (void)fgi_trace_fail(trace, FG_EINVAL,
                         "%s: the loss does not depend on any of the %zu parameters to be trained: "
                         "%s",
                         fgi_optimizer_title(o), trained, names.data != NULL ? names.data : "");
    fgi_buf_fini(&names);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static size_t trained_parameters(const fg_optimizer *o, fg_variable **out)
{
    size_t count = 0;
    for (size_t i = 0; i < o->parameter_count; i++)
        if (fg_variable_is_trainable(o->parameters[i]))
            out[count++] = o->parameters[i];
    return count;
}

/* Scatters the gradients of the trained parameters into the list of all parameters. */
static void spread(const fg_optimizer *o, const fg_tensor *of_trained, fg_tensor *out)
{
    for (size_t i = 0; i < o->parameter_count; i++)
        out[i] = fg_variable_is_trainable(o->parameters[i]) ? *of_trained++ : (fg_tensor){0};
}

/* Of one optimizer; a part may be frozen. */
static void take_gradients(fg_optimizer *o, fg_tensor loss, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(loss);
    fg_variable **trained = fgi_calloc(o->parameter_count, sizeof(fg_variable *));
    fg_tensor *gradients = fgi_calloc(o->parameter_count, sizeof *gradients);
    for (size_t i = 0; i < o->parameter_count; i++)
        out[i] = (fg_tensor){0};
    if (trained == NULL || gradients == NULL) {
        fail_out_of_memory(trace);
    } else {
        const size_t count = trained_parameters(o, trained);
        if (count > 0)
            fgi_grad_parameters(fg_optimizer_scale_loss(o, loss), trained, count, gradients);
        spread(o, gradients, out);
        if (fg_trace_error(trace, NULL) == FG_OK)
            judge(o, trace, out, count);
    }
    fgi_free(trained);
    fgi_free(gradients);
}

static bool is_frozen(const fg_optimizer *o)
{
    size_t i = 0;
    while (i < fg_optimizer_parameter_count(o) &&
           !fg_variable_is_trainable(fg_optimizer_parameter_at(o, i)))
        i++;
    return i == fg_optimizer_parameter_count(o);
}

void fgi_optimizer_gradients(fg_optimizer *o, const fg_tensor *losses, fg_tensor *out)
{
    fg_trace *trace = fg_tensor_trace(losses[0]);
    if (fg_trace_error(trace, NULL) != FG_OK || !has_all(o->whole, trace))
        return;
    if (is_frozen(o))
        (void)fgi_trace_fail(trace, FG_EINVAL, "%s: all %zu parameters are frozen",
                             fgi_optimizer_title(o), fg_optimizer_parameter_count(o));
    for (size_t i = 0; i < o->part_count; i++)
        take_gradients(o->parts[i], losses[i], out + o->parts[i]->first);
    if (o->part_count == 0)
        take_gradients(o, losses[0], out);
}
