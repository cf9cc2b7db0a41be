"""Addresses of models at endpoints: the forms that are understood, and what messages may show."""

from __future__ import annotations

import pytest

from diffgan.errors import ModelError
from diffgan.models.http import adapter
from diffgan.models.http.address import parse_address, shown_location
from diffgan.models.options import ModelOptions


@pytest.mark.parametrize(
    ("source", "server", "model"),
    [
        ("http://127.0.0.1:8080/v2/models/m", "http://127.0.0.1:8080/v2", "/models/m"),
        ("https://example.org/v2/models/m/", "https://example.org/v2", "/models/m"),
        ("HTTPS://example.org/v2/models/m/infer", "https://example.org/v2", "/models/m"),
        ("http://example.org/a/b/v2/models/m/versions/3", "http://example.org/a/b/v2", "/models/m/versions/3"),
        ("http://example.org/v2/models/m/versions/3/infer", "http://example.org/v2", "/models/m/versions/3"),
        ("http://[::1]:80/v2/models/m%20n", "http://[::1]:80/v2", "/models/m%20n"),
    ],
)
def test_an_address_has_a_server_and_a_model(source: str, server: str, model: str) -> None:
    address = parse_address(source)
    assert address.server == server
    assert address.model == server + model
    assert address.encrypted == server.startswith("https")


@pytest.mark.parametrize(
    "source",
    [
        "http://example.org",
        "http://example.org/v1/models/m:predict",
        "http://example.org/v2/models/",
        "http://example.org/v2/models/m/versions/",
        "http:///v2/models/m",
        "http://example.org:99999/v2/models/m",
        "http://[::1/v2/models/m",
        "http://example.org/v2/models/m n",
        "http://example.org/v2/models/m\n",
    ],
)
def test_another_form_is_told_with_the_expected_one(source: str) -> None:
    with pytest.raises(ModelError, match=r"is no address of a model: expected http\(s\)://host") as failed:
        adapter.load(source, ModelOptions())
    assert source.split()[0] in str(failed.value)


@pytest.mark.parametrize(
    "source",
    [
        "http://user:hunter2@example.org/v2/models/m",
        "http://hunter2@example.org/v2/models/m",
        "http://user:1/hunter2@example.org/v2/models/m",
        "http://user:hunter2@example.org/other",
        "http://user:x/hunter2@example.org",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(source: str) -> None:
    with pytest.raises(ModelError, match=r"carries credentials.*environment variable DIFFGAN_TOKEN") as failed:
        adapter.load(source, ModelOptions())
    assert "hunter2" not in str(failed.value)


def test_a_query_is_refused_and_not_repeated() -> None:
    with pytest.raises(ModelError, match=r"/v2/models/m\?… \(with a query\) is no address") as failed:
        parse_address("http://example.org/v2/models/m?key=hunter2")
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://example.org/login?next=secret", "https://example.org/login"),
        ("https://user:secret@example.org:8443/x", "https://example.org:8443/x"),
        ("/login#secret", "http://127.0.0.1:1/login"),
        ("//example.org/login", "http://example.org/login"),
        ("http://[broken", "an address that cannot be read"),
    ],
)
def test_where_a_redirect_leads_is_shown_without_secrets(location: str, shown: str) -> None:
    assert shown_location(location, "http://127.0.0.1:1/v2/models/m/infer") == shown
