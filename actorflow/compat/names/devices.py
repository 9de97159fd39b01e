"""`tf.DeviceSpec`: parts of a device's name, with TensorFlow's names of the parts."""

from __future__ import annotations

from typing import Any

from actorflow.graph.device_spec import DeviceSpec as _Spec
from actorflow.public import public


@public("tf")
class DeviceSpec:
    """A device's name by its parts, of which those that are None are open (`tf.DeviceSpec`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.DeviceSpec(job="ps", device_type="CPU", device_index=0).to_string()
        '/job:ps/device:CPU:0'
    """

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        """
        Args:
            job, replica, task: where the device is.
            device_type: such as `CPU`.
            device_index: its number among the devices of its type.
        """
        self.job = job
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = device_type.upper() if device_type else device_type
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """The parts of a name. Raises ValueError with the part that is wrong.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.DeviceSpec.from_string("/job:ps/cpu:1").device_index
            1
        """
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes all parts from a name, and gives itself.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.DeviceSpec(job="ps").parse_from_string("/task:2").to_string()
            '/task:2'
        """
        part = _Spec.parse(spec)
        self.__init__(part.job, part.replica, part.task, part.kind, part.index)  # type: ignore[misc]
        return self

    def merge_from(self, dev: Any) -> None:
        """Takes the parts that `dev` has.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> spec = tf.DeviceSpec(job="ps", task=1)
            >>> spec.merge_from(tf.DeviceSpec(task=2))
            >>> spec.to_string()
            '/job:ps/task:2'
        """
        for name in _PARTS:
            if (value := getattr(dev, name)) is not None:
                setattr(self, name, value)

    def make_merged_spec(self, dev: Any) -> DeviceSpec:
        """A new name, with the parts that `dev` has in the place of its own.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.DeviceSpec(job="ps").make_merged_spec(tf.DeviceSpec(task=2)).to_string()
            '/job:ps/task:2'
        """
        merged = self.replace()
        merged.merge_from(dev)
        return merged

    def replace(self, **parts: Any) -> DeviceSpec:
        """A new name, with some parts replaced.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.DeviceSpec(job="ps").replace(job="worker").to_string()
            '/job:worker'
        """
        return DeviceSpec(**{name: parts.get(name, getattr(self, name)) for name in _PARTS})

    def to_string(self) -> str:
        """The name: `/job:<name>/replica:<id>/task:<id>/device:<type>:<id>`, without the parts that are open.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.DeviceSpec(device_type="gpu").to_string()
            '/device:GPU:*'
        """
        text = "".join(f"/{name}:{getattr(self, name)}" for name in _PARTS[:3] if getattr(self, name) is not None)
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


_PARTS = ("job", "replica", "task", "device_type", "device_index")
