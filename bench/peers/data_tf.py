"""tf.data with two threads: decoding and random resized crops of JPEG files. tf.image resizes without antialiasing, and
decode_jpeg uses the fast inverse DCT, its default.

usage: data_tf.py FOLDER SECONDS [CASE...]     requires: tensorflow-cpu
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

from data_common import MEAN, STD, files, measure, versions


def decode(data):
    return tf.shape(tf.io.decode_jpeg(data, channels=3))


def crop(data):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(data), tf.zeros([1, 0, 4]), min_object_covered=0.0, area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3), max_attempts=10, use_image_if_no_bounding_boxes=True)
    box = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.image.resize(tf.io.decode_and_crop_jpeg(data, box, channels=3), [224, 224])
    return tf.image.random_flip_left_right(image)


def crop_u8(data):
    return tf.cast(tf.round(crop(data)), tf.uint8)


def crop_f32(data):
    return tf.transpose((crop(data) - tf.constant(MEAN)) / tf.constant(STD), [2, 0, 1])


def case(name, info, kind, batch_size, then):
    paths = files(kind)
    data = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths)).repeat()
    data = data.map(lambda path: then(tf.io.read_file(path)), num_parallel_calls=2, deterministic=False)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 2
    options.threading.max_intra_op_parallelism = 1
    measure(name, info, lambda: iter(data.batch(batch_size).prefetch(2).with_options(options)),
            lambda batch: int(batch.shape[0]))


def main():
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    versions(TensorFlow=tf.__version__)
    case("decode_small", "tf.data", "small", 128, decode)
    case("decode_large", "tf.data", "large", 10, decode)
    info = "tf.data, decode_and_crop_jpeg"
    case("rrc_small_u8", info, "small", 128, crop_u8)
    case("rrc_small_f32", info, "small", 128, crop_f32)
    case("rrc_large_f32", info, "large", 10, crop_f32)


if __name__ == "__main__":
    main()
