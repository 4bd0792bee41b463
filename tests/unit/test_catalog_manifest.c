/* CSV and JSONL manifests: columns, labels, paths, and messages with lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <unistd.h>
#include <zlib.h>
#include "base/buf.h"
#include "base/file.h"
#include "base/alloc.h"
#include "catalog/catalog_options.h"
#include "catalog_text.h"

#define ADD_IT                                                                                     \
    "\nadd the file, or remove the row; to leave such rows out, set data.damaged to skip "         \
    "(fulgurite pack --bad=skip)"
#define ELSEWHERE                                                                                  \
    "; for files in another folder or without an extension in the list, set data.root and "        \
    "data.suffix (fulgurite pack --source='{root: FOLDER, suffix: .jpg}')"

static fg_error err;
static const char *root;

static int make_files(void **state)
{
    (void)state;
    root = fgt_temp_folder();
    fgt_ok(fgi_folder_make(fgt_path(root, "sub"), &err));
    fgt_write(fgt_path(root, "a.jpg"), "A", 1);
    fgt_write(fgt_path(root, "b c.jpg"), "B", 1);
    fgt_write(fgt_path(root, "sub/d.bin"), "D", 1);
    return 0;
}

static const char *manifest(const char *name, const char *text)
{
    const char *path = fgt_path(root, name);
    fgt_write(path, text, strlen(text));
    return path;
}

static void csv_columns_are_found_by_name(void **state)
{
    (void)state;
    fgt_catalog_is(manifest("m.csv", "group,extra,path,label,split,name\n"
                                     "patient 1,x, a.jpg ,dog,train,first\n"
                                     "patient 2,,\"b c.jpg\",cat,Valid,\n"
                                     ",,a.jpg,cat,val,second\n"
                                     "patient 1,,./sub/../sub/d.bin,,test,third\n"),
                   NULL,
                   "first 1 train patient 1=1 [A]\nb c.jpg 0 val patient 2=2 [B]\n"
                   "second 0 val [A]\nthird test patient 1=1 [D]\n"
                   "class cat\nclass dog\n");
    static const char tabs[] = "file\ty\na.jpg\t2\nsub/d.bin\t0\n";
    gzFile zipped = gzopen(fgt_path(root, "m.tsv.gz"), "wb");
    assert_int_equal(gzwrite(zipped, tabs, sizeof(tabs) - 1), sizeof(tabs) - 1);
    assert_int_equal(gzclose(zipped), Z_OK);
    (void)manifest("m.tsv", tabs);
    for (int i = 0; i < 2; i++)
        fgt_catalog_is(fgt_path(root, i == 0 ? "m.tsv" : "m.tsv.gz"),
                       &(fg_catalog_options){.path_column = "file", .label_column = "y"},
                       "a.jpg 2 [A]\nsub/d.bin 0 [D]\nclass -\nclass -\nclass -\n");
    fgt_catalog_is(manifest("n.csv", "path,label\na.jpg,01\nsub/d.bin,00\n"), NULL,
                   "a.jpg 1 [A]\nsub/d.bin 0 [D]\nclass -\nclass -\n");
    fgt_catalog_is(manifest("s.csv", "path;label\na.jpg;1.0\nsub/d.bin;1\n"),
                   &(fg_catalog_options){.delimiter = ';'},
                   "a.jpg 1 [A]\nsub/d.bin 0 [D]\nclass 1\nclass 1.0\n");
}

/* The layouts of Kaggle (names without an extension, in another folder) and Hugging Face. */
static void files_may_be_in_another_folder(void **state)
{
    (void)state;
    fg_catalog_options options = {.path_column = "id", .root = root, .suffix = ".jpg"};
    fgt_catalog_is(manifest("sub/k.csv", "id,label\na,x\nb c.jpg,y\n"), &options,
                   "a.jpg 0 [A]\nb c.jpg 1 [B]\nclass x\nclass y\n");
    fgt_catalog_is(
        manifest("sub/k.jsonl", "\xef\xbb\xbf{\"id\": \"a\", \"label\": \"x\", \"age\": 3}\n"),
        &options, "a.jpg 0 [A]\nclass x\n");
    options.root = NULL;
    fgt_catalog_fails(fgt_path(root, "sub/k.csv"), &options, FG_ENOTFOUND,
                      "PATH:2: 'a.jpg' in 'FOLDER': no such file\npaths are relative to the folder "
                      "of the list" ELSEWHERE);
    fgt_catalog_is(manifest("metadata.csv", "file_name,label\na.jpg,x\n"), NULL,
                   "a.jpg 0 [A]\nclass x\n");
    fgt_catalog_is(manifest("metadata.jsonl", "{\"file_name\": \"a.jpg\", \"label\": 1}\n"), NULL,
                   "a.jpg 1 [A]\nclass -\nclass -\n");
    fgt_catalog_is(manifest("metadata.jsonl", "{\"file_name\": \"a.jpg\", \"label\": \"x\", "
                                              "\"classes\": [\"x\", \"y\"]}\n"), /* a sample */
                   NULL, "a.jpg 0 [A]\nclass x\n");
    fgt_catalog_is(manifest("both.csv", "file_name,path,labels\nb,a.jpg,x;y\n"),
                   &(fg_catalog_options){.label_column = "labels"},
                   "a.jpg 0 [A]\nclass x;y\n"); /* one class: it is not a list here */
}

