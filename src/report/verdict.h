/* verdict.h - what slows a run down, what to do about it, and what that would gain: rules, each of
 * which looks at the numbers of report.json. A rule whose numbers are unknown gives no verdict.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_VERDICT_H
#define FGI_REPORT_VERDICT_H

#include "report/run_view.h"

/* The numbers that several rules use; NaN: unknown. */
typedef struct fgi_verdict_facts {
    const json_t *report;
    const json_t *settings, *loader, *host, *use; /* members of it; NULL: unknown */
    double wall_s;                                /* of the steps: the sum of the parts */
    double part[FGI_RUN_PARTS]; /* fractions of it, in the order of fgi_run_parts; NaN: unknown */
    double seconds;             /* of the run */
    double steps;               /* that the run has done, including those before a resume */
    double timed_steps;         /* that wall_s consists of */
    double samples_per_s;
    double step_s; /* median */
} fgi_verdict_facts;
enum {
    FGI_BUSY,
    FGI_WAIT_INPUT,
    FGI_WAIT_UPLOAD,
    FGI_WAIT_COMPILE,
    FGI_WAIT_READ,
    FGI_WAIT_SAVE,
    FGI_WAIT_OTHER
};

typedef enum fgi_severity { FGI_NOTE, FGI_MEDIUM, FGI_HIGH } fgi_severity;

typedef struct fgi_verdict {
    fgi_severity severity;
    fgi_buf detail, action; /* the numbers; a key or a command */
    double gain;            /* fraction of the time that it would save at most; NaN: unknown */
    bool is_of_run;         /* the time is that of the run, not of its steps */
} fgi_verdict;

typedef struct fgi_verdict_rule {
    const char *id, *title;
    /* Fills *out, whose severity is FGI_NOTE and gain NaN; false: no verdict. */
    bool (*judge)(const fgi_verdict_facts *facts, fgi_verdict *out);
} fgi_verdict_rule;

/* verdict_input.c */
bool fgi_verdict_input(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_files(const fgi_verdict_facts *facts, fgi_verdict *out);
/* verdict_host.c */
bool fgi_verdict_reads(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_shapes(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_compile(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_checkpoint(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_host(const fgi_verdict_facts *facts, fgi_verdict *out);
/* verdict_device.c */
bool fgi_verdict_batch(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_ops(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_16bit(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_fp16(const fgi_verdict_facts *facts, fgi_verdict *out);
bool fgi_verdict_lr(const fgi_verdict_facts *facts, fgi_verdict *out);

/* The severity of a wait that takes this fraction of the time, with the thresholds of XProf's input
 * pipeline analyzer: from 5 % on, FGI_MEDIUM; from 20 %, FGI_HIGH. False: less, or unknown. */
bool fgi_verdict_of_fraction(double fraction, fgi_severity *out);
/* The fraction of the time that the device waits for launches, which take a few microseconds of the
 * host for each step; 0: unknown. */
double fgi_verdict_launches(const fgi_verdict_facts *facts);
/* Appends "1 sample per step: " and the like: a number of at most 4 digits, without an exponent. */
void fgi_verdict_put_number(fgi_buf *out, double value);

/* The array "verdicts" of report.json, a new reference, the most important one first; empty if
 * nothing is wrong. NULL: out of memory. */
json_t *fgi_run_verdicts(const json_t *report);

#endif
