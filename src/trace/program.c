/* program.c - compiles a trace to a program, and launches it: once (custom loops), or as a step
 * that is launched many times (the Trainer).
 *
 * The trace's table maps the structure of the trace (outputs, assignments, leaves) to a program, so
 * that a custom loop that traces the same operations in each iteration compiles only once. The most
 * recently used programs are kept. The disk cache (src/pjrt) has its own key for the text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/timeline.h"
#include "trace/body.h"

struct fgi_program {
    int references;
    fgi_executable *executable;
    fgi_layout layout;
    fg_type *argument_type; /* for the array arguments */
    fgi_sharding *argument_sharding;
    fg_array **arguments; /* temporary storage for a launch: array arguments and the scalars */
    fg_array **results;   /* scratch: all results */
    fgi_matmul_flops flops;
    uint32_t *words;   /* packed scalars of the last launch ... */
    fg_array *scalars; /* ... and their array on the devices, or NULL */
    size_t word_count;
    int64_t steps, steps_added; /* most of a launch, 0: there is no loop; of the next launch */
};

/* ---- dependencies of a program --------------------------------------------------------------- */

void fgi_layout_fini(fgi_layout *layout)
{
    fgi_free(layout->argument_leaf);
    fgi_free(layout->scalar_leaf);
    fgi_free(layout->assigned_leaf);
    fgi_free(layout->is_live);
    *layout = (fgi_layout){0};
}

static void use(fgi_layout *layout, const fgi_node *node)
{
    const fgi_node *first = node->first;
    layout->is_live[first->id] = true;
    if (first->op == &fgi_result_op) /* may have a larger id than the end of a body that uses it */
        layout->is_live[first->in[0]->first->id] = true;
}

/* What an iteration computes, except the y that nothing uses. */
static void use_body(fgi_layout *layout, const fgi_node *loop)
{
    const fgi_region *body = loop->body;
    for (int i = 0; i < body->carry_count; i++)
        use(layout, body->next[i]);
    for (int i = 0; i < body->y_count; i++)
        if (layout->is_live[loop->results->node[body->carry_count + 1 + i]->id])
            use(layout, body->y[i]);
    if (body->condition != NULL)
        use(layout, body->condition);
}

static void mark_live(const fg_trace *trace, fgi_layout *layout)
{
    for (size_t id = trace->node_count; id-- > 0;) {
        const fgi_node *node = trace->nodes[id];
        if (!layout->is_live[id])
            continue;
        for (int i = 0; i < node->arity; i++)
            use(layout, node->in[i]);
        if (node->body != NULL)
            use_body(layout, node);
    }
}

