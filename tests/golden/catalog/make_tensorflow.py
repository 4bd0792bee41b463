#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tensorflow.tfrecord with tensorflow-cpu 2.21.0: the samples of make_tfrecord.py. Run in this folder."""
import tensorflow as tf
from make_tfrecord import SAMPLES


def of_bytes(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def of_integer(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


with tf.io.TFRecordWriter("tensorflow.tfrecord") as writer:
    for name, image, label, text in SAMPLES:
        features = {"image/encoded": of_bytes(image), "image/class/label": of_integer(label),
                    "image/class/text": of_bytes(text), "image/filename": of_bytes(name),
                    "image/height": of_integer(7), "image/mean": tf.train.Feature(
                        float_list=tf.train.FloatList(value=[0.5, 1.5]))}
        writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
