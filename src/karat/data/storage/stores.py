"""Object stores as file systems of Arrow, with credentials from the environment, and their errors in words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from karat.core.errors import DataError, KaratError, MissingExtra
from karat.data.storage.addresses import hide_secrets, is_address, split_address

if TYPE_CHECKING:
    from pyarrow import fs

ATTEMPTS = 5
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (AWS_NO_SIGN_REQUEST=1 for a public bucket)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login` "
    "(CLOUDSDK_AUTH_DISABLE_CREDENTIALS=1 for a public bucket)",
    "az": "AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or run `az login`",
    "hf": "HF_TOKEN",
}
_ENDPOINTS = {
    "s3": "AWS_ENDPOINT_URL",
    "gs": "STORAGE_EMULATOR_HOST",
    "az": "AZURE_STORAGE_ACCOUNT",
    "hf": "HF_ENDPOINT",
}
_SECRET = re.compile(r"SECRET|TOKEN|_KEY$|KEY_ID$|CONNECTION_STRING")
_NO_BUCKET = re.compile(
    r"NO_SUCH_BUCKET|(bucket|container)\W.{0,60}(not exist|not found)|ContainerNotFound", re.IGNORECASE
)
_DENIED = re.compile(
    r"ACCESS_DENIED|ACCESS_KEY|CLIENT_TOKEN|SIGNATURE|EXPIRED|UNAUTHENTICATED|PERMISSION_DENIED|credential"
    r"|Authenti|Authoriz|Unauthorized|Forbidden|\b40[13]\b",
    re.IGNORECASE,
)
_REGION = re.compile(r"\b301\b|PermanentRedirect|AuthorizationHeaderMalformed", re.IGNORECASE)
_TRUNCATED = re.compile(r"partial file|truncated|IncompleteRead", re.IGNORECASE)
_UNREACHABLE = re.compile(r"NETWORK_CONNECTION|curlCode|tim(ed |e)?-?out|resolve|connect", re.IGNORECASE)


def find_store(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address (`s3://`, `gs://`, `az://` or `hf://`), and the path in it.

    Raises `DataError` for another scheme or for settings that are missing, `MissingExtra` for `hf://` without its
    package.
    """
    store, path = split_address(address)
    with store_errors(address):
        if store == "s3":
            return _open_s3(path.partition("/")[0]), path
        if store == "gs":
            return _open_gs(), path
        if store == "az":
            return _open_az(path)
        if store == "hf":
            return _open_hf(), path
    raise DataError(f"{hide_secrets(address)}: files at such addresses can only be read, one by one")


def _open_s3(bucket: str) -> fs.FileSystem:
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None:
        region = "us-east-1" if endpoint else _find_region(bucket)
    return _s3(endpoint, region, _is_on("AWS_NO_SIGN_REQUEST"))


@lru_cache
def _find_region(bucket: str) -> str | None:
    from pyarrow import fs  # noqa: PLC0415  (slow to import)

    try:
        return str(fs.resolve_s3_region(bucket))
    except OSError:
        return None  # the profile may name one


@lru_cache
def _s3(endpoint: str, region: str | None, anonymous: bool) -> fs.FileSystem:
    from pyarrow import fs  # noqa: PLC0415

    scheme, _, host = endpoint.rpartition("://")
    return fs.S3FileSystem(
        anonymous=anonymous,
        region=region,
        scheme=scheme or "https",
        endpoint_override=host.rstrip("/") or None,
        connect_timeout=10,
        request_timeout=60,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        allow_delayed_open=True,  # one request writes a small file
    )


def _open_gs() -> fs.FileSystem:
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
    return _gs(emulator, bool(emulator) or _is_on("CLOUDSDK_AUTH_DISABLE_CREDENTIALS"))


@lru_cache
def _gs(emulator: str, anonymous: bool) -> fs.FileSystem:
    from pyarrow import fs  # noqa: PLC0415

    scheme, _, host = emulator.rpartition("://")
    place = {"scheme": scheme or "http", "endpoint_override": host.rstrip("/")} if emulator else {}
    return fs.GcsFileSystem(anonymous=anonymous, retry_time_limit=timedelta(seconds=60), **place)


