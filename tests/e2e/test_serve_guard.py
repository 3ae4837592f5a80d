"""Requests that must fail: one for each way to reach a server that is not meant for one."""

import json
import os
import pathlib
import re
import socket
import stat
import struct
import subprocess
import time
import urllib.parse

import pytest

import recording
from serving import parse_reply, read_all, serve, token_of
import tape_writer
from tape_writer import TapeWriter
from test_reading import MALLOC, write_shop

MARKUP = "<img src=x onerror=alert(1)>\"'&</script>"
BROKEN = b"\xff\xfe broken \xc3 \x1b[31m"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    tape = tmp_path_factory.mktemp("guard") / "shop.mtape"
    names = write_shop(tape).names()
    with serve(tape) as server:
        yield server
    names.unlink()


def lines(server, *more, target="/api/v1/info", method="GET", version="1.1"):
    text = [f"{method} {target} HTTP/{version}", *more, "Connection: close", "", ""]
    return server.raw("\r\n".join(text).encode("latin-1"))


def bearer(server):
    return f"Authorization: Bearer {server.token}"


# --- who -------------------------------------------------------------------------------------


def test_with_the_token_it_answers(shop):
    assert shop.ask("/api/v1/info").status == 200


@pytest.mark.parametrize("target", ["/api/v1/info", "/api/v1/report", "/list", "/data/last/mmaps",
                                    "/api/v1/openapi.json", "/api/v1/nothing", "/api/"])
def test_without_the_token_nothing_is_told(shop, target):
    reply = shop.ask(target, token=False)
    assert reply.status == 401
    assert b"shop" not in reply.body
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("change", [
    lambda token: token[:-1], lambda token: token + "0", lambda token: token.upper() + " ",
    lambda token: "0" * 32, lambda token: "", lambda token: token[:-1] + "g",
    lambda token: token + "\t" + token])
def test_a_wrong_token_is_none(shop, change):
    wrong = change(shop.token)
    assert lines(shop, f"Host: {shop.host}", f"Authorization: Bearer {wrong}").status == 401
    assert shop.ask(f"/api/v1/info?token={wrong.strip() or 'x'}".replace("\t", ""),
                    token=False).status == 401


def test_a_wrong_header_is_not_mended_by_a_right_query(shop):
    reply = lines(shop, f"Host: {shop.host}", "Authorization: Bearer " + "0" * 32,
                  target=f"/api/v1/info?token={shop.token}")
    assert reply.status == 401


def test_two_authorizations_are_none(shop):
    assert lines(shop, f"Host: {shop.host}", bearer(shop), bearer(shop)).status == 401


def test_the_token_may_stand_in_the_query_of_a_get(shop):
    assert shop.ask(f"/api/v1/info?token={shop.token}", token=False).status == 200


def test_the_token_may_not_stand_in_the_query_of_a_post(shop):
    reply = shop.ask(f"/api/v1/query?token={shop.token}", "POST",
                     ["Content-Type: application/json"], token=False, body=b'{"sql":"select 1"}')
    assert reply.status == 401


def test_tokens_are_of_one_process(shop, tmp_path):
    tape = tmp_path / "other.mtape"
    write_shop(tape)
    with serve(tape) as other:
        assert other.token != shop.token
        assert other.ask("/api/v1/info", token=False,
                         headers=[bearer(shop)]).status == 401


# --- by which name ---------------------------------------------------------------------------


@pytest.mark.parametrize("host", [
    "evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.1.:{port}",
    "0.0.0.0:{port}", "127.0.0.2:{port}", "localhost.evil.test:{port}", "127.0.0.1:{port}@evil.test",
    "127.0.0.1:{port}.evil.test", "", "[::1]", "127.0.0.1:0{port}"])
@pytest.mark.parametrize("target", ["/api/v1/info", "/", "/assets/app.js"])
def test_another_host_gets_nothing(shop, host, target):
    reply = lines(shop, f"Host: {host.format(port=shop.port)}", bearer(shop), target=target)
    assert reply.status in (400, 403)
    assert b"<" not in reply.body.replace(b"<html><head><title>", b"") or reply.status == 400


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}",
                                  "[::1]:{port}"])