static void hear(void *self, fg_log_level level, const char *line)
{
    fgi_buf_puts(self, level == FG_LOG_WARNING ? "!" : "");
    fgi_buf_puts(self, strstr(line, "': ") + 3);
    fgi_buf_putc(self, '\n');
}

static void ignored_columns_are_said(void **state)
{
    static const char *const lists[] = {"i.csv", "i.jsonl"};
    static const char *const says[] = {"ignored columns 'age' and 'sex'\n",
                                       "ignored member 'age'\n"};
    (void)state;
    (void)manifest("i.csv", "age,path,label,sex\n3,a.jpg,x,f\n");
    (void)manifest("i.jsonl", "{\"path\": \"a.jpg\", \"label\": 1, \"age\": 3}\n");
    for (size_t i = 0; i < 2; i++) {
        fgi_buf text = {0};
        fg_catalog *catalog;
        fgt_ok(fg_catalog_open(fgt_path(root, lists[i]), NULL, &catalog, &err));
        fgt_ok(fg_catalog_describe(catalog, hear, &text, &err));
        assert_string_equal(text.data, says[i]);
        fgi_buf_fini(&text);
        fg_catalog_close(catalog);
    }
}

/* Rows of files that do not exist are one line. */
static void missing_files_are_said_together(void **state)
{
    static const char *const lists[] = {"s.csv", "s.jsonl"};
    (void)state;
    (void)manifest("s.csv", "path,label\na.jpg,x\nm.jpg,x\nn.jpg,x\n");
    (void)manifest("s.jsonl", "{\"path\": \"a.jpg\"}\n{\"path\": \"m.jpg\"}\n"
                              "{\"path\": \"n.jpg\"}\n");
    for (size_t i = 0; i < 2; i++) {
        fgi_buf text = {0};
        fg_catalog *catalog;
        fgt_ok(fg_catalog_open(fgt_path(root, lists[i]),
                               &(fg_catalog_options){.skip_missing = true}, &catalog, &err));
        fgt_ok(fg_catalog_describe(catalog, hear, &text, &err));
        assert_string_equal(text.data, "!skipped 'm.jpg' and 'n.jpg': no such file\n");
        fgi_buf_fini(&text);
        fg_catalog_close(catalog);
    }
}