def _open_az(path: str) -> tuple[fs.FileSystem, str]:
    container, at, rest = path.partition("@")  # abfss://container@account.dfs.core.windows.net/path
    host, _, key = rest.partition("/")
    settings = azure_settings(host.partition(".")[0] if at else None)
    if settings is None:
        raise DataError(f"az://{path}: the storage account is not known; set {_CREDENTIALS['az']}")
    return _az(tuple(settings.items())), f"{container}/{key}" if at else path


def azure_settings(account: str | None = None) -> dict[str, str] | None:
    """The settings of Arrow's `AzureFileSystem` that the environment names; None if it names no storage account."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    parts = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";")
    named = dict(part.split("=", 1) for part in parts if "=" in part)

    def first(*names: str) -> str | None:
        return next((value for name in names if (value := os.environ.get(name) or named.get(name))), None)

    settings = {
        "account_name": account or first("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME", "AccountName"),
        "account_key": first("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AccountKey"),
        "sas_token": first("AZURE_STORAGE_SAS_TOKEN", "SharedAccessSignature"),
    }
    if settings["account_key"]:
        settings["sas_token"] = None  # Arrow takes one of them
    if endpoint := first("BlobEndpoint"):  # an emulator
        for service in ("blob", "dfs"):
            settings |= {
                f"{service}_storage_scheme": urlsplit(endpoint).scheme,
                f"{service}_storage_authority": urlsplit(endpoint).netloc,
            }
    return {name: value for name, value in settings.items() if value} if settings["account_name"] else None


@lru_cache
def _az(settings: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    from pyarrow import fs  # noqa: PLC0415

    if not hasattr(fs, "AzureFileSystem"):
        raise DataError("this build of pyarrow cannot read Azure's storage: pip install -U pyarrow")
    return fs.AzureFileSystem(**dict(settings))


def _open_hf() -> fs.FileSystem:
    from pyarrow import fs  # noqa: PLC0415

    try:
        from huggingface_hub import HfFileSystem  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtra("huggingface_hub", extra="hf", need="hf://…") from None
    return fs.PyFileSystem(fs.FSSpecHandler(HfFileSystem()))


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")


@contextmanager
def store_errors(address: str) -> Iterator[None]:
    """Turn errors of a store into `DataError`, with the address and what to set; `FileNotFoundError` passes."""
    try:
        yield
    except (KaratError, FileNotFoundError):
        raise
    except (OSError, pa.ArrowException) as error:
        raise DataError(explain_error(hide_secrets(address), error)) from error


def explain_error(name: str, error: Exception) -> str:
    """A message for an error on a file: for one in a store with what to set, and without secrets."""
    if not is_address(name):
        return f"{name}: {error}"
    store, path = split_address(name)
    text = _clean(error)
    if _NO_BUCKET.search(text):
        return f"{name}: there is no {'container' if store == 'az' else 'bucket'} {path.partition('/')[0]!r}"
    if _REGION.search(text):
        return f"{name}: {text}; set AWS_REGION to the region of the bucket"
    if _DENIED.search(text):
        remedy = f"set {_CREDENTIALS[store]}" if store in _CREDENTIALS else "is its signature still valid?"
        return f"{name}: access is denied ({text}); {remedy}"
    if _TRUNCATED.search(text):
        return f"{name}: what the store sends is truncated ({text})"
    if _UNREACHABLE.search(text):
        setting = f"; is {_ENDPOINTS[store]} right?" if os.environ.get(_ENDPOINTS.get(store, "")) else ""
        return f"{name}: the store cannot be reached ({text}){setting}"
    return f"{name}: {text}"


def _clean(error: Exception) -> str:
    """The first line of an error, without numbers of requests, Google's details, and values of secret variables."""
    text = re.sub(r" \(Request ID: [^)]*\)", "", f"{error}".split("\n", 1)[0])
    text = hide_secrets(re.sub(r"google::cloud::Status\((.*?)(?: error_info=\{.*\})?\)$", r"\1", text))
    secrets: list[Any] = [value for name, value in os.environ.items() if _SECRET.search(name) and len(value) > 3]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "…")
    return text


@contextmanager
def name_errors(name: str) -> Iterator[None]:
    """Turn errors of Arrow, of the operating system and of impossible text into `DataError` with the file's name."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise DataError(explain_error(name, error)) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: the name of a column is not UTF-8; is the file damaged?") from error
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: a text holds half of a character (an unpaired surrogate)") from error
    except RecursionError as error:
        raise DataError(f"{name}: lists or objects are nested too deeply") from error
