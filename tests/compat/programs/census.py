"""Wide and deep models of a table in CSV files, as the tutorial on the census: feature columns, `tf.data`, canned Estimators."""

import csv
import os
import sys
import tempfile

import numpy as np

import actorflow.compat.v1 as tf

_COLUMNS = ["age", "workclass", "education", "education_num", "occupation", "gender", "hours_per_week", "income"]
_DEFAULTS = [[0], [""], [""], [0], [""], [""], [0], [""]]
_SIZE = {"train": 400, "validation": 120}
_EDUCATIONS = ["Bachelors", "HS-grad", "11th", "Masters", "Some-college", "Doctorate"]
_CLASSES = ["Private", "Self-emp-inc", "Federal-gov", "Never-worked"]
_JOBS = ["Tech-support", "Sales", "Adm-clerical", "Craft-repair", "Exec-managerial"]


def write_table(folder):
    rng = np.random.RandomState(11)
    for name, size in _SIZE.items():
        with tf.gfile.Open(os.path.join(folder, name + ".csv"), "w") as file:
            writer = csv.writer(file, lineterminator="\n")
            for _ in range(size):
                age, school, hours = rng.randint(17, 80), rng.randint(len(_EDUCATIONS)), rng.randint(10, 70)
                job, kind, gender = rng.randint(len(_JOBS)), rng.randint(len(_CLASSES)), rng.randint(2)
                rich = 0.03 * age + 0.5 * school + 0.04 * hours + 0.6 * (job == 4) + rng.randn() > 5.2
                row = [age, _CLASSES[kind], _EDUCATIONS[school], 5 + 2 * school, _JOBS[job]]
                writer.writerow([*row, ["Male", "Female"][gender], hours, ">50K" if rich else "<=50K"])


def build_model_columns():
    age = tf.feature_column.numeric_column("age")
    education_num = tf.feature_column.numeric_column("education_num")
    hours_per_week = tf.feature_column.numeric_column(
        "hours_per_week", normalizer_fn=lambda x: (tf.to_float(x) - 40.0) / 12.0
    )
    education = tf.feature_column.categorical_column_with_vocabulary_list("education", _EDUCATIONS)
    workclass = tf.feature_column.categorical_column_with_vocabulary_list("workclass", _CLASSES, num_oov_buckets=1)
    occupation = tf.feature_column.categorical_column_with_hash_bucket("occupation", hash_bucket_size=100)
    age_buckets = tf.feature_column.bucketized_column(age, boundaries=[18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
    wide = [
        education,
        workclass,
        occupation,
        age_buckets,
        tf.feature_column.crossed_column(["education", "occupation"], hash_bucket_size=100),
        tf.feature_column.crossed_column([age_buckets, "education", "occupation"], hash_bucket_size=100),
    ]
    deep = [
        age,
        education_num,
        hours_per_week,
        tf.feature_column.indicator_column(workclass),
        tf.feature_column.indicator_column(education),
        tf.feature_column.embedding_column(occupation, dimension=8),
    ]
    return wide, deep


def input_fn(data_file, num_epochs, batch_size):
    assert tf.gfile.Exists(data_file), f"{data_file} not found."

    def parse_csv(value):
        columns = tf.decode_csv(value, record_defaults=_DEFAULTS)
        features = dict(zip(_COLUMNS, columns))
        labels = features.pop("income")
        return features, tf.equal(labels, ">50K")

    dataset = tf.data.TextLineDataset(data_file)
    dataset = dataset.map(parse_csv, num_parallel_calls=2)
    return dataset.repeat(num_epochs).batch(batch_size).prefetch(1)


def main(argv):
    folder = tempfile.mkdtemp()
    write_table(folder)
    train_file, test_file = (os.path.join(folder, name + ".csv") for name in _SIZE)
    wide, deep = build_model_columns()
    run_config = tf.estimator.RunConfig(tf_random_seed=3).replace(
        session_config=tf.ConfigProto(device_count={"GPU": 0}), save_checkpoints_steps=50, log_step_count_steps=50
    )

    model = tf.estimator.LinearClassifier(
        feature_columns=wide,
        model_dir=os.path.join(folder, "wide"),
        config=run_config,
        optimizer=tf.train.FtrlOptimizer(
            learning_rate=0.1, l1_regularization_strength=0.5, l2_regularization_strength=1.0
        ),
    )
    for epoch in range(2):
        model.train(input_fn=lambda: input_fn(train_file, 2, 40))
        results = model.evaluate(input_fn=lambda: input_fn(test_file, 1, 40))
        for key in sorted(results):
            print(f"wide_{key}_{epoch}", float(results[key]))
    answers = list(model.predict(input_fn=lambda: input_fn(test_file, 1, 40)))
    print("wide_answers", len(answers))
    print("wide_probabilities", sum(float(one["probabilities"][1]) for one in answers))
    print("wide_classes", sum(int(one["classes"][0]) for one in answers))
    weights = model.get_variable_value("linear/linear_model/education/weights")
    print("wide_weights", float(np.abs(weights).sum()))
    print("wide_nonzero", float(np.count_nonzero(weights)))

    model = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=os.path.join(folder, "both"),
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[32, 16],
        config=run_config,
    )
    train = tf.estimator.TrainSpec(lambda: input_fn(train_file, None, 40), max_steps=100)
    test = tf.estimator.EvalSpec(lambda: input_fn(test_file, 1, 40), steps=None, throttle_secs=0, start_delay_secs=0)
    results, _ = tf.estimator.train_and_evaluate(model, train, test)
    print("both_step", float(results["global_step"]))
    print("both_metrics", float(len(results)))
    print("both_names", float(len(model.get_variable_names())))
    specification = tf.feature_column.make_parse_example_spec(wide + deep)
    exported = model.export_saved_model(
        os.path.join(folder, "export"), tf.estimator.export.build_parsing_serving_input_receiver_fn(specification)
    )
    print("both_exported", float(tf.gfile.Exists(os.path.join(exported.decode(), "saved_model.pb"))))
    tf.gfile.DeleteRecursively(folder)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.app.run(main=main, argv=sys.argv)