def test_our_own_names_are_answered(shop, host):
    assert lines(shop, f"Host: {host.format(port=shop.port)}", bearer(shop)).status == 200


@pytest.mark.parametrize("target", ["/api/v1/info", "/"])
def test_no_host_and_two_hosts_are_bad_requests(shop, target):
    assert lines(shop, bearer(shop), target=target).status == 400
    assert lines(shop, bearer(shop), target=target, version="1.0").status == 400
    twice = [f"Host: {shop.host}", f"Host: {shop.host}"]
    assert lines(shop, *twice, bearer(shop), target=target).status == 400
    evil = [f"Host: {shop.host}", "Host: evil.test"]
    assert lines(shop, *evil, bearer(shop), target=target).status == 400


def test_a_name_that_was_allowed_is_answered(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--allow-host", "profiles.test,other.test:81"]) as server:
        allowed = [f"profiles.test:{server.port}", "other.test:81"]
        for host in allowed:
            assert server.ask("/api/v1/info", host=host).status == 200
        assert server.ask("/api/v1/info", host="profiles.test").status == 403
        assert server.ask("/api/v1/info", host=f"other.test:{server.port}").status == 403


# --- from which page -------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["http://evil.test", "null", "http://127.0.0.1:1", "",
                                    "https://127.0.0.1:{port}", "http://127.0.0.1:{port}/",
                                    "http://localhost:{port}", "file://"])
def test_pages_of_other_origins_get_nothing(shop, origin):
    origin = origin.format(port=shop.port)
    assert shop.ask("/api/v1/info", headers=[f"Origin: {origin}"]).status == 403
    reply = shop.ask("/api/v1/query", "POST", ["Content-Type: application/json",
                                               f"Origin: {origin}"], body=b'{"sql":"select 1"}')
    assert reply.status == 403


def test_the_own_page_is_answered(shop):
    headers = [f"Origin: http://{shop.host}", "Sec-Fetch-Site: same-origin"]
    assert shop.ask("/api/v1/info", headers=headers).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "SAME-ORIGIN", "x"])
def test_what_another_site_caused_gets_nothing(shop, site):
    assert shop.ask("/api/v1/info", headers=[f"Sec-Fetch-Site: {site}"]).status == 403


def test_only_a_typed_address_opens_the_page(shop):
    ask = lambda site: shop.ask("/", token=False, headers=[f"Sec-Fetch-Site: {site}"]).status
    assert ask("none") == ask("same-origin") == 200
    assert ask("cross-site") == ask("same-site") == 403


@pytest.mark.parametrize("name", ["Origin", "Sec-Fetch-Site"])
def test_headers_given_twice_are_refused(shop, name):
    good = {"Origin": f"http://{shop.host}", "Sec-Fetch-Site": "same-origin"}[name]
    reply = shop.ask("/api/v1/info", headers=[f"{name}: {good}", f"{name}: {good}"])
    assert reply.status == 400


def test_a_preflight_is_refused_and_no_answer_allows_others(shop):
    asked = ["Origin: http://evil.test", "Access-Control-Request-Method: POST"]
    replies = [shop.ask("/api/v1/query", "OPTIONS", asked),
               shop.ask("/api/v1/query", "OPTIONS"), shop.ask("/api/v1/info"), shop.ask("/")]
    assert [reply.status for reply in replies[:2]] == [403, 405]
    for reply in replies:
        assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded",
                                  "multipart/form-data; boundary=x", "application/jsonp",
                                  "text/plain; application/json"])
def test_what_a_form_can_send_is_refused(shop, kind):
    headers = [f"Content-Type: {kind}"] if kind else []
    reply = shop.ask("/api/v1/query", "POST", headers, body=b'{"sql":"select 1"}')
    assert reply.status == 415


@pytest.mark.parametrize("method,target", [
    ("POST", "/api/v1/info"), ("PUT", "/api/v1/info"), ("DELETE", "/api/v1/info"), ("GET", "/api/v1/query"),
    ("POST", "/"), ("TRACE", "/"), ("OPTIONS", "/"), ("PATCH", "/list"), ("BREW", "/api/v1/info")])