fg_status fgi_layout_make(const fg_trace *trace, const fg_tensor *outputs, size_t count,
                          fgi_layout *out, fg_error *err)
{
    fgi_layout *l = out;
    const size_t leaves = trace->leaf_count + 1;
    *l = (fgi_layout){.output_count = count,
                      .argument_leaf = fgi_calloc(leaves, sizeof(size_t)),
                      .scalar_leaf = fgi_calloc(leaves, sizeof(size_t)),
                      .assigned_leaf = fgi_calloc(leaves, sizeof(size_t)),
                      .is_live = fgi_calloc(trace->node_count + 1, sizeof(bool))};
    if (l->argument_leaf == NULL || l->scalar_leaf == NULL || l->assigned_leaf == NULL ||
        l->is_live == NULL) {
        fgi_layout_fini(l);
        return fgi_no_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        l->is_live[fgi_node_of(outputs[i])->first->id] = true;
    for (size_t i = 0; i < trace->leaf_count; i++)
        if (trace->leaves[i].assigned != NULL) {
            l->assigned_leaf[l->assigned_count++] = i;
            l->is_live[trace->leaves[i].assigned->first->id] = true;
        }
    mark_live(trace, l);
    for (size_t i = 0; i < trace->leaf_count; i++) {
        if (!l->is_live[trace->leaves[i].node->id])
            continue;
        if (trace->leaves[i].kind == FGI_LEAF_SCALAR)
            l->scalar_leaf[l->scalar_count++] = i;
        else
            l->argument_leaf[l->argument_count++] = i;
    }
    return FG_OK;
}

static void release(fgi_program *program)
{
    if (program == NULL || --program->references > 0)
        return;
    fgi_executable_destroy(program->executable);
    fgi_layout_fini(&program->layout);
    fgi_free(program->argument_type);
    fgi_free(program->argument_sharding);
    fgi_free(program->arguments);
    fgi_free(program->results);
    fgi_free(program->words);
    fg_array_release(program->scalars);
    fgi_free(program);
}

/* ---- errors of the compiler ------------------------------------------------------------------
 * Which operation of the user's program a message is about. Compilers repeat locations in two
 * forms: that of MLIR, loc("fc/dot"("train.c":31:0)), and as metadata of HLO, source_file="train.c"
 * source_line=31. */

/* Whether the number at the end of a location does not continue: line 3 is not line 31. */
static bool contains(const char *message, const char *location)
{
    const size_t size = strlen(location);
    for (const char *at = strstr(message, location); at != NULL; at = strstr(at + 1, location))
        if (at[size] < '0' || at[size] > '9')
            return true;
    return false;
}

static bool is_about(const char *message, const fgi_node *node)
{
    char location[512];
    if (node->file == NULL)
        return false;
    (void)fgi_snprintf(location, sizeof location, "\"%s\":%d", node->file, node->line);
    if (contains(message, location))
        return true;
    (void)fgi_snprintf(location, sizeof location, "source_file=\"%s\" source_line=%d", node->file,
                       node->line);
    return contains(message, location);
}

void fgi_node_format(const fgi_node *node, char *out, size_t size)
{
    size_t used = (size_t)fgi_snprintf(out, size, "%s(", node->op->name);
    for (int i = 0; i < node->arity && used < size; i++) {
        char type[96];
        used += (size_t)fgi_snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                     fg_type_format(&node->in[i]->type, type, sizeof type));
    }
    if (used < size)
        (void)fgi_snprintf(out + used, size - used, ")");
}

