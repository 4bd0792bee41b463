/* test_init.c - fulgurite init: what it detects in files of every format, and that the
 * configuration which it writes trains without changes. Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fulgurite/data.h>

static void lacks(const char *whole, const char *text)
{
    if (strstr(whole, text) != NULL)
        fail_msg("'%s' is in:\n%s", text, whole);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    fgt_write(fgt_path(folder, name), text, strlen(text));
}

/* The configuration in `file` trains. */
static void trains(const char *folder, const char *file)
{
    char arguments[256];
    (void)snprintf(arguments, sizeof(arguments), "fit %s --fast-dev-run --draw=never", file);
    contains(program_gives(0, folder, arguments)->err, "fast dev run: no error");
}

static void with_another_target(const char *folder)
{
    (void)program_gives(0, folder, "init homes.csv --target=kind --out=kind.yaml");
    const outcome *o = program_gives(0, folder, "init homes.csv --target=kind -o -");
    contains(o->out, "\ntask: classification\n");
    contains(o->out, "target: \"kind\"                      # given by --target\n");
    trains(folder, "kind.yaml");
    contains(program_gives(1, folder, "init homes.csv --target=rooms -o -")->err,
             "fulgurite init: --target: 'homes.csv' has no column 'rooms'\n");
}

static void a_csv_with_a_header(void **state)
{
    const char *folder = fgt_temp_folder();
    char rows[4096] = "id,area,kind,price\n";
    for (int i = 0; i < 60; i++) {
        const size_t used = strlen(rows);
        (void)snprintf(rows + used, sizeof(rows) - used, "%d,%d,%s,%.1f\n", i, 20 + i * 7 % 31,
                       i % 3 == 0 ? "\"loft, small\"" : "flat", 40 + i * 1.7);
    }
    write_text(folder, "homes.csv", rows);
    const outcome *o = program_gives(0, folder, "init homes.csv");
    contains(o->err, "wrote homes.yaml: ");
    contains(o->err, "\n  fulgurite fit homes.yaml\n");
    assert_string_equal(o->out, "");
    o = program_gives(0, folder, "init homes.csv --out=-");
    contains(o->out, "\ntask: regression\n");
    contains(o->out, "# detected: a column of numbers\n");
    contains(o->out, "# homes.csv: 60 rows, 4 columns\n");
    contains(o->out, "  delimiter: \",\"                      # detected: 4 columns in each row\n");
    contains(o->out, "  no_header: false                    # detected: names above numbers\n");
    contains(o->out,
             "  target: \"price\"                     # inferred, check it: the last column\n");
    contains(o->out,
             "  ignore: # inferred, check it: these are probably not features\n    - \"id\" "
             "# it contains row numbers\n");
    contains(o->out, "  val_fraction: 0.2");
    lacks(o->out, "missing:");
    trains(folder, "homes.yaml");
    with_another_target(folder);
}

static void texts(void **state)
{
    const char *folder = fgt_temp_folder();
    char text[1200];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    write_text(folder, "book.txt", text);
    const outcome *o = program_gives(0, folder, "init book.txt -o book.yaml");
    o = program_gives(0, folder, "init . -o -"); /* a folder of .txt files */
    contains(o->out, "# detected: 1 file of text, 1.2 kB\n\ntask: language\n");
    contains(o->out, "\n  tokenizer: \"bytes\" ");
    contains(o->out, "\n  length: 16 ");
    write_text(folder, "r.jsonl",
               "{\"review\": \"good\", \"label\": 1}\n{\"review\": \"bad\", \"label\": 0}\n"
               "{\"review\": \"a\", \"label\": 1}\n{\"review\": \"b\", \"label\": 0}\n");
    o = program_gives(0, folder, "init r.jsonl -o r.yaml");
    o = program_gives(0, folder, "init r.jsonl -o -");
    contains(o->out, "\ntask: classification\n");
    contains(o->out, "\n  text: \"review\" ");
    contains(o->out, "\n  vocabulary: 256 ");
    (void)program_gives(0, folder, "pack book.txt book.pack --sequence=16 -q");
    (void)program_gives(0, folder, "init book.pack -o tokens.yaml");
    trains(folder, "tokens.yaml --model.layers=1");
    (void)program_gives(0, folder,
                        "fit r.yaml --fast-dev-run --draw=never --data.val_fraction=0.5 "
                        "--model.layers=1");
}

