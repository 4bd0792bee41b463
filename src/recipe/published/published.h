/* published.h - published models: a folder with weights and files that describe them, as
 * transformers and timm write it, completes a configuration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_PUBLISHED_H
#define FGI_RECIPE_PUBLISHED_H

#include <jansson.h>

#include "base/file.h"
#include "recipe/config/config.h"
#include "recipe/folder/run_origin.h"

/* Receives what was set, one line for each file. */
typedef struct fgi_published_say {
    void (*line)(void *self, const char *line);
    void *self;
} fgi_published_say;

/* Replaces hf:OWNER/NAME in model.hf, model.weights and data.tokenizer by the folder that has it,
 * after a download if need be. Errors: those of fg_hub_fetch. */
fg_status fgi_published_fetch(fgi_config *c, const fgi_published_say *say, fg_error *err);

/* Sets model.name and the options of the model from config.json in the folder model.hf, if that is
 * given, and model.weights to the folder unless it is given. Errors: FG_EFORMAT (the model that the
 * file describes is none of the registry's: the message names the key, its value, and what was
 * expected), FG_EINVAL (the configuration sets the same keys), those of reading. */
fg_status fgi_published_model(fgi_config *c, const fgi_published_say *say, fg_error *err);

/* Sets data.size, data.center_fraction, data.scale, data.mean and data.std, if they have an effect
 * and are not given, from the files next to model.weights. Errors: FG_EFORMAT. */
fg_status fgi_published_input(fgi_config *c, const fgi_published_say *say, fg_error *err);

/* What the files next to model.weights say of images and classes (id2label, label_names or their
 * number in config.json), as data.json of a checkpoint does (docs/formats.md): a new reference;
 * *out is NULL if they say nothing, or data.size is not known. Errors: FG_EFORMAT. */
fg_status fgi_published_data(const fgi_config *c, json_t **out, fg_error *err);
/* The same for a language model: its tokenizer is data.tokenizer. Errors: FG_EINVAL (the tokenizer
 * is not that of the model), those of reading. */
fg_status fgi_published_language(const fgi_config *c, json_t **out, fg_error *err);

/* Writes the model of a checkpoint for other libraries: "safetensors", a file with the tensors;
 * "hf" (transformers) and "timm", a folder with the weights under their names, config.json and how
 * images are prepared. Weights that are averaged are those that evaluations use. Errors:
 * FG_EUNSUPPORTED (the library does not have such a model, or an option of it), FG_EINVAL (the
 * checkpoint has no configuration), those of writing. */
fg_status fgi_published_export(const fgi_run_origin *origin, const char *format, const char *path,
                               const fgi_published_say *say, fg_error *err);

/* Writes the tensors alone, under their own names, with the weights that evaluations use. */
fg_status fgi_published_save(const fgi_run_origin *origin, const char *path,
                             const fgi_published_say *say, fg_error *err);

/* Parses the JSON object in a file of the folder; *out is NULL if there is no such file. Writes the
 * file's path to `path`. */
fg_status fgi_published_read(const char *folder, const char *name, char path[FGI_PATH_BYTES],
                             json_t **out, fg_error *err);

#endif