def test_other_methods_are_refused(shop, method, target):
    reply = shop.ask(target, method)
    assert reply.status == 405
    assert reply.headers["allow"] == ("POST" if target.endswith("query") else "GET")


# --- what a browser does with answers --------------------------------------------------------


@pytest.mark.parametrize("target", ["/", "/api/v1/info", "/nothing", "/api/v1/filter?q=nix"])
def test_every_answer_brings_its_policy(shop, target):
    headers = shop.ask(target).headers
    policy = headers["content-security-policy"]
    for rule in ("default-src 'none'", "script-src 'self'", "connect-src 'self'", "base-uri 'none'",
                 "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"):
        assert rule in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in headers and "server" not in headers


def test_answers_of_the_api_are_not_kept_and_are_no_scripts(shop):
    for target in ("/api/v1/info", "/api/v1/report?name=top", "/api/v1/filter?q=x"):
        reply = shop.ask(target)
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["content-type"].startswith("application/json")
        assert reply.body[:1] == b"{"


def test_a_picture_runs_in_nobodys_origin(shop):
    reply = shop.ask("/data/last/export/flamegraph")
    assert reply.headers["content-type"].startswith("image/svg")
    assert reply.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in reply.headers["content-security-policy"]


# --- hostile tapes ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "hostile.mtape"
    with pytest.MonkeyPatch.context() as patch:  # names of its own beside the shop's
        patch.setattr(tape_writer, "PID", tape_writer.PID + 4_000_000)
        names = write_hostile(path)
    with serve(path) as server:
        yield server
    names.unlink()


def write_hostile(path):
    tape = TapeWriter()
    main = tape.stream(100, MARKUP[:15])
    texts = b"\0".join([b"/bin/" + MARKUP.encode(), b"/home", MARKUP.encode(), BROKEN, b""])
    main.extended(1, struct.pack("<IIII", tape_writer.PID, 1, 2, 4096) + texts)
    tape.clock(main)
    tape.module(main, 1, "/lib/" + MARKUP + ".so", 0x7F0000000000, 0x7F0000100000, bytes(20))
    stack = main.stack((MARKUP,), ("\x1b[31m\u202e",), 0x7F0000001235)
    tape.at(1)
    main.event(MALLOC, 0x10000, 100, 104, stack)
    tape.at(2)
    main.extended(23, struct.pack("<Ii", 1, 0))
    tape.write(path)
    return tape.names()


HOSTILE_ANSWERS = ["info", "tape", "report?name=top", "report?name=tree", "report?name=modules",
                   "names?field=function", "names?field=module", "names?field=thread_name",
                   "report?name=allocations", "filter?q=function%20~%20%22%3Cimg%22", "fields",
                   "summary", "flame", "tree", "sites", "allocs", "alloc?row=0"]


@pytest.mark.parametrize("resource", HOSTILE_ANSWERS)
def test_hostile_names_are_only_texts(hostile, resource):
    reply = hostile.ask("/api/v1/" + resource)
    assert reply.status == 200, reply.body
    text = reply.body.decode("utf-8")  # valid, whatever the tape says
    json.loads(text)
    assert "\x1b" not in text
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_bad_utf8_is_replaced(hostile):
    argv = hostile.json("info")["tapes"][0]["argv"]
    assert argv[1].startswith("\ufffd\ufffd broken \ufffd ")


def test_hostile_names_come_whole(hostile):
    values = [one["text"] for one in hostile.json("names", field="function")["values"]]
    assert MARKUP in values
    assert hostile.json("info")["tapes"][0]["argv"][0] == MARKUP


def test_hostile_names_in_pictures_are_escaped(hostile):
    body = hostile.ask("/data/last/export/flamegraph").body
    assert b"<img" not in body and b"&lt;img" in body


# --- too much and too slow -------------------------------------------------------------------