static void a_csv_with_several_labels(void **state)
{
    const char *folder = fgt_temp_folder();
    write_text(folder, "tags.csv", "x,tags,a,b\n1,a;b,1,1\n2,b,0,1\n3,,0,0\n4,a,1,0\n");
    const outcome *o = program_gives(0, folder, "init tags.csv --target=tags -o -");
    contains(o->out, "# inferred, check it: a column of lists of labels, 2 distinct labels\n"
                     "task: multilabel\n");
    lacks(o->out, "missing:");
    o = program_gives(0, folder, "init tags.csv --target=a,b -o -");
    contains(o->out, "\ntask: multilabel\n");
    contains(o->out, "  label_columns: [\"a\", \"b\"] ");
}

static void existing_files_stay(void **state)
{
    const char *folder = fgt_temp_folder();
    write_text(folder, "a.csv", "x,y\n1,2\n3,4.5\n");
    write_text(folder, "a.yaml", "task: mine\n");
    contains(program_gives(1, folder, "init a.csv")->err,
             "fulgurite init: 'a.yaml' exists already: use --out=FILE for another name, or "
             "--force\n");
    char kept[64] = "";
    FILE *file = fopen(fgt_path(folder, "a.yaml"), "rb");
    assert_non_null(file);
    (void)fread(kept, 1, sizeof(kept) - 1, file);
    (void)fclose(file);
    assert_string_equal(kept, "task: mine\n");
    (void)program_gives(0, folder, "init a.csv --force");
    (void)program_gives(0, folder, "fit a.yaml --print-config=plain");
}

/* What a German spreadsheet exports: a byte order mark, CRLF, semicolons, decimal commas, prices
 * with a currency, dates, and empty rows at the end. */
static void an_export_of_a_spreadsheet(void **state)
{
    const char *folder = fgt_temp_folder();
    char rows[4096] = "\xef\xbb\xbfNr;Datum;Fl\xc3\xa4"
                      "che;Preis;Notiz\r\n";
    for (int i = 0; i < 40; i++) {
        const size_t used = strlen(rows);
        (void)snprintf(rows + used, sizeof(rows) - used,
                       "%d;%d.02.2023;%d%s;%d.%03d,50 EUR;n%d\r\n", 100 + i, 1 + i % 28, 30 + i,
                       i == 7 ? ",25" : "", 1 + i, i, i);
    }
    strcat(rows, ";;;;\r\n;;;;\r\n");
    write_text(folder, "export.csv", rows);
    const outcome *o = program_gives(0, folder, "init export.csv -o -");
    contains(o->out, "# export.csv: 40 rows, 5 columns\n");
    contains(o->out, "\ntask: regression\n");
    contains(o->out, "  decimal: \",\" ");
    contains(o->out,
             "  target: \"Preis\"                     # inferred, check it: the last column "
             "that is not ignored\n  numeric: # detected: numbers with a currency, a percent "
             "sign or separated thousands\n    - \"Preis\"\n");
    contains(o->out,
             "    - \"Nr\" # it contains row numbers\n    - \"Datum\" # it contains dates\n");
    (void)program_gives(0, folder, "init export.csv");
    trains(folder, "export.yaml");
    write_text(folder, "points.csv", "a;price\n1;1.200 EUR\n2;3.450 EUR\n3;2.125 EUR\n");
    contains(program_gives(0, folder, "init points.csv -o -")->out,
             "  decimal: \",\"                        # inferred, check it: points probably "
             "separate thousands\n");
    write_text(folder, "points.csv", "a;price\n1.5;1.20 EUR\n2;3.45 EUR\n3;2.12 EUR\n");
    lacks(program_gives(0, folder, "init points.csv -o -")->out, "decimal:");
    write_text(folder, "points.csv", "a;price\n1.5;1.200 EUR\n2;3.450 EUR\n3;2.125 EUR\n");
    lacks(program_gives(0, folder, "init points.csv -o -")->out, "decimal:");
    write_text(folder, "points.tsv", "a\tprice\n1\t1.200 EUR\n2\t3.450 EUR\n3\t2.125 EUR\n");
    lacks(program_gives(0, folder, "init points.tsv -o -")->out, "decimal:");
}