static void absolute_paths_are_allowed(void **state)
{
    (void)state;
    char text[400], expected[400];
    (void)snprintf(text, sizeof(text), "{\"path\": \"%s/a.jpg\"}\n", root);
    (void)snprintf(expected, sizeof(expected), "%s/a.jpg [A]\n", root);
    fgt_catalog_is(manifest("sub/m.jsonl", text), NULL, expected);
    fgt_catalog_is(manifest("sub/m.csv", "path\n../a.jpg\n"), &(fg_catalog_options){.root = ""},
                   "../a.jpg [A]\n"); /* no root: the folder of the list */
    fg_catalog *catalog;
    fg_catalog_bytes bytes = {0};
    fgt_write(fgt_path(root, "e.jpg"), "E", 1);
    fgt_ok(fgi_folder_make(fgt_path(root, "gone"), &err));
    (void)snprintf(text, sizeof(text), "path\n%s/e.jpg\n", root);
    fgt_ok(fg_catalog_open(manifest("gone/m.csv", text), NULL, &catalog, &err));
    fgt_ok(fgi_folder_remove(fgt_path(root, "gone"), &err)); /* does not matter to the file */
    assert_int_equal(unlink(fgt_path(root, "e.jpg")), 0);
    assert_int_equal(fg_catalog_read(catalog, 0, &bytes, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '~/e.jpg': No such file or directory");
    fg_catalog_bytes_fini(&bytes);
    fg_catalog_close(catalog);
}

static void several_labels_are_lists(void **state)
{
    (void)state;
    fgt_catalog_is(manifest("l.csv", "path,labels\na.jpg,red;tall ;\nb c.jpg,\n"
                                     "sub/d.bin,tall|blue|red\n"),
                   NULL,
                   "a.jpg 1,2 [A]\nb c.jpg [B]\nsub/d.bin 2,0,1 [D]\n"
                   "class blue\nclass red\nclass tall\n");
    fgt_catalog_is(manifest("l.jsonl", "{\"path\": \"a.jpg\", \"labels\": [3, 1]}\n\n"
                                       "{\"path\": \"b c.jpg\", \"label\": null, \"group\": 12, "
                                       "\"labels\": null}\r\n"
                                       "{\"label\": [2], \"path\": \"sub/d.bin\"}"),
                   NULL,
                   "a.jpg 3,1 [A]\nb c.jpg 12=1 [B]\nsub/d.bin 2 [D]\n"
                   "class -\nclass -\nclass -\nclass -\n");
}

static void several_labels_have_other_forms(void **state)
{
    static const char *const columns[] = {"dog", "1"}, *const wrong[] = {"dog", "cot"};
    const fg_catalog_options spaces = {.labels_column = "label", .label_separator = " ,"},
                             hot = {.label_columns = {columns, 2}};
    (void)state;
    fgt_catalog_is(manifest("s.csv", "path,label\na.jpg,red tall\nb c.jpg,\n"
                                     "sub/d.bin,\"tall,blue\"\n"),
                   &spaces,
                   "a.jpg 1,2 [A]\nb c.jpg [B]\nsub/d.bin 2,0 [D]\n"
                   "class blue\nclass red\nclass tall\n");
    const char *list = manifest("h.csv", "path,1,cat,label,dog\na.jpg,1,1,x,0\nb c.jpg,0,0,x,0\n"
                                         "sub/d.bin,1.0,0,x,1\n");
    fgt_catalog_is(list, &hot, "a.jpg 1 [A]\nb c.jpg [B]\nsub/d.bin 0,1 [D]\nclass dog\nclass 1\n");
    fgt_catalog_fails(list, &(fg_catalog_options){.label_columns = {wrong, 2}}, FG_EFORMAT,
                      "PATH:1: there is no column 'cot'; did you mean 'cat'?\ndata.label_columns "
                      "lists the columns of 0 and 1 that are labels");
    fgt_catalog_fails(manifest("h.csv", "path,1,dog\na.jpg,1,-1\n"), &hot, FG_EFORMAT,
                      "PATH:2: column 'dog': expected 0 or 1, got '-1'");
    fgt_catalog_fails(manifest("s.csv", "path,labels\na.jpg,x;y;x\n"), NULL, FG_EFORMAT,
                      "PATH:2: the label 'x' occurs twice");
}

static void json_distinguishes_names_and_indices(void **state)
{
    (void)state;
    fgt_catalog_is(manifest("t.jsonl",
                            "{\"path\": \"a.jpg\", \"label\": \"10\"}\n"
                            "{\"path\": \"b c.jpg\", \"label\": \"9\", \"group\": \"g\", "
                            "\"split\": \"val\", \"name\": \"n\"}\n"),
                   NULL, "a.jpg 0 [A]\nn 1 val g=1 [B]\nclass 10\nclass 9\n");
    const char *mixed = manifest("u.jsonl", "{\"path\": \"a.jpg\", \"label\": \"cat\"}\n"
                                            "{\"path\": \"b c.jpg\", \"label\": 1}\n");
    fgt_catalog_fails(mixed, NULL, FG_EFORMAT,
                      "PATH:1: sample 'a.jpg' has the class 'cat': a class name, but other samples "
                      "have integers as labels");
    static const char *const names[] = {"dog", "cat"};
    fgt_catalog_is(mixed, &(fg_catalog_options){.class_names = names, .class_count = 2},
                   "a.jpg 1 [A]\nb c.jpg 1 [B]\nclass dog\nclass cat\n");
    fgt_catalog_fails(manifest("v.jsonl", "{\"path\": \"a.jpg\", \"label\": 2}\n"),
                      &(fg_catalog_options){.class_names = names, .class_count = 2}, FG_EFORMAT,
                      "PATH:1: sample 'a.jpg' has the class '2': expected one of 'dog' and 'cat'");
}

/* The names of the classes, as an export of a pack writes them; those of a model come first. */
static void a_line_names_the_classes(void **state)
{
    (void)state;
    static const char *const names[] = {"y", "x"};
    const char *path = manifest("n.jsonl", "{\"classes\": [\"x\", \"y\", \"z\"]}\n"
                                           "{\"path\": \"a.jpg\", \"label\": \"y\"}\n");
    fgt_catalog_is(path, NULL, "a.jpg 1 [A]\nclass x\nclass y\nclass z\n");
    fgt_catalog_is(path, &(fg_catalog_options){.class_names = names, .class_count = 2},
                   "a.jpg 0 [A]\nclass y\nclass x\n");
    fgt_catalog_fails(manifest("n.jsonl", "{\"path\": \"a.jpg\"}\n{\"classes\": [\"x\"]}\n"), NULL,
                      FG_EFORMAT,
                      "PATH:2: member 'classes': expected a list of names, before the samples");
}

static void missing_files_are_reported_with_the_line(void **state)
{
    (void)state;
    const char *csv = manifest("x.csv", "path,label\n\na.jpg,0\nnone.jpg,1\nsub,1\n");
    fgt_catalog_fails(csv, NULL, FG_ENOTFOUND,
                      "PATH:4: 'none.jpg' in 'FOLDER': no such file" ADD_IT);
    fgt_catalog_is(csv, &(fg_catalog_options){.skip_missing = true},
                   "a.jpg 0 [A]\nclass -\nclass -\n" /* the label of a missing file counts */
                   "skip none.jpg: row 2: no such file\nskip sub: row 3: not a regular file\n");
    const char *jsonl = manifest("x.jsonl", "{\"path\": \"a.jpg\"}\n\n{\"path\": \"a.jpg/x\"}\n");
    fgt_catalog_fails(jsonl, NULL, FG_ENOTFOUND,
                      "PATH:3: 'a.jpg/x' in 'FOLDER': no such file" ADD_IT);
    fgt_catalog_is(jsonl, &(fg_catalog_options){.skip_missing = true},
                   "a.jpg [A]\nskip a.jpg/x: line 3: no such file\n");
}

static const struct {
    const char *name, *text, *part;
} line_mistakes[] = {
    {"e.csv", "paht,label\na.jpg,1\n",
     "PATH:1: there is no column 'path'; did you mean 'paht'?\nset the name of the column of the "
     "files: data.path_column, or fulgurite pack --source='{path_column: file}'"},
    {"e.csv", "path,split\na.jpg,dev\n",
     "PATH:2: unknown split 'dev': expected train, val or test"},
    {"e.csv", "path\na.jpg\na.jpg\n", "PATH:3: there are two samples with the name 'a.jpg'"},
    {"e.csv", "path,label\n,1\n", "PATH:2: the path is missing"},
    {"e.csv", "path,label\nb c.jpg,1\n\na.jpg,-1\n",
     "PATH:4: sample 'a.jpg' has the class '-1': expected a class index that is at least 0; omit "
     "the label of a "
     "sample without one"},
    {"e.csv", "path,label\na.jpg,16777216\n",
     "PATH:2: sample 'a.jpg' has the class '16777216': a class index must be below 16777216"},
    {"e.csv", "path,label,labels\na.jpg,1,2\n", "PATH:2: both 'label' and 'labels' are given"},
    {"e.csv", "path,label,labels\na.jpg,1,\nb c.jpg,1,2\n",
     "PATH:3: both 'label' and 'labels' are given"},
    {"e.csv", "path;label\na.jpg;1\n",
     "PATH:1: with the delimiter ',' there is only one column, but ';' occurs 1 time in each of "
     "the first rows\nset delimiter: \";\""},
    {"e.csv", "path,label\na.jpg,\"1\n", "PATH:2: byte 17: unclosed quote"},
    {"e.jsonl", "{\"path\": \"a.jpg\"}\n{\"path\": 1}\n",
     "PATH:2: member 'path': expected a string"},
    {"e.jsonl", "{\"path\": \"a.jpg\"}\n[1]\n", "PATH:2: expected a JSON object"},
    {"e.jsonl", "{\"path\": \"a.jpg\"}\n{\"path\"\n", "PATH:2: byte 25: invalid JSON: @"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"label\": 1.5}",
     "PATH:1: member 'label': expected an integer or a string"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"group\": 1.5}",
     "PATH:1: member 'group': expected an integer or a string"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"labels\": 1}", "PATH:1: member 'labels': expected a list"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"labels\": [1], \"label\": 1}",
     "PATH:1: both 'label' and 'labels' are given"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"labels\": [1, []]}",
     "PATH:1: member 'labels': expected an integer or a string"},
    {"e.jsonl", "\n{\"path\": \"a.jpg\", \"label\": -1}\n{\"path\": \"b c.jpg\", \"label\": -1}",
     "PATH:2: sample 'a.jpg' has the class '-1': expected a class index that is at least 0; omit "
     "the label of a "
     "sample without one"},
    {"e.csv", "a,b\n1,2\n",
     "PATH:1: there is no column 'path'\nset the name of the column of the files: "
     "data.path_column, or fulgurite pack --source='{path_column: file}'"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"split\": 1}", "PATH:1: member 'split': expected a string"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"name\": 1}", "PATH:1: member 'name': expected a string"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"label\": true}",
     "PATH:1: member 'label': expected an integer or a string"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"label\": [1], \"labels\": [2]}",
     "PATH:1: member 'label': expected an integer or a string"},
    {"e.jsonl", "{\"label\": 1}", "PATH:1: the path is missing"},
    {"e.csv",
     "path,split\na.jpg,0123456789012345678901234567890123456789012345678901234567890123456\n",
     "PATH:2: unknown split '0123456789012345678901234567890123456789012345678901234567890123': "
     "expected train, val or test"},
    {"e.jsonl", "{\"path\": \"a.jpg\", \"label\": \"x\"}\n{\"classes\": [\"x\"]}",
     "PATH:2: member 'classes': expected a list of names, before the samples"},
    {"e.jsonl", "{\"classes\": []}",
     "PATH:1: member 'classes': expected a list of names, before the samples"},
    {"e.jsonl", "{\"classes\": [\"x\", 1]}",
     "PATH:1: member 'classes': expected a list of strings"},
};

static void mistakes_have_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(line_mistakes) / sizeof(line_mistakes[0]); i++)
        fgt_catalog_fails(manifest(line_mistakes[i].name, line_mistakes[i].text), NULL, FG_EFORMAT,
                          line_mistakes[i].part);
    fgt_catalog_fails(manifest("e.jsonl", "\n"), NULL, FG_ENOTFOUND, "'PATH': no samples");
    fgt_catalog_fails(manifest("e.jsonl", "{\"path\": \"m.jpg\", \"label\": \"x\"}\n"
                                          "{\"classes\": [\"x\"]}\n{\"path\": \"a.jpg\"}"),
                      &(fg_catalog_options){.skip_missing = true}, FG_EFORMAT,
                      "PATH:2: member 'classes': expected a list of names, before the samples");
    fgt_catalog_fails(manifest("e.jsonl", "{\"file_name\": \"a.jpg\"}"),
                      &(fg_catalog_options){.path_column = "file"}, FG_EFORMAT,
                      "PATH:1: the file is missing");
    fgt_catalog_fails(manifest("e.csv", "path,label\na.jpg,1\nm.jpg,-2\n"),
                      &(fg_catalog_options){.skip_missing = true}, FG_EFORMAT,
                      "PATH:3: a skipped sample has the class '-2': expected a class index that is "
                      "at least 0; omit the label of a sample without one");
}