@pytest.mark.parametrize("bytes_", [17 << 10, 60 << 10, 1 << 20])
def test_headers_over_16_kib_are_refused(shop, bytes_):
    with shop.connect() as sock:
        try:
            sock.sendall(f"GET / HTTP/1.1\r\nHost: {shop.host}\r\nX: ".encode() + b"a" * bytes_)
            sock.sendall(b"\r\n\r\n")
        except ConnectionError:
            pass
        answer = read_all(sock)
    assert not answer or parse_reply(answer).status in (413, 414, 431)
    assert shop.ask("/api/v1/info").status == 200


def test_headers_below_16_kib_are_read(shop):
    assert shop.ask("/api/v1/info", headers=["X: " + "a" * (15 << 10)]).status == 200


def test_many_headers_are_refused(shop):
    reply = shop.ask("/api/v1/info", headers=[f"X{i}: y" for i in range(3000)])
    assert reply is None or reply.status == 431


def test_bodies_over_64_kib_are_refused(shop):
    headers = ["Content-Type: application/json"]
    body = json.dumps({"sql": "select 1 -- " + "x" * (64 << 10)}).encode()
    assert shop.ask("/api/v1/query", "POST", headers, body=body).status == 413
    head = f"POST /api/v1/query HTTP/1.1\r\nHost: {shop.host}\r\n{bearer(shop)}\r\n" \
           "Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n"
    assert shop.raw(head.encode()).status in (400, 413)


def test_chunked_bodies_over_64_kib_end_the_connection(shop):
    head = f"POST /api/v1/query HTTP/1.1\r\nHost: {shop.host}\r\n{bearer(shop)}\r\n" \
           "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with shop.connect() as sock:
        with pytest.raises(ConnectionError):
            sock.sendall(head.encode())
            for _ in range(1000):
                sock.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                time.sleep(0.001)
    assert shop.ask("/api/v1/info").status == 200


def test_many_connections_do_not_keep_others_out_for_long(shop):
    """A client that opens all the connections there are and says nothing loses them."""
    idle = [shop.connect() for _ in range(60)]
    try:
        begin = time.monotonic()
        while True:
            try:
                reply = shop.ask("/api/v1/info")
            except OSError:
                reply = None
            if reply and reply.status == 200:
                break
            assert time.monotonic() - begin < 25
            time.sleep(0.5)
    finally:
        for sock in idle:
            sock.close()


def test_slow_headers_end_the_connection(shop):
    """Slow loris: a byte a second is no reason to wait for ever."""
    with shop.connect(timeout=30) as sock:
        begin = time.monotonic()
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {shop.host}\r\nX: ".encode())
        sock.setblocking(False)
        closed = False
        while time.monotonic() - begin < 25 and not closed:
            time.sleep(0.5)
            try:
                sock.send(b"a")
                closed = sock.recv(1) == b""
            except BlockingIOError:
                pass
            except ConnectionError:
                closed = True
        assert closed and time.monotonic() - begin > 5
    assert shop.ask("/api/v1/info").status == 200


def test_a_client_that_does_not_read_holds_up_nobody(shop):
    asked = f"GET /api/v1/openapi.json HTTP/1.1\r\nHost: {shop.host}\r\n{bearer(shop)}\r\n\r\n".encode()
    deaf = [shop.connect() for _ in range(10)]
    try:
        for sock in deaf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(asked * 20)
        begin = time.monotonic()
        assert shop.ask("/api/v1/info").status == 200
        assert time.monotonic() - begin < 3
    finally:
        for sock in deaf:
            sock.close()


HOSTILE_FILTERS = {
    "backtracking": 'function ~ "(a+)+$"', "greed": 'function ~ "(.*)*(.*)*x"', "parentheses": "(" * 200 + "all",
    "negation": "not " * 500 + "all", "length": "size > 1 and " * 1000 + "all", "recursion": 'function ~ "(?R)"',
    "groups": 'function ~ "' + "(" * 300 + ")" * 300 + '"', "quote": 'function = "', "nothing": "\x01"}


@pytest.mark.parametrize("name", HOSTILE_FILTERS)
def test_hostile_filters_end_soon(hostile, name):
    begin = time.monotonic()
    reply = hostile.ask("/api/v1/filter?q=" + urllib.parse.quote(HOSTILE_FILTERS[name]))
    assert reply is None or reply.status in (200, 400, 414, 431, 503)
    assert time.monotonic() - begin < 8
    assert hostile.ask("/api/v1/info").status == 200