/* A class that is called None is kept; with missing numbers that are called so, it is an error. */
static void a_class_named_none(void **state)
{
    const char *folder = fgt_temp_folder();
    char rows[1024] = "a;b;risk\n", other[1024] = "a;b;risk\n";
    for (int i = 0; i < 20; i++) {
        (void)snprintf(rows + strlen(rows), 32, "%d;%s;%s\n", i % 7, i == 3 ? "" : "1",
                       i % 3 == 0 ? "None" : "Low");
        (void)snprintf(other + strlen(other), 32, "%d;%s;%s\n", i % 7, i == 3 ? "NA" : "1",
                       i % 3 == 0 ? "None" : "Low");
    }
    write_text(folder, "risk.csv", rows);
    contains(program_gives(0, folder, "init risk.csv -o -")->out,
             "  keep_default_na: false              # inferred, check it: words such as None are "
             "classes\n  missing: mean  ");
    (void)program_gives(0, folder, "init risk.csv");
    trains(folder, "risk.yaml");
    write_text(folder, "other.csv", other);
    contains(program_gives(1, folder, "init other.csv")->err,
             "the target is missing: 'None'\nremove the row");
}

/* Other delimiters, no header, missing cells, a target by name, images in rows. */
/* A table of classes, and a column of numbers for each spelling of a missing value. */
static void put_spellings(const char *folder, const char *file, const char *const *spellings)
{
    FILE *out = fopen(fgt_path(folder, file), "w");
    assert_non_null(out);
    for (int row = -1; row < 60; row++) {
        for (int i = 0; spellings[i] != NULL; i++)
            if (row < 0)
                (void)fprintf(out, "x%d,", i);
            else if (row % 7 == 3)
                (void)fprintf(out, "%s,", spellings[i]);
            else
                (void)fprintf(out, "%d,", row * (i + 3) % 17);
        (void)fputs(row < 0 ? "class\n" : row % 2 == 0 ? "yes\n" : "no\n", out);
    }
    assert_int_equal(fclose(out), 0);
}

/* The reader that trains treats a missing value as init did. Words that it does not know are
 * listed, unless a column has two of them, or the target. */
static void missing_values_of_any_spelling(void **state)
{
    static const char *const known[] = {"",     "NA",  "N/A",    "n/a",  "#N/A", "#NA",  "<NA>",
                                        "NaN",  "nan", "NAN",    "-nan", "-NaN", "null", "NULL",
                                        "None", "?",   "\"NA\"", " ",    NULL},
                             *const others[] = {"na",        "Null",       "none", "-",   ".",
                                                "\"n. a.\"", "\"a\"\"b\"", "na",   "nil", NULL};
    const char *folder = fgt_temp_folder();
    (void)state;
    put_spellings(folder, "known.csv", known);
    put_spellings(folder, "others.csv", others);
    const outcome *o = program_gives(0, folder, "init known.csv -o -");
    contains(o->out,
             "  missing: mean                       # 162 missing values, first in column x0\n");
    lacks(o->out, "na_values");
    (void)program_gives(0, folder, "init known.csv");
    trains(folder, "known.yaml");
    contains(program_gives(0, folder, "init others.csv -o -")->out,
             "  na_values: [\"na\", \"Null\", \"none\", \"-\", \".\", \"n. a.\", \"a\\\"b\", "
             "\"nil\"] # inferred, "
             "check it: the only text in a column of numbers\n  missing: mean                      "
             " # 81 missing");
    (void)program_gives(0, folder, "init others.csv");
    trains(folder, "others.yaml");
    write_text(folder, "two.csv",
               "a,b,c\n1,na,-\n2,4,6\n3,5,7\n4,na,8\n5,6,9\n6,-,7\n7,6,6\n8,9,9\n");
    contains(program_gives(0, folder, "init two.csv --target=a -o -")->out,
             "  na_values: [\"-\"]                    # inferred");
    lacks(program_gives(0, folder, "init two.csv --target=c -o -")->out, "na_values");
}