fg_status fgi_compile_explain(const fg_trace *trace, const fgi_layout *layout, fg_error *err)
{
    char operation[160];
    for (size_t id = 0; id < trace->node_count && err->file == NULL; id++) {
        const fgi_node *node = trace->nodes[id];
        if (!layout->is_live[id] || node->first != node || !is_about(err->message, node) ||
            strstr(err->message, node->op->name) == NULL)
            continue;
        fgi_node_format(node, operation, sizeof operation);
        err->file = node->file;
        err->line = node->line;
        return fgi_context(err, err->status, "%s is not supported by the device's compiler",
                           operation);
    }
    return err->status;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Options only make a program faster: if a plugin does not support one, it is omitted. */
static fg_status compile_text(fg_client *client, const fgi_buf *text, const fgi_buf *key,
                              fgi_compile_options *options, fgi_executable **out, fg_error *err)
{
    fg_error why = {0};
    fg_status status =
        fgi_compile(client, text->data, text->size, key->data, key->size, options, out, &why);
    if (status == FG_ECOMPILE && options->flag_count > 0 &&
        strstr(why.message, "No such compile option") != NULL) {
        options->flag_count = 0;
        status =
            fgi_compile(client, text->data, text->size, key->data, key->size, options, out, &why);
    }
    if (status != FG_OK && err != NULL)
        *err = why;
    return status;
}

static fg_status compile(const fg_trace *trace, const fgi_layout *layout, const fg_tensor *outputs,
                         const fg_compile_event *event, fgi_executable **out, fg_error *err)
{
    fg_status status = FG_OK;
    fgi_buf text = {0}, key = {0};
    const size_t results = layout->output_count + layout->assigned_count;
    fg_type *types = fgi_calloc(results + 1, sizeof *types);
    fgi_sharding *shardings = fgi_calloc(results + 1, sizeof *shardings);
    if (types == NULL || shardings == NULL) {
        fgi_free(types);
        fgi_free(shardings);
        return fgi_no_memory(err);
    }
    for (size_t i = 0; i < results; i++) {
        types[i] = i < layout->output_count
                       ? *fg_tensor_type(outputs[i])
                       : trace->leaves[layout->assigned_leaf[i - layout->output_count]].node->type;
        shardings[i] = *fgi_result_sharding(trace, layout, i);
    }
    fgi_compile_options options = {.device_count = fg_client_info_of(trace->client)->device_count,
                                   .out_types = types,
                                   .out_shardings = shardings,
                                   .out_count = results,
                                   .event = event};
    options.flags = fgi_cpu_flags(trace->client, &options.flag_count);
    const int64_t begin = fgi_timeline_begin();
    FGI_DONE(fgi_emit_module(trace, layout, outputs, true, &text, err));
    FGI_DONE(fgi_emit_module(trace, layout, outputs, false, &key, err));
    fgi_timeline_end(begin, "compile", "lower", -1);
    status = compile_text(trace->client, &text, &key, &options, out, err);
    if ((status == FG_ECOMPILE || status == FG_EUNSUPPORTED) && err != NULL)
        status = fgi_compile_explain(trace, layout, err);
done:
    fgi_free(types);
    fgi_free(shardings);
    fgi_buf_fini(&text);
    fgi_buf_fini(&key);
    return status;
}

static void count_flops(const fg_trace *trace, const fgi_layout *layout, fgi_matmul_flops *out)
{
    for (size_t id = 0; id < trace->node_count; id++) {
        const fgi_node *node = trace->nodes[id];
        if (layout->is_live[id] && node->op->flops != NULL)
            out->of[node->in[0]->type.dtype] += node->op->flops(node) * fgi_region_repeats(node);
    }
}

const fgi_matmul_flops *fgi_program_flops(const fgi_program *program) { return &program->flops; }

/* Takes ownership of the layout, also on failure. */
static fg_status create(const fg_trace *trace, fgi_layout *layout, const fg_tensor *outputs,
                        const fg_compile_event *event, fgi_program **out, fg_error *err)
{
    fgi_program *program = fgi_calloc(1, sizeof *program);
    if (program == NULL) {
        fgi_layout_fini(layout);
        return fgi_no_memory(err);
    }
    program->references = 1;
    program->layout = *layout;
    const fgi_layout *l = &program->layout;
    program->argument_type = fgi_calloc(l->argument_count + 1, sizeof(fg_type));
    program->argument_sharding = fgi_calloc(l->argument_count + 1, sizeof(fgi_sharding));
    program->arguments = fgi_calloc(l->argument_count + 1, sizeof(fg_array *));
    program->results = fgi_calloc(l->output_count + l->assigned_count + 1, sizeof(fg_array *));
    program->steps = trace->launch.steps;
    program->word_count = fgi_launch_words(trace, l);
    program->words = fgi_calloc(program->word_count + 1, sizeof(uint32_t));
    fg_status status = FG_OK;
    if (program->argument_type == NULL || program->argument_sharding == NULL ||
        program->arguments == NULL || program->results == NULL || program->words == NULL)
        status = fgi_no_memory(err);
    for (size_t i = 0; status == FG_OK && i < l->argument_count; i++) {
        const fgi_leaf *leaf = &trace->leaves[l->argument_leaf[i]];
        program->argument_type[i] = fgi_launch_type(trace, leaf);
        program->argument_sharding[i] = fgi_launch_sharding(trace, leaf);
    }
    count_flops(trace, l, &program->flops);
    if (status == FG_OK)
        status = compile(trace, l, outputs, event, &program->executable, err);
    if (status != FG_OK) {
        release(program);
        return status;
    }
    *out = program;
    return FG_OK;
}

/* ---- the programs of a trace ----------------------------------------------------------------- */

void fgi_programs_fini(fgi_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++)
        release(programs->entry[i].program);
    *programs = (fgi_programs){0};
}

/* Also moves it to the front. */
static fgi_program *find_program(fgi_programs *programs, fgi_hash hash)
{
    size_t at = 0;
    while (at < programs->count && !fgi_hash_equal(programs->entry[at].hash, hash))
        at++;
    if (at == programs->count)
        return NULL;
    const fgi_program_entry found = programs->entry[at];
    memmove(programs->entry + 1, programs->entry, at * sizeof programs->entry[0]);
    programs->entry[0] = found;
    return found.program;
}

static void add_program(fgi_programs *programs, fgi_hash hash, fgi_program *take_program)
{
    if (programs->count == FGI_PROGRAMS_KEPT)
        release(programs->entry[--programs->count].program);
    memmove(programs->entry + 1, programs->entry, programs->count * sizeof programs->entry[0]);
    programs->entry[0] = (fgi_program_entry){hash, take_program};
    programs->count++;
}

