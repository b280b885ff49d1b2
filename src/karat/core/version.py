"""The version of karat, which only pyproject.toml states too; whether a framework is newer than the tested releases."""

from __future__ import annotations

__version__ = "0.1.0"


def warn_of_newer(package: str, newest: str) -> None:
    """Warn if an installed package is of a later release than `newest`, the newest that karat is tested with.

    Numbers that `newest` leaves out do not count: "3.4" stands for every 3.4.x. Adapters call this where they are
    imported, which happens once in a process.

    >>> warn_of_newer("numpy", "1000")
    """
    import re  # noqa: PLC0415  (every start of a command reads this file)
    import warnings  # noqa: PLC0415
    from importlib import metadata  # noqa: PLC0415

    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:  # a framework that is imported from its source
        return
    tested, release = (list(map(int, re.findall(r"\d+", each))) for each in (newest, installed))
    if release[: len(tested)] > tested:
        warnings.warn(
            f"{package} {installed} is newer than {newest}, the newest release that karat {__version__} is tested "
            f"with. If something fails: pip install '{package}=={newest}.*'",
            stacklevel=2,
        )