static void other_tables(void **state)
{
    const char *folder = fgt_temp_folder();
    char rows[16384] = "";
    for (int i = 0; i < 40; i++) {
        const size_t used = strlen(rows);
        (void)snprintf(rows + used, sizeof(rows) - used, "%d,5;%s;%s\n", i % 7,
                       i == 3  ? ""
                       : i % 2 ? "1.5"
                               : "2.25",
                       i % 2 ? "no" : "yes");
    }
    write_text(folder, "semicolons.csv", rows);
    const outcome *o = program_gives(0, folder, "init semicolons.csv -o -");
    contains(o->out, "\ntask: classification\n");
    contains(o->out, "  delimiter: \";\"                      # inferred, check it: 3 columns");
    contains(o->out,
             "  missing: mean                       # 1 missing value, first in column number 1");
    write_text(folder, "tabs.tsv", "class\tx\tname\na\t1\tp\nb\t2\tq\na\t3\tr\nb\t4\ts\n");
    o = program_gives(0, folder, "init tabs.tsv -o -");
    contains(o->out, "  delimiter: \"\\t\" ");
    contains(o->out,
             "  target: \"class\"                     # detected: a common name of targets\n");
    contains(o->out, "\ntask: classification\n");
    rows[0] = '\0';
    for (int i = 0; i < 60; i++)
        for (int p = 0; p < 65; p++) {
            const size_t used = strlen(rows);
            (void)snprintf(rows + used, sizeof(rows) - used, "%d%s",
                           p == 64 ? i % 3 * 99 : i * p % 17, p == 64 ? "\r\n" : ",");
        }
    write_text(folder, "images.csv", rows);
    o = program_gives(0, folder, "init images.csv -o -");
    contains(o->out,
             "  no_header: true                     # detected: the first row has numbers\n");
    contains(o->out, "  target: \"64\" ");
    contains(o->out, "  image: [8, 8, 1] ");
    contains(o->out, "  scale: 0.0625 ");
    contains(o->out, "  name: lenet\n");
    (void)program_gives(0, folder, "init images.csv");
    trains(folder, "images.yaml");
    assert_int_equal(shell(folder,
                           "(echo label; seq 64) | paste -sd, >first.csv; awk -F, -v OFS=, "
                           "'{ sub(/\\r/, \"\"); print $65, $0 }' images.csv | cut -d, -f1-65 "
                           ">>first.csv"),
                     0);
    contains(program_gives(0, folder, "init first.csv -o -")->out, "  image: [8, 8, 1] ");
}

/* A target of many classes is the target. */
static void many_classes(void **state)
{
    const char *folder = fgt_temp_folder();
    assert_int_equal(shell(folder,
                           "(echo x,word,label; seq 2200 | awk '{ print $1 % 7 \".5,w\" $1 % 1100 "
                           "\",c\" $1 % 1100 }') >many.csv"),
                     0);
    const outcome *o = program_gives(0, folder, "init many.csv -o -");
    contains(o->out, "\n  target: \"label\" ");
    contains(o->out, "    - \"word\" # it has many categories\n");
    lacks(o->out, "    - \"label\"");
}

static void folders_of_other_formats(void **state)
{
    static const float x[12][2] = {{1, 2}, {3, 4}}, y[12] = {0.5F};
    const char *folder = fgt_temp_folder();
    fg_error err = {0};
    const fg_type x_type = {.dtype = FG_F32, .rank = 2, .dim = {12, 2}};
    const fg_type y_type = {.dtype = FG_F32, .rank = 1, .dim = {12}};
    fgt_ok(fg_npy_write(fgt_path(folder, "x.npy"), &x_type, x, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &y_type, y, &err));
    const outcome *o = program_gives(0, folder, "init x.npy -o -");
    contains(o->out, "# detected: a target is f32[]\ntask: regression\n");
    contains(o->out, "  x: \"x.npy\"\n  y: \"y.npy\"\n");
    (void)program_gives(0, folder, "init .");
    trains(folder, "run.yaml");
    o = program_gives(0, folder, "init y.npy -o -");
    contains(o->out, "  x: \"x.npy\"\n  y: \"y.npy\"\n");
    assert_int_equal(shell(folder, "mv x.npy train_X.npy; mv y.npy train_Y.npy"), 0);
    o = program_gives(0, folder, "init train_Y.npy -o -");
    contains(o->out, "  x: \"train_X.npy\"\n  y: \"train_Y.npy\"\n");
}

static void folders_of_published_datasets_and_tables(void **state)
{
    const char *mnist = fgt_temp_folder();
    write_text(mnist, "train-images-idx3-ubyte", "");
    const outcome *o = program_gives(0, mnist, "init ./ -o -");
    contains(o->out, "  format: idx\n  path: \"./\"\n");
    const char *cifar = fgt_temp_folder();
    write_text(cifar, "data_batch_1.bin", "");
    contains(program_gives(0, cifar, "init . -o -")->out, "  format: cifar10\n");
    const char *cifar100 = fgt_temp_folder();
    write_text(cifar100, "fine_label_names.txt", "");
    contains(program_gives(0, cifar100, "init . -o -")->out, "  format: cifar100\n");
    const char *tables = fgt_temp_folder();
    write_text(tables, "train.csv", "a,b\n1,2\n2,3\n");
    write_text(tables, "val.csv", "a,b\n1,2\n");
    write_text(tables, "test.csv", "a,b\n1,2\n");
    o = program_gives(0, tables, "init . -o -");
    contains(o->out, "  path: \"./train.csv\"\n");
    contains(o->out, "  val: \"./val.csv\"\n  test: \"./test.csv\"\n");
    lacks(o->out, "val_fraction");
}