fg_status fgi_outputs_check(const fg_trace *trace, const fg_tensor *outputs, size_t count,
                            fg_error *err)
{
    FGI_TRY(fg_trace_error(trace, err));
    for (size_t i = 0; i < count; i++) {
        const char *dead = fgi_tensor_dead(outputs[i]);
        if (dead != NULL)
            return fgi_fail(err, FG_EINVAL, "output %zu: %s", i, dead);
        if (fg_tensor_trace(outputs[i]) != trace || fgi_is_poison(outputs[i]))
            return fgi_fail(err, FG_EINVAL, "output %zu belongs to another trace", i);
        if (fgi_node_of(outputs[i])->region != NULL)
            return fgi_fail(err, FG_EINVAL,
                            "output %zu was computed in the body of a loop: return it from the "
                            "body, and use the loop's result",
                            i);
    }
    return FG_OK;
}

static fgi_hash whole_structure(const fg_trace *trace, const fg_tensor *outputs, size_t count)
{
    fgi_hash hash = {count, trace->leaf_count};
    hash = fgi_hash_more(hash, &trace->launch.steps, sizeof trace->launch.steps);
    for (size_t i = 0; i < count; i++)
        hash = fgi_hash_more(hash, &fgi_node_of(outputs[i])->hash, sizeof(fgi_hash));
    for (size_t i = 0; i < trace->leaf_count; i++) {
        const fgi_leaf *leaf = &trace->leaves[i];
        const struct {
            uint64_t index;
            fgi_hash hash;
        } entry = {i, leaf->assigned != NULL ? leaf->assigned->hash : (fgi_hash){0, 0}};
        if (leaf->assigned != NULL)
            hash = fgi_hash_more(hash, &entry, sizeof entry);
    }
    return hash;
}

fg_status fgi_program_get(fg_trace *trace, const fg_tensor *outputs, size_t count,
                          fgi_program **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(fg_trace_error(trace, err));
    if (trace->client == NULL)
        return fgi_fail(err, FG_EINVAL, "the trace was created without a client: it cannot run");
    FGI_TRY(fgi_outputs_check(trace, outputs, count, err));
    const fgi_hash hash = whole_structure(trace, outputs, count);
    *out = find_program(&trace->programs, hash);
    if (*out != NULL)
        return FG_OK;
    fgi_layout layout;
    fgi_program *program = NULL;
    FGI_TRY(fgi_layout_make(trace, outputs, count, &layout, err));
    fg_compile_event event = {.step = trace->label != NULL ? trace->step : -1};
    (void)fgi_snprintf(event.program, sizeof event.program, "%s",
                       trace->label != NULL ? trace->label : "run");
    fgi_history_add(trace->history != NULL ? trace->history : &trace->own_history, trace, &layout,
                    &event);
    FGI_TRY(create(trace, &layout, outputs, &event, &program, err));
    add_program(&trace->programs, hash, program);
    *out = program;
    return FG_OK;
}

const fgi_executable *fgi_program_executable(const fgi_program *program)
{
    return program->executable;
}

/* ---- launching ------------------------------------------------------------------------------- */

static fg_status bind(fgi_program *program, const fgi_leaf *leaf, size_t i, fg_client *client,
                      fg_array *const *feeds, size_t feed_count, fg_error *err)
{
    fg_array *array = NULL;
    if (leaf->kind == FGI_LEAF_VARIABLE)
        FGI_TRY(fgi_variable_array(leaf->of.variable, client, &array, err));
    else if (leaf->kind == FGI_LEAF_ARRAY)
        array = leaf->of.array;
    else if (leaf->of.feed >= 0 && (size_t)leaf->of.feed < feed_count)
        array = feeds[leaf->of.feed];
    if (array == NULL)
        return fgi_fail(err, FG_EINTERNAL, "argument %zu of the program has no value", i);
    if (fgi_array_is_donated(array))
        return fgi_fail(err, FG_EINVAL,
                        "argument %zu of the program is an array whose buffer was reused by the "
                        "update of a variable: read it before the run that assigns",
                        i);
    if (!fg_type_equal(fg_array_type(array), &program->argument_type[i])) {
        char a[96], b[96];
        return fgi_fail(err, FG_EINVAL, "argument %zu of the program is %s: expected %s, as traced",
                        i, fg_type_format(fg_array_type(array), a, sizeof a),
                        fg_type_format(&program->argument_type[i], b, sizeof b));
    }
    if (!fgi_sharding_equal(fgi_array_sharding(array), &program->argument_sharding[i]))
        return fgi_fail(err, FG_EINVAL,
                        "argument %zu of the program has a different sharding than when it was "
                        "traced: distribute the module before its first step",
                        i);
    program->arguments[i] = array;
    return FG_OK;
}