# --- SQL -------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", [
    "ATTACH '/etc/passwd' AS x", "PRAGMA journal_mode", "CREATE TABLE x (y)", "INSERT INTO tape VALUES (1)",
    "DELETE FROM allocations", "DROP TABLE allocations", "SELECT load_extension('x')", "VACUUM INTO '/tmp/x'",
    "SELECT readfile('/etc/passwd')", "SELECT writefile('/tmp/x', 'y')", "BEGIN", "DETACH main",
    "SELECT 1; SELECT 2", "", "SELECT * FROM pragma_database_list", "CREATE VIRTUAL TABLE x USING fts3(y)"])
def test_statements_that_do_more_than_ask_are_refused(shop, statement):
    error = shop.post("query", {"sql": statement}, 400)["error"]
    assert error["parameter"] == "sql"
    assert "root:" not in json.dumps(error)


@pytest.mark.parametrize("statement", [
    "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
    "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t ORDER BY -x",
    "SELECT length(zeroblob(900000000) || zeroblob(900000000))"])
def test_statements_have_limits(tmp_path, statement):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--timeout", "1s", "--memory", "32MiB"]) as server:
        begin = time.monotonic()
        error = server.post("query", {"sql": statement}, 503)["error"]
        assert time.monotonic() - begin < 5
        assert error["hint"]
        assert server.post("query", {"sql": "SELECT 1"})["rows"] == [[1]]


def test_rows_have_a_limit(shop):
    answer = shop.post("query", {"sql": "SELECT id FROM allocations", "limit": 3})
    assert answer["truncated"] is True and len(answer["rows"]) == 3
    assert shop.post("query", {"sql": "SELECT 1", "limit": 1001}, 400)["error"]["parameter"] == "limit"


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'{"sql": 1.5}', b'{"sql": {}}', b'{"sql": "\\u0000"}',
                                  b'{"sql":"select 1","sql":"select 2"}', b'{"nix": 1}', b"[" * 60000,
                                  b'{"sql":"\xff"}', b'{"limit": 1}'])
def test_bad_bodies_are_refused(shop, body):
    reply = shop.ask("/api/v1/query", "POST", ["Content-Type: application/json", f"Content-Length: {len(body)}"]
                     if not body else ["Content-Type: application/json"], body=body)
    assert reply.status == 400


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [
    "/../../etc/passwd", "/assets/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
    "/assets/..%2f..%2fetc%2fpasswd", "/assets/%00", "/etc/passwd", "/.git/config", "/assets/", "/index.html%00"])
def test_there_are_no_files_but_the_app(shop, target):
    reply = shop.ask(target)
    assert reply.status in (400, 404)
    assert b"root:" not in reply.body


@pytest.mark.parametrize("operand", ["/etc/passwd", "passwd", "../../etc/passwd", "0123", "0123456789ABCDEF", " 123456789abcdef", ""])
def test_reports_read_no_file_that_a_request_names(shop, operand):
    assert shop.json("report", 400, name="annotate", operand=operand)["error"]["parameter"] == "operand"
    assert shop.json("report", 404, name="annotate", operand="0123456789abcdef")["error"]["parameter"] == "operand"
    assert shop.json("annotate", 400, file=operand)["error"]["parameter"] == "file"
    assert shop.json("annotate", 404, file="0123456789abcdef")["error"]["parameter"] == "file"
    assert shop.json("report", 400, name="leaks", suppressions="/etc/passwd")["error"]["parameter"] == "suppressions"


