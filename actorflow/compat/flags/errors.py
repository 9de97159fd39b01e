"""The errors of flags."""

from __future__ import annotations


class Error(Exception):
    """The root of the errors of flags."""


class CantOpenFlagFileError(Error):
    """The file that `--flagfile` names can't be read."""


class DuplicateFlagError(Error, ValueError):
    """Two modules declare a flag of one name."""


class FlagNameConflictsWithMethodError(Error):
    """A flag has the name of a method of `FLAGS`."""


class IllegalFlagValueError(Error, ValueError):
    """A flag can't have that value."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no flag of that name."""


class UnparsedFlagAccessError(Error):
    """A flag's value is needed before the command line is read."""


class ValidationError(Error):
    """A validator can't be declared so."""
