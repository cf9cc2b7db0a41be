"""Who may talk to the page: not by a name of somebody else's, not from another site, not without the token."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from diffgan.errors import UsageError
from diffgan.labelling.serving import USUAL_PORT, open_place
from tests.labelling.pages import labels_of, page_of, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate") / "run"
    write_run(folder, 20)
    return folder


@pytest.fixture(scope="module")
def here(run: Path) -> Iterator[httpx.Client]:
    """The page as it is by default."""
    with page_of(run) as address, httpx.Client(base_url=address) as client:
        yield client


@pytest.fixture(scope="module")
def abroad(run: Path) -> Iterator[str]:
    """The address of a page that others can reach, with its token."""
    with page_of(run, host="0.0.0.0") as address:
        yield address


def first_id(client: httpx.Client) -> str:
    found: str = client.get("/api/next?annotator=ann").json()["items"][0]["id"]
    return found


def port_of(client: httpx.Client) -> int:
    return int(client.base_url.port or 0)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:{port}", "localhost:9"])
def test_the_page_is_reached_by_this_machines_own_names(here: httpx.Client, host: str) -> None:
    assert here.get("/api/run", headers={"host": host.format(port=port_of(here))}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.7", ""],
)
def test_a_name_of_somebody_elses_is_refused(here: httpx.Client, host: str) -> None:
    answer = here.get("/api/run", headers={"host": host.format(port=port_of(here))})
    assert answer.status_code == 400
    assert "open the address that diffgan printed" in answer.text


def test_two_host_headers_are_refused(here: httpx.Client) -> None:
    request = "GET /api/run HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port_of(here))) as connection:
        connection.sendall(request.encode())
        assert b" 400 " in connection.makefile("rb").readline()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
@pytest.mark.parametrize("path", ["/api/labels", "/api/skip", "/api/undo"])
def test_a_post_from_another_site_changes_nothing(
    here: httpx.Client, run: Path, headers: dict[str, str], path: str
) -> None:
    body = {"annotator": "eve", "ids": [first_id(here)], "label": 1}
    assert here.post(path, json=body, headers=headers).status_code == 403
    assert labels_of(run, "eve") == {}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_taken_which_no_form_can_send(here: httpx.Client, run: Path, kind: str) -> None:
    body = f'{{"annotator": "eve", "ids": ["{first_id(here)}"], "label": 1}}'
    assert here.post("/api/labels", content=body, headers={"content-type": kind}).status_code == 415
    assert labels_of(run, "eve") == {}


def test_the_pages_own_posts_come_through(here: httpx.Client, run: Path) -> None:
    headers = {"origin": f"http://127.0.0.1:{port_of(here)}", "sec-fetch-site": "same-origin"}
    body = {"annotator": "own", "ids": [first_id(here)], "label": 1}
    assert here.post("/api/labels", json=body, headers=headers).status_code == 200
    assert len(labels_of(run, "own")) == 1


def test_other_sites_may_link_to_the_page_but_not_look_into_it(here: httpx.Client) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert here.get("/", headers=link).status_code == 200
    assert here.get("/api/run", headers=link).status_code == 403
    image = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert here.get(f"/images/{first_id(here)}.png", headers=image).status_code == 403


def test_a_long_or_endless_post_is_refused(here: httpx.Client) -> None:
    assert (
        here.post("/api/labels", content=b" " * 300_000, headers={"content-type": "application/json"}).status_code
        == 413
    )
    parts = (b"{}" for _ in range(3))
    assert here.post("/api/labels", content=parts, headers={"content-type": "application/json"}).status_code == 411


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/api/run", "/nothing", "/api/next"])
def test_every_answer_keeps_other_scripts_and_frames_out(here: httpx.Client, path: str) -> None:
    headers = here.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_the_page_loads_nothing_from_elsewhere(here: httpx.Client) -> None:
    for name in ("", "page/style.css", "page/app.js", "page/api.js"):
        text = here.get(f"/{name}").text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text


def test_fastapis_own_pages_are_closed(here: httpx.Client) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert here.get(path).status_code == 404


def local(abroad: str) -> str:
    return f"http://127.0.0.1:{urlsplit(abroad).port}"


def token_of(address: str) -> str:
    return urlsplit(address).query.removeprefix("token=")


def test_elsewhere_nothing_is_shown_without_the_token(abroad: str) -> None:
    assert len(token_of(abroad)) >= 32
    with httpx.Client(base_url=local(abroad)) as client:
        for path in (
            "/",
            "/api/run",
            "/page/app.js",
            "/?token=wrong",
            "/?token=",
            f"/api/run?token={token_of(abroad)}",
        ):
            answer = client.get(path)
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
        assert "whole address" in client.get("/").text


def test_the_token_becomes_a_cookie_that_other_sites_cannot_use(abroad: str) -> None:
    with httpx.Client(base_url=local(abroad)) as client:
        answer = client.get("/", params={"token": token_of(abroad)})
        assert answer.status_code == 200
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
        assert cookie["samesite"] == "Strict"
        assert cookie["httponly"]
        assert client.get("/api/run").status_code == 200
        client.cookies.set(cookie.key, "wrong")
        client.cookies.delete(cookie.key, domain="127.0.0.1", path="/")
        assert client.get("/api/run").status_code == 401


def test_the_token_is_found_among_the_cookies_of_others(abroad: str) -> None:
    with httpx.Client(base_url=local(abroad)) as client:
        answer = client.get("/", params={"token": token_of(abroad)})
        ((key, cookie),) = SimpleCookie(answer.headers["set-cookie"]).items()
        client.cookies.clear()
        ours = f"{key}={cookie.value}"
        for header in (f'prefs={{"a": 1}}; {ours}', f"theme=dark blue;{ours}; x", f"version=1; path; {ours}"):
            assert client.get("/api/run", headers={"cookie": header}).status_code == 200
        assert client.get("/api/run", headers={"cookie": f"other{ours}"}).status_code == 401


def test_elsewhere_a_name_of_somebody_elses_is_refused_even_with_the_token(abroad: str) -> None:
    with httpx.Client(base_url=local(abroad), params={"token": token_of(abroad)}) as client:
        assert client.get("/", headers={"host": "evil.example"}).status_code == 400
        assert client.get("/", headers={"host": "10.1.2.3:80"}).status_code == 200


def test_every_page_has_a_token_of_its_own() -> None:
    places = [open_place("0.0.0.0", 0) for _ in range(2)]
    for place in places:
        place.listening.close()
    assert places[0].rules.token != places[1].rules.token
    assert open_place("127.0.0.1", 0).rules.token is None


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="is in use: give another --port"):
            open_place("127.0.0.1", taken.getsockname()[1])


def test_without_a_port_a_free_one_does() -> None:
    first, second = open_place("127.0.0.1", None), open_place("127.0.0.1", None)
    with first.listening, second.listening:
        assert urlsplit(second.address).port not in (USUAL_PORT, urlsplit(first.address).port)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "a" * 70])
def test_a_host_that_is_not_here_is_said(host: str) -> None:
    with pytest.raises(UsageError, match="is no address of this machine"):
        open_place(host, 0)


def test_an_answer_is_not_kept_but_an_image_is(here: httpx.Client) -> None:
    assert here.get("/api/run").headers["cache-control"] == "no-store"
    image = here.get(f"/images/{first_id(here)}.png")
    assert "immutable" in image.headers["cache-control"]
    assert np.frombuffer(image.content[:4], dtype=np.uint8).tolist() == [0x89, *b"PNG"]