@pytest.mark.parametrize("type_", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_of_another_page_is_no_question(shop, type_):
    assert shop.ask("/api/v1/report", "POST", [f"Content-Type: {type_}"], body=b"{}").status == 415
    assert shop.ask("/api/v1/info", "POST", ["Content-Type: application/json"], body=b"{}").status == 405


@pytest.mark.parametrize("target", ["http://evil.test/api/v1/info", "*", "api/v1/info"])
def test_a_target_that_is_no_path_is_refused(shop, target):
    assert shop.ask(target).status in (400, 403, 404)


# --- what a proxy could read in another way ----------------------------------------------------

SELECT = b'{"sql":"select 1"}'
CHUNKED = b"12\r\n" + SELECT + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize("lines,body", [
    (["Content-Length: 18", "Transfer-Encoding: chunked"], CHUNKED),
    (["Transfer-Encoding: chunked", "Content-Length: 18"], CHUNKED),
    (["Content-Length: 18", "Content-Length: 18"], SELECT), (["Content-Length: 18", "Content-Length: 3"], SELECT),
    (["Content-Length: 18, 18"], SELECT), (["Content-Length: +18"], SELECT), (["Content-Length : 18"], SELECT),
    (["Transfer-Encoding: xchunked"], CHUNKED), (["Transfer-Encoding: identity"], SELECT),
    (["Transfer-Encoding: gzip, chunked"], CHUNKED),
    (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], CHUNKED)])
def test_the_length_of_a_body_is_said_once_and_clearly(shop, lines, body):
    head = [f"POST /api/v1/query HTTP/1.1", f"Host: {shop.host}", bearer(shop), "Content-Type: application/json",
            "Connection: close", *lines]
    reply = shop.raw("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    assert reply.status == 400 and b'"columns"' not in reply.body


def test_a_body_in_chunks_or_with_its_length_is_taken(shop):
    head = f"POST /api/v1/query HTTP/1.1\r\nHost: {shop.host}\r\n{bearer(shop)}\r\n" \
           "Content-Type: application/json\r\nConnection: close\r\n"
    for lines, body in (("Content-Length: 18", SELECT), ("Transfer-Encoding: chunked", CHUNKED),
                        ("Content-length:18", SELECT)):
        assert shop.raw(head.encode() + lines.encode() + b"\r\n\r\n" + body).status == 200


@pytest.mark.parametrize("host", [b"%s\0evil", b"%s\0", b"%s\x01", b"%s\x7f", b"%s\t", b"%s\rX: y", b"\x0b%s",
                                  b"%s\r\n evil", b"%s\r\nX: a\r\n b", b"%s\r\nX: a\0b", b"%s\r\nX: a\r\n\tb",
                                  b"%s\r\nX\0: a", b"%s\r\nX : a", b"%s\r\nX: a\x08", b"%s\r\nX Y: a",
                                  b"%s\r\nHost: %s"])
def test_a_header_with_two_readings_is_refused(shop, host):
    line = b"Host: " + host.replace(b"%s", shop.host.encode())
    reply = shop.raw(b"GET /api/v1/info HTTP/1.1\r\n" + line + f"\r\n{bearer(shop)}\r\nConnection: close\r\n\r\n".encode())
    assert reply.status == 400


@pytest.mark.parametrize("target", [b"http://%s/api/v1/info", b"/api/v1/info\0x", b"/api/v1/in\x01fo", b"%s", b"*",
                                    b"/api/v1/info\x7f"])
def test_a_target_with_two_readings_is_refused(shop, target):
    target = target.replace(b"%s", shop.host.encode())
    reply = shop.raw(b"GET " + target + f" HTTP/1.1\r\nHost: {shop.host}\r\n{bearer(shop)}\r\nConnection: close\r\n\r\n".encode())
    assert reply.status == 400


# --- where -----------------------------------------------------------------------------------


def test_it_listens_on_the_loopback_interface_alone(shop):
    text = pathlib.Path("/proc/net/tcp").read_text() + pathlib.Path("/proc/net/tcp6").read_text()
    places = re.findall(rf"^\s*\d+: ([0-9A-F]+):{shop.port:04X} \S+ 0A", text, re.MULTILINE)
    assert "0100007F" in places
    assert set(places) <= {"0100007F", "00000000000000000000000001000000"}


def others_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return sock.getsockname()[0]


def test_from_the_network_it_cannot_be_reached(shop):
    address = others_address()
    if not address or address.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError):
        socket.create_connection((address, shop.port), 5)