/* The only table in a folder is used, whatever its name; with two tables, neither is. */
static void the_only_table_of_a_folder(void **state)
{
    (void)state;
    char rows[1024] = "a,b,y\n";
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < 20; i++)
        (void)snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%d,%d.5,%s\n", i, i % 7,
                       i % 2 ? "no" : "yes");
    write_text(folder, "README.txt", "not,a,table\n");
    write_text(folder, "measured.csv", rows);
    contains(program_gives(0, folder, "init . -o -")->out, "measured.csv");
    write_text(folder, "sample_submission.csv", rows); /* which Kaggle expects back */
    contains(program_gives(0, folder, "init . -o -")->out, "measured.csv");
    write_text(folder, "again.csv", rows);
    assert_true(program(folder, "init . -o -")->status != 0);
    write_text(folder, "train.csv", rows); /* but for the usual names */
    contains(program_gives(0, folder, "init . -o -")->out, "train.csv");
    assert_int_equal(shell(folder, "mv train.csv training.csv"), 0);
    contains(program_gives(0, folder, "init . -o -")->out, "training.csv");
    assert_int_equal(shell(folder, "tr , '\\t' <again.csv | gzip >only.tsv.gz; rm *.csv"), 0);
    contains(program_gives(0, folder, "init . -o -")->out, "only.tsv.gz");
}

static void what_is_no_data(void **state)
{
    const char *folder = fgt_temp_folder();
    contains(program_gives(1, folder, "init nowhere.csv")->err,
             "fulgurite init: cannot open 'nowhere.csv': No such file or directory\n");
    contains(program_gives(1, folder, "init .")->err,
             "fulgurite init: '.' contains no data in a known format: expected one .csv file");
    write_text(folder, "empty.csv", "");
    contains(program_gives(1, folder, "init empty.csv")->err, "empty.csv:1: the file is empty");
    write_text(folder, "header.csv", "a,b\n");
    contains(program_gives(1, folder, "init header.csv")->err,
             "header.csv:1: the file has a header but no data rows");
    contains(program_gives(2, folder, "fit header.csv")->err,
             "'header.csv' is not a configuration: expected a YAML file\n"
             "to write one for these data, use: fulgurite init header.csv\n");
    contains(program_gives(2, folder, "fit .")->err, "'.' is not a configuration");
    write_text(folder, "prose.dat", "one\ntwo words\nthree of them\n");
    contains(program_gives(1, folder, "init prose.dat")->err,
             "'prose.dat' does not look like a CSV file");
    write_text(folder, "table.txt", "a,b\n1,2\n2,4.5\n");
    contains(program_gives(0, folder, "init table.txt -o -")->out, "\n  format: csv\n");
    fgt_write(fgt_path(folder, "zeros.csv"), "a,b\0c\n", 6);
    contains(program_gives(1, folder, "init zeros.csv")->err, "zeros.csv:1: byte 3: a NUL byte");
    fgt_write(fgt_path(folder, "x.npy"), "", 0);
    contains(program_gives(1, folder, "init x.npy")->err, "found no second .npy file");
    (void)program_gives(2, folder, "init");
    assert_int_not_equal(access(fgt_path(folder, "empty.yaml"), F_OK), 0); /* nothing is left */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_csv_with_a_header),
    cmocka_unit_test(a_csv_with_several_labels),
    cmocka_unit_test(texts),
    cmocka_unit_test(existing_files_stay),
    cmocka_unit_test(an_export_of_a_spreadsheet),
    cmocka_unit_test(a_class_named_none),
    cmocka_unit_test(missing_values_of_any_spelling),
    cmocka_unit_test(other_tables),
    cmocka_unit_test(many_classes),
    cmocka_unit_test(folders_of_other_formats),
    cmocka_unit_test(folders_of_published_datasets_and_tables),
    cmocka_unit_test(the_only_table_of_a_folder),
    cmocka_unit_test(what_is_no_data),
};
FGT_MAIN(tests)