/* Writes the current scalars to `words`; returns whether one of them has changed. */
static bool read_scalars(const fgi_program *program, const fgi_leaf *leaves, uint32_t *words)
{
    const fgi_layout *l = &program->layout;
    bool has_changed = false;
    for (size_t i = 0; i < l->scalar_count; i++) {
        const uint32_t word = leaves[l->scalar_leaf[i]].of.scalar->value.u32;
        has_changed |= word != words[i];
        words[i] = word;
    }
    return has_changed;
}

/* The packed scalars on the devices; uploaded only if one has changed since the last launch. */
static fg_status pack_scalars(fgi_program *program, const fgi_leaf *leaves, fg_client *client,
                              fg_array **out, fg_error *err)
{
    const fg_type type = {.dtype = FG_U32, .rank = 1, .dim = {(int64_t)program->word_count}};
    bool has_changed = program->scalars == NULL || program->steps > 0;
    if (program->steps > 0)
        program->words[0] = (uint32_t)program->steps_added;
    else
        has_changed |= read_scalars(program, leaves, program->words);
    if (has_changed) {
        fg_array_release(program->scalars);
        program->scalars = NULL;
        FGI_TRY_CTX(fgi_array_upload(client, &type, NULL, program->words, FGI_UPLOAD_COPY,
                                     &program->scalars, NULL, err),
                    err, "uploading the step's scalars");
    }
    *out = program->scalars;
    return FG_OK;
}

/* Leaves determine the arguments, feeds the fed ones. out_arrays receives the outputs; assigned
 * variables get their new values. out_done as in fgi_execute. */
static fg_status launch(fgi_program *program, const fgi_leaf *leaves, fg_client *client,
                        fg_array *const *feeds, size_t feed_count, fg_array **out_arrays,
                        fgi_event **out_done, fg_error *err)
{
    const fgi_layout *l = &program->layout;
    size_t arguments = l->argument_count;
    fg_array *scalars = NULL;
    for (size_t i = 0; i < l->output_count; i++)
        out_arrays[i] = NULL;
    for (size_t i = 0; i < l->argument_count; i++)
        FGI_TRY(bind(program, &leaves[l->argument_leaf[i]], i, client, feeds, feed_count, err));
    if (program->word_count > 0) {
        FGI_TRY(pack_scalars(program, leaves, client, &scalars, err));
        program->arguments[arguments++] = scalars;
    }
    const fg_status status = fgi_execute(program->executable, program->arguments, arguments,
                                         program->results, out_done, err);
    if (status != FG_OK) { /* they may be the cause of the failure */
        fg_array_release(scalars);
        program->scalars = NULL;
    }
    for (size_t i = 0; i < l->assigned_count; i++) {
        fg_variable *variable = leaves[l->assigned_leaf[i]].of.variable;
        if (status == FG_OK)
            fgi_variable_replace(variable, program->results[l->output_count + i]);
        else
            fgi_variable_lose(variable);
    }
    if (status == FG_OK && l->output_count > 0)
        memcpy(out_arrays, program->results, l->output_count * sizeof *out_arrays);
    return status;
}

/* ---- running once ---------------------------------------------------------------------------- */

static fg_status run(fg_trace *trace, const fg_tensor *outputs, size_t count, fg_array **out_arrays,
                     fg_error *err)
{
    fgi_program *program = NULL;
    if (trace->is_step)
        return fgi_fail(err, FG_EINVAL,
                        "the values of a step are not available while it is traced\nto see one, "
                        "log it with fg_step_log");
    FGI_TRY(fgi_program_get(trace, outputs, count, &program, err));
    return launch(program, trace->leaves, trace->client, NULL, 0, out_arrays, NULL, err);
}

fg_status fg_run(fg_trace *trace, const fg_tensor *outputs, size_t count, fg_array **out_arrays,
                 fg_error *err)
{
    for (size_t i = 0; i < count; i++)
        out_arrays[i] = NULL;
    const fg_status status = run(trace, outputs, count, out_arrays, err);
    if (!trace->is_step)
        fg_trace_reset(trace);
    return status;
}

