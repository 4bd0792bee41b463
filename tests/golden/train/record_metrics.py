#!/usr/bin/env python3
# Records scikit-learn's metrics for tests/cts/test_train_metrics.c in metrics.txt: CASE.METRIC VALUE. The samples are
# functions of their index, which the test computes too.
# Requires: numpy, scikit-learn (1.9.1 was used). usage: record_metrics.py > metrics.txt
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from sklearn import metrics as m

COUNT = 101


def label_of(i, classes):
    return 0 if i % 3 else i // 3 % classes


def logit_of(i, k, classes):
    return ((i * 37 + k * 61 + i * i * 7) % 97 - 48) / 16 + (2 if k == label_of(i, classes) else 0)


def show(case, values):
    for name, value in values.items():
        print(f"{case}.{name} {value:.10g}")


def classification(case, classes):
    y = np.array([label_of(i, classes) for i in range(COUNT)])
    x = np.array([[logit_of(i, k, classes) for k in range(classes)] for i in range(COUNT)])
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    guess, hot = x.argmax(1), np.eye(classes)[y]
    score = p[:, 1] if classes == 2 else p
    values = {"acc": m.accuracy_score(y, guess), "balanced_acc": m.balanced_accuracy_score(y, guess)}
    if classes > 2:
        values["top2_acc"] = m.top_k_accuracy_score(y, p, k=2)
    for average in ("macro", "micro"):
        scores = m.precision_recall_fscore_support(y, guess, average=average, zero_division=0)
        for name, value in zip(("precision", "recall", "f1"), scores):
            values[name + ("" if average == "macro" else "_micro")] = value
    values["auc"] = m.roc_auc_score(y, score, multi_class="ovr")
    values["ap"] = m.average_precision_score(y, score) if classes == 2 else m.average_precision_score(hot, p)
    values["log_loss"] = m.log_loss(y, p)
    values["perplexity"] = np.exp(m.log_loss(y, p))
    show(case, values)


def multilabel(case, classes):
    t = np.array([[(i * (k + 2) + k) % 7 < 2 for k in range(classes)] for i in range(COUNT)]).astype(int)
    x = np.array([[logit_of(i, k, classes) + t[i, k] for k in range(classes)] for i in range(COUNT)])
    guess = (x > 0).astype(int)
    values = {"acc": m.accuracy_score(t, guess)}
    for average in ("macro", "micro"):
        scores = m.precision_recall_fscore_support(t, guess, average=average, zero_division=0)
        for name, value in zip(("precision", "recall", "f1"), scores):
            values[name + ("" if average == "macro" else "_micro")] = value
    values["auc"] = m.roc_auc_score(t, x, average="macro")
    values["ap"] = m.average_precision_score(t, x, average="macro")
    values["log_loss"] = np.mean([m.log_loss(t[:, k], 1 / (1 + np.exp(-x[:, k]))) for k in range(classes)])
    show(case, values)


classification("two", 2)
classification("five", 5)
multilabel("labels", 4)
