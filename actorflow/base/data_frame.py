"""`data_frame`: columns as a table of pandas, which is imported when a program asks for a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.errors import UnimplementedError, with_topic

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Sequence[Any]]) -> DataFrame:
    """A table with these columns, in this order.

    Raises:
        UnimplementedError: pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise UnimplementedError(
            "Tables need the package pandas, which is not installed.",
            hint=with_topic("Install it with: pip install 'actorflow[pandas]'", "extra-missing"),
        ) from None
    return DataFrame(dict(columns))