fg_status fg_run_f32(fg_trace *trace, fg_tensor output, float *out, fg_error *err)
{
    fg_array *array = NULL;
    const fg_type *type = fg_tensor_type(output);
    if (!trace->is_step && !fgi_is_poison(output) && (type->dtype != FG_F32 || type->rank != 0)) {
        char text[96];
        (void)fgi_trace_fail(trace, FG_EDTYPE, "run: the output is %s: expected f32[]",
                             fg_type_format(type, text, sizeof text));
    }
    FGI_TRY(fg_run(trace, &output, 1, &array, err));
    const fg_status status = fg_array_read(array, out, sizeof *out, err);
    fg_array_release(array);
    return status;
}

fg_status fg_trace_text(fg_trace *trace, const fg_tensor *outputs, size_t count, char **out_text,
                        fg_error *err)
{
    *out_text = NULL;
    fgi_layout layout;
    fgi_buf text = {0};
    FGI_TRY(fgi_outputs_check(trace, outputs, count, err));
    FGI_TRY(fgi_layout_make(trace, outputs, count, &layout, err));
    fg_status status = fgi_emit_module(trace, &layout, outputs, true, &text, err);
    fgi_layout_fini(&layout);
    if (status == FG_OK) {
        *out_text = fgi_buf_take(&text);
        if (*out_text == NULL)
            status = fgi_no_memory(err);
    }
    fgi_buf_fini(&text);
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct fgi_step_program {
    fgi_program *program;
    fg_client *client;
    fgi_leaf *leaves;
    size_t leaf_count;
};

fg_status fgi_step_program_create(fg_trace *trace, const fg_tensor *outputs, size_t count,
                                  fgi_step_program **out, fg_error *err)
{
    *out = NULL;
    fgi_program *program = NULL;
    FGI_TRY(fgi_program_get(trace, outputs, count, &program, err));
    fgi_step_program *step = fgi_calloc(1, sizeof *step);
    fgi_leaf *leaves = fgi_calloc(trace->leaf_count + 1, sizeof *leaves);
    if (step == NULL || leaves == NULL) {
        fgi_free(step);
        fgi_free(leaves);
        return fgi_no_memory(err);
    }
    memcpy(leaves, trace->leaves, trace->leaf_count * sizeof *leaves);
    for (size_t i = 0; i < trace->leaf_count; i++) {
        leaves[i].node = NULL; /* freed with the trace's nodes */
        leaves[i].assigned = leaves[i].current = NULL;
        leaves[i].older = NULL;
        if (leaves[i].kind == FGI_LEAF_ARRAY)
            (void)fg_array_retain(leaves[i].of.array);
    }
    program->references++;
    *step = (fgi_step_program){.program = program,
                               .client = trace->client,
                               .leaves = leaves,
                               .leaf_count = trace->leaf_count};
    *out = step;
    return FG_OK;
}

void fgi_step_program_destroy(fgi_step_program *step)
{
    if (step == NULL)
        return;
    fgi_leaves_release(step->leaves, step->leaf_count);
    release(step->program);
    fgi_free(step->leaves);
    fgi_free(step);
}

void fgi_step_program_add(fgi_step_program *step, int64_t number)
{
    fgi_program *program = step->program;
    const size_t each = program->layout.scalar_count;
    (void)read_scalars(program, step->leaves, program->words + 1 + (size_t)number * each);
    program->steps_added = number + 1;
}

fg_status fgi_step_program_launch(fgi_step_program *step, fg_array *const *feeds, size_t feed_count,
                                  fg_array **out_arrays, fgi_event **out_done, fg_error *err)
{
    return launch(step->program, step->leaves, step->client, feeds, feed_count, out_arrays,
                  out_done, err);
}

void fgi_step_program_swap(fgi_step_program *step, fgi_executable **executable)
{
    fgi_executable *other = *executable;
    *executable = step->program->executable;
    step->program->executable = other;
}

const fgi_executable *fgi_step_program_executable(const fgi_step_program *step)
{
    return step->program->executable;
}

const fgi_matmul_flops *fgi_step_program_flops(const fgi_step_program *step)
{
    return &step->program->flops;
}