/* Which files are missing decides what is advised. */
static void missing_files_have_advice(void **state)
{
    (void)state;
    fg_catalog *catalog = NULL;
    fg_catalog_options options = {.keep_missing = true};
    fgt_catalog_fails(manifest("w.csv", "path\na.jpg\nm.jpg\n"), NULL, FG_ENOTFOUND,
                      "PATH:3: 'm.jpg' in 'FOLDER': no such file" ADD_IT);
    fgt_catalog_fails(manifest("w.csv", "path\nm.jpg\na.jpg\n"), NULL, FG_ENOTFOUND,
                      "PATH:2: 'm.jpg' in 'FOLDER': no such file\npaths are relative to the folder "
                      "of the list" ELSEWHERE);
    fgt_catalog_fails(manifest("w.csv", "path\nm.jpg\nn.jpg\n"), &options, FG_ENOTFOUND,
                      "'m.jpg' in 'FOLDER': no such file\npaths are relative to the folder of the "
                      "list" ELSEWHERE);
    fgt_ok(fg_catalog_open(manifest("w.csv", "path\nm.jpg\na.jpg\n"), &options, &catalog, &err));
    assert_int_equal(fg_catalog_count(catalog), 2);
    fg_catalog_close(catalog);
    options = (fg_catalog_options){.root = fgt_path(root, "sub")};
    fgt_catalog_fails(manifest("w.csv", "path\nm.jpg\n"), &options, FG_ENOTFOUND,
                      "PATH:2: 'm.jpg' in 'FOLDER/sub': no such file\npaths are relative to "
                      "root" ELSEWHERE);
    options = (fg_catalog_options){.path_column = "file"};
    fgt_catalog_fails(manifest("w.csv", "file,file_name\n,a.jpg\n"), &options, FG_EFORMAT,
                      "PATH:2: the file is missing");
}