@pytest.mark.parametrize("options,words", [
    (["--listen", "0.0.0.0"], "--i-know"), (["--listen", "::"], "--i-know"),
    (["--listen", "0.0.0.0", "--i-know", "--no-token"], "--no-token"), (["--listen", "nix"], "--i-know"),
    (["--port", "70000"], "65535"), (["--listen", "unix:x", "--port", "80"], "--port"),
    (["--allow-host", "a b"], "host")])
def test_what_is_not_safe_is_not_begun(tmp_path, options, words):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    outcome = recording.run([recording.memtape(), "serve", *options, tape])
    assert outcome.returncode == 2
    assert words.encode() in outcome.stderr and outcome.stdout == b""


def test_on_other_addresses_the_token_is_wanted(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--listen", "127.0.0.2"]) as server:
        with socket.create_connection(("127.0.0.2", server.port), 5) as sock:
            sock.sendall(f"GET /api/v1/info HTTP/1.0\r\nHost: 127.0.0.2:{server.port}\r\n\r\n".encode())
            assert parse_reply(read_all(sock)).status == 401


def test_a_unix_socket_is_ones_own(tmp_path):
    tape, path = tmp_path / "shop.mtape", tmp_path / "socket"
    write_shop(tape)
    with serve(tape, options=["--listen", f"unix:{path}"]) as server:
        status = os.stat(path)
        assert stat.S_ISSOCK(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
        assert server.port is None
        assert server.ask("/api/v1/info", host="127.0.0.1").status == 200
        assert server.ask("/api/v1/info", host="localhost").status == 200
        assert server.ask("/api/v1/info", host="evil.test").status == 403
        assert server.ask("/api/v1/info", host="localhost", token=False).status == 401
    assert not path.exists()


def test_a_socket_in_use_is_not_taken_and_a_dead_one_is(tmp_path):
    tape, path = tmp_path / "shop.mtape", tmp_path / "socket"
    write_shop(tape)
    with serve(tape, options=["--listen", f"unix:{path}"]):
        outcome = recording.run([recording.memtape(), "serve", "--listen", f"unix:{path}", tape])
        assert outcome.returncode == 1 and b"in use" in outcome.stderr
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with serve(tape, options=["--listen", f"unix:{path}"]) as server:
        assert server.ask("/api/v1/info", host="localhost").status == 200


def test_a_file_is_not_replaced_by_a_socket(tmp_path):
    tape, path = tmp_path / "shop.mtape", tmp_path / "precious"
    write_shop(tape)
    path.write_text("precious")
    outcome = recording.run([recording.memtape(), "serve", "--listen", f"unix:{path}", tape])
    assert outcome.returncode == 1
    assert path.read_text() == "precious"


# --- what is said ----------------------------------------------------------------------------


def test_nothing_of_requests_is_logged(tmp_path):
    tape, log = tmp_path / "shop.mtape", tmp_path / "log"
    write_shop(tape)
    with open(log, "wb") as errors, serve(tape, stderr=errors) as server:
        token = server.token
        server.ask(f"/api/v1/filter?q=secret_word&token={token}")
        server.ask("/api/v1/secret_path", token=False)
        server.raw(b"\x00secret_word\r\n\r\n", timeout=1)
        server.raw(b"GET /secret HTTP/9.9\r\n\r\n", timeout=1)
    assert log.read_bytes() == b""


def test_the_url_has_the_token_in_its_fragment(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with subprocess.Popen([recording.memtape(), "serve", tape], stdout=subprocess.PIPE,
                          env=recording.clean_env()) as process:
        line = process.stdout.readline().decode().strip()
        process.terminate()
        assert process.stdout.read() == b"" and process.wait(10) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#k=[0-9a-f]{32}", line)
    assert len(token_of(line)) == 32


def test_without_a_token_only_this_machine_asks(tmp_path):
    tape = tmp_path / "shop.mtape"
    write_shop(tape)
    with serve(tape, options=["--no-token"]) as server:
        assert server.token is None and "#" not in server.url
        assert server.ask("/api/v1/info").status == 200
        assert server.ask("/api/v1/info", host="evil.test").status == 403
        assert server.ask("/api/v1/info", headers=["Origin: http://evil.test"]).status == 403
        assert server.ask("/api/v1/info", headers=["Sec-Fetch-Site: cross-site"]).status == 403
