"""One tree of errors: each says what went wrong, what was given, what is expected, and how to fix it."""


class DiffganError(Exception):
    """A user's mistake or an outside fault, told in one line; the CLI prints it and exits with 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class UsageError(DiffganError):
    """An option or a name that does not fit: correct the call."""


class DataError(DiffganError):
    """Images or labels that cannot be read or do not fit: correct the data or the path."""


class ModelError(DiffganError):
    """A classifier that cannot be loaded or answers wrongly: correct the file, its sidecar or the options."""


class RetryLaterError(ModelError):
    """A model somewhere else that answers only after a while, for which there is no time.

    Attributes:
        wait: seconds until it will answer.
    """

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


class UnsafeFileError(ModelError):
    """A file that could run code when loaded: export the model in a format that cannot."""


class GeneratorError(DiffganError):
    """A generator that cannot be loaded, trained, or used with this data: see its card, its sidecar or the options."""


class ArchiveError(DiffganError):
    """A run's archive that cannot be read or written: see the disk, the path, or the version of diffgan."""


class MissingExtraError(DiffganError):
    """An optional package is absent: install the extra that the message names."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed: pip install 'diffgan[{extra}]', or, in a "
            f"clone of diffgan, pip install '.[{extra}]'."
        )