static void rows_are_read_in_several_forms(void **state)
{
    (void)state;
    /* the first column with a cell */
    fgt_catalog_is(manifest("w.jsonl", "{\"file_name\": \"a.jpg\", \"path\": \"b c.jpg\"}\n"
                                       "{\"file_name\": \"sub/d.bin\", \"path\": null}\n"),
                   NULL, "b c.jpg [B]\nsub/d.bin [D]\n");
    fgt_catalog_is(manifest("w.csv", "path,labels,group,split\na.jpg,  x ;;y|,g,TEST\n"
                                     "b c.jpg,|,g,\nsub/d.bin,y,h,training\n"),
                   NULL,
                   "a.jpg 0,1 test g=1 [A]\nb c.jpg g=1 [B]\nsub/d.bin 1 train h=2 [D]\nclass "
                   "x\nclass y\n");
    fgt_catalog_is(manifest("w.ndjson", "{\"path\": \"a\", \"group\": -3}\n"),
                   &(fg_catalog_options){.suffix = ".jpg"}, "a.jpg -3=1 [A]\n");
}

/* Kinds by name, also of compressed lists. */
static void names_of_lists_have_endings(void **state)
{
    static const struct {
        const char *name, *text;
    } lists[] = {{"z.csv.gz", "path,group\na.jpg,0\n"},
                 {"z.jsonl.gz", "{\"path\": \"a.jpg\", \"group\": 0}\n"},
                 {"z.ndjson", "{\"path\": \"a.jpg\", \"group\": \"0\"}\n"},
                 {"z.ndjson.gz", "{\"path\": \"a.jpg\", \"group\": 0}\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        fgt_catalog_is(manifest(lists[i].name, lists[i].text), NULL, "a.jpg 0=1 [A]\n");
    fgt_catalog_is(manifest("w.csv", "path\nsub/d.bin\n"),
                   &(fg_catalog_options){.suffix = "sub/d.bin"}, "sub/d.bin [D]\n");
}

/* Of given classes, each label is checked; those of skipped samples need not be among them. */
static void all_labels_are_of_the_given_classes(void **state)
{
    static const char *const names[] = {"cat", "dog"};
    const fg_catalog_options options = {
        .class_names = names, .class_count = 2, .skip_missing = true};
    (void)state;
    fgt_catalog_is(manifest("g.csv", "path,label\nm.jpg,wolf\na.jpg,dog\n"), &options,
                   "a.jpg 1 [A]\nclass cat\nclass dog\nskip m.jpg: row 1: no such file\n");
    fgt_catalog_fails(manifest("g.csv", "path,labels\na.jpg,cat\nb c.jpg,cat;wolf\n"), &options,
                      FG_EFORMAT,
                      "PATH:3: sample 'b c.jpg' has the class 'wolf': expected one of 'cat' and "
                      "'dog'");
    fgt_catalog_fails(manifest("g.csv", "path,label\na.jpg,2\n"), &options, FG_EFORMAT,
                      "PATH:2: sample 'a.jpg' has the class '2': expected one of 'cat' and 'dog'");
    fg_catalog *catalog;
    fg_catalog_item item;
    fgt_ok(fg_catalog_open(manifest("g.csv", "path\na.jpg\n"), NULL, &catalog, &err));
    assert_int_equal(fg_catalog_item_at(catalog, 1, &item, &err), FG_EINVAL);
    assert_string_equal(err.message, "sample 1 is out of range: the catalog has 1 sample");
    fg_catalog_close(catalog);
}

/* What is ignored: said for the first sample only. */
static void what_lists_ignore_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *says; /* "": nothing */
    } cases[] = {
        {"q.csv", "path,name,label,labels,split,group\na.jpg,,,,,\n", ""},
        {"q.csv", "path,file_name\na.jpg,x\n", "ignored column 'file_name'\n"},
        {"q.csv", "file_name,x,y,z\na.jpg,1,2,3\n", "ignored columns 'x', 'y' and 'z'\n"},
        {"q.jsonl",
         "{\"path\": \"a.jpg\", \"file_name\": \"x\", \"name\": \"n\", \"label\": 1, \"labels\": "
         "null, \"split\": null, \"group\": null}",
         ""},
        {"q.jsonl", "{\"path\": \"a.jpg\", \"w\": 1, \"h\": 2}\n{\"path\": \"b c.jpg\", \"k\": 1}",
         "ignored members 'w' and 'h'\n"},
        {"q.jsonl", "{\"path\": \"a.jpg\", \"w\": 1, \"h\": 2, \"d\": 3}",
         "ignored members 'w', 'h' and 'd'\n"},
        {"q.jsonl", "{\"path\": \"a.jpg\"}\n{\"path\": \"b c.jpg\", \"k\": 1}", ""},
        {"q.jsonl", "{\"path\": \"no.jpg\", \"k\": 1}\n{\"path\": \"a.jpg\", \"k\": 1}",
         "ignored member 'k'\n!skipped 'no.jpg': no such file\n"},
        {"q.jsonl", "{\"classes\": [\"x\"]}\n{\"path\": \"a.jpg\", \"k\": 1}",
         "ignored member 'k'\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fgi_buf text = {0};
        fg_catalog *catalog;
        fgt_ok(fg_catalog_open(manifest(cases[i].name, cases[i].text),
                               &(fg_catalog_options){.skip_missing = true}, &catalog, &err));
        fgt_ok(fg_catalog_describe(catalog, hear, &text, &err));
        assert_string_equal(text.data != NULL ? text.data : "", cases[i].says);
        fgi_buf_fini(&text);
        fg_catalog_close(catalog);
    }
}

static fg_status open_manifest(void *path, fg_error *error)
{
    fg_catalog *catalog = NULL;
    fgi_buf text = {0};
    fg_status status =
        fg_catalog_open(path, &(fg_catalog_options){.skip_missing = true}, &catalog, error);
    if (status == FG_OK)
        status = fgt_catalog_write(catalog, &text, error);
    fgi_buf_fini(&text);
    fg_catalog_close(catalog);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(open_manifest,
                   (void *)manifest("f.csv", "path,labels,group,name\na.jpg,x;y,g,\n"
                                             "none.jpg,x,g,\nb c.jpg,y,h,\"n\"\"\"\n"));
    fgt_fault_loop(open_manifest,
                   (void *)manifest("f.jsonl", "{\"path\": \"a.jpg\", \"labels\": [1, 2]}\n"
                                               "{\"path\": \"none.jpg\", \"group\": \"g\"}\n"));
}

static const struct {
    const char *text, *message; /* NULL: valid */
} option_texts[] = {
    {"{kind: csv, delimiter: \\t, image_feature: image/jpeg, no_classes: true}", NULL},
    {NULL, NULL},
    {"{}", NULL},
    {"{delimiter: ab}", "source.delimiter: expected one character, such as ; or \\t, got 'ab'"},
    {"{delimiter: \"\"}", "source.delimiter: expected one character, such as ; or \\t, got ''"},
    {"{path_colum: x}", "source: unknown option 'path_colum': did you mean 'path_column'?"},
    {"{kind: zip}", "source.kind: expected one of auto|folder|csv|jsonl|tar|tfrecord, got 'zip'"},
    {"path_column=file,delimiter=;", "source: expected {OPTION: VALUE, ...}, got "
                                     "'path_column=file,delimiter=;': write {path_column: file, "
                                     "delimiter: ;}"},
};

/* What is not named keeps its value. */
static void options_come_as_a_map(void **state)
{
    const fg_string_pair pairs[] = {
        {"label_column", "kind"}, {"delimiter", ";"}, {"suffix", "null"}};
    const fg_string_map map = {pairs, 3};
    fg_catalog_options o = {.label_column = "class", .path_column = "file", .no_classes = true};
    void *strings = NULL;
    (void)state;
    fgt_ok(fgi_catalog_options_read(NULL, &map, &o, &strings, &err));
    assert_string_equal(o.label_column, "kind");
    assert_string_equal(o.path_column, "file");
    assert_true(o.delimiter == ';' && o.no_classes && o.suffix == NULL);
    fgi_free(strings);
    for (size_t i = 0; i < sizeof option_texts / sizeof option_texts[0]; i++) {
        const bool is_good = option_texts[i].message == NULL;
        o = (fg_catalog_options){.delimiter = ','};
        assert_int_equal(fgi_catalog_options_read(option_texts[i].text, NULL, &o, &strings, &err),
                         is_good ? FG_OK : FG_EINVAL);
        if (!is_good)
            assert_string_equal(err.message, option_texts[i].message);
        if (i == 0)
            assert_true(o.delimiter == '\t' && o.no_classes && strcmp(o.kind, "csv") == 0);
        assert_true((strings != NULL) == is_good);
        fgi_free(strings);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(csv_columns_are_found_by_name),
    cmocka_unit_test(files_may_be_in_another_folder),
    cmocka_unit_test(ignored_columns_are_said),
    cmocka_unit_test(missing_files_are_said_together),
    cmocka_unit_test(absolute_paths_are_allowed),
    cmocka_unit_test(several_labels_are_lists),
    cmocka_unit_test(several_labels_have_other_forms),
    cmocka_unit_test(json_distinguishes_names_and_indices),
    cmocka_unit_test(a_line_names_the_classes),
    cmocka_unit_test(missing_files_are_reported_with_the_line),
    cmocka_unit_test(mistakes_have_lines),
    cmocka_unit_test(missing_files_have_advice),
    cmocka_unit_test(rows_are_read_in_several_forms),
    cmocka_unit_test(names_of_lists_have_endings),
    cmocka_unit_test(all_labels_are_of_the_given_classes),
    cmocka_unit_test(what_lists_ignore_is_said),
    cmocka_unit_test(options_come_as_a_map),
    cmocka_unit_test(every_allocation_may_fail),
};

int main(void) { return cmocka_run_group_tests(tests, make_files, NULL) == 0 ? 0 : 1; }
