"""Names that TensorFlow 1.15 keeps in `tf.data.experimental`.

files.py            datasets of CSV files and of Examples in files, and a writer of records
grouping.py         transformations that sort elements by a key, or carry a state
options.py          settings of TensorFlow's threads and passes, which have no effect
sampling.py         datasets that are drawn from others, and how many elements there are
transformations.py  functions for `Dataset.apply`, most of which are methods by now
"""

from actorflow.models.data.experimental import files as _files
from actorflow.models.data.experimental import grouping as _grouping
from actorflow.models.data.experimental import options as _options
from actorflow.models.data.experimental import sampling as _sampling
from actorflow.models.data.experimental import transformations as _transformations
from actorflow.models.data.experimental.files import *  # noqa: F403
from actorflow.models.data.experimental.grouping import *  # noqa: F403
from actorflow.models.data.experimental.options import *  # noqa: F403
from actorflow.models.data.experimental.sampling import *  # noqa: F403
from actorflow.models.data.experimental.transformations import *  # noqa: F403
from actorflow.public import public as _public

_public("tf.data:experimental")

__all__ = [*_files.__all__, *_grouping.__all__, *_options.__all__, *_sampling.__all__, *_transformations.__all__]
