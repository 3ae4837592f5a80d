"""Tapes that are sent by TLS: to whom, and why not."""

import contextlib
import socket
import ssl
import subprocess

import pytest

import gathering
import recording
from gathering import gather, send, until


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, stdin=subprocess.DEVNULL)


class Authority:
    """Signs certificates."""

    def __init__(self, folder):
        self.folder, self.key, self.cert = folder, folder / "ca.key", folder / "ca.pem"
        folder.mkdir()
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 30,
                "-subj", "/CN=authority", "-keyout", self.key, "-out", self.cert)

    def certificate(self, name, names, days=30):
        """A certificate for `names`, and its key; days below 0: it has expired."""
        key, asked, cert, more = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem", "ext"))
        more.write_text(f"subjectAltName={names}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", f"/CN={name}", "-keyout", key, "-out", asked)
        openssl("x509", "-req", "-in", asked, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", days,
                "-extfile", more, "-out", cert)
        key.chmod(0o600)
        return ["--tls-cert", cert, "--tls-key", key]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def good(authority):
    return authority.certificate("good", "IP:127.0.0.1,DNS:localhost")


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    path = tmp_path_factory.mktemp("tape") / "service.mtape"
    done = recording.run_recorded([recording.target("service"), "20000"], path, ["-q", "--no-compress"])
    assert done.returncode == 0
    return path


@pytest.fixture
def token(tmp_path):
    return gathering.token_file(tmp_path / "token")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tapes"


def test_a_tape_is_sent_by_tls(tape, folder, token, authority, good):
    with gather(folder, token, options=good) as gatherer, gathering.proxy(gatherer.port) as network:
        done = send(tape, network.where, "--tls-ca", authority.cert, token=token)
        assert done.returncode == 0, done.stderr
        assert gatherer.tapes()[0].read_bytes() == tape.read_bytes()
        overheard, = network.said
        assert len(overheard) > tape.stat().st_size
        assert b"MTANSWR" not in overheard and b"MEMTAPE" not in overheard and tape.read_bytes()[-64:] not in overheard
        done = send(tape, f"localhost:{network.port}", "--tls-ca", authority.cert, token=token)
        assert done.returncode == 0, done.stderr
        lines = gatherer.end()
    assert lines[-1].startswith("1 tape complete, 0 connections cut, 0 connections refused")


def test_a_tape_is_sent_by_tls_while_it_is_recorded_and_cut(tmp_path, folder, token, authority, good):
    cuts = [700, 1500, 9000, 60000]
    with gather(folder, token, options=good) as gatherer, \
            gathering.proxy(gatherer.port, allow=lambda n: cuts[n] if n < len(cuts) else None) as network:
        local = tmp_path / "local.mtape"
        done = recording.run_recorded([recording.target("service"), "20000"], local,
                                      ["--no-compress", "--to", network.where, "--token-file", token,
                                       "--tls-ca", authority.cert])
        assert done.returncode == 0, done.stderr
        until(lambda: gatherer.has_said("complete at"))
        assert [path.read_bytes() for path in gatherer.tapes()] == [local.read_bytes()]
        assert network.count == len(cuts) + 1


def test_the_systems_certificates_are_not_ours(tape, folder, token, good):
    with gather(folder, token, options=good) as gatherer:
        done = send(tape, gatherer.where, "--tls", token=token)
        assert done.returncode == 1, done.stdout
        assert b"not signed by one that is trusted" in done.stderr or b"--tls: " in done.stderr
        assert not gatherer.tapes()


@pytest.mark.parametrize("names, days, why", [
    ("IP:127.0.0.1", -1, None),
    ("DNS:elsewhere.example,IP:127.0.0.2", 30, b"it is that of another name"),
])
def test_a_certificate_that_is_not_valid(tape, folder, token, authority, names, days, why):
    options = authority.certificate("bad", names, days)
    if why is None:  # the gatherer itself does not begin
        done = recording.run([recording.memtape(), "gather", "--listen", "127.0.0.1:0", "-d", folder, *options])
        assert done.returncode == 1 and b"the certificate has expired" in done.stderr
        return
    with gather(folder, token, options=options) as gatherer:
        done = send(tape, gatherer.where, "--tls-ca", authority.cert, token=token)
        assert done.returncode == 1 and why in done.stderr and b"nothing was sent" in done.stderr
        assert not gatherer.tapes()


@pytest.mark.parametrize("case", ["expired", "other"])
def test_a_sender_believes_no_such_gatherer(tape, tmp_path, token, authority, good, case):
    """Somebody else's server: what it hears after the notice is no answer and no tape."""
    options = authority.certificate("old", "IP:127.0.0.1", -1) if case == "expired" else good
    ca = authority.cert if case == "expired" else Authority(tmp_path / "theirs").cert
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options[1], options[3])
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(gathering.PATIENCE)
        sender = subprocess.Popen([recording.memtape(), "send", "--token-file", token, "--tls-ca", ca, tape,
                                   f"127.0.0.1:{server.getsockname()[1]}"], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, env=recording.clean_env())
        sock, _ = server.accept()
        with sock:
            sock.settimeout(gathering.PATIENCE)
            sock.sendall(b"MTGREET\n" + bytes([1, 0, 0, 0, 2, 0, 0, 0]) + bytes(32))
            with pytest.raises((ssl.SSLError, ConnectionError)):
                with context.wrap_socket(sock, server_side=True) as inside:
                    assert inside.recv(1)  # TLS 1.3: the sender's opinion comes after the handshake
        _, err = sender.communicate(timeout=gathering.PATIENCE)
    assert sender.returncode == 1
    assert (b"it has expired" if case == "expired" else b"not signed by one that is trusted") in err, err


def test_with_tls_and_without_do_not_go_together(tape, folder, token, authority, good, tmp_path):
    with gather(folder, token, options=good) as gatherer:
        done = send(tape, gatherer.where, token=token)
        assert done.returncode == 1 and b"the gatherer speaks TLS: use --tls-ca FILE or --tls" in done.stderr
        assert not gatherer.tapes()
    with gather(tmp_path / "plain", token) as gatherer:
        done = send(tape, gatherer.where, "--tls-ca", authority.cert, token=token)
        assert done.returncode == 1 and b"does not speak TLS; nothing was sent" in done.stderr
        assert not gatherer.tapes()


def test_the_token_counts_inside_of_tls_too(tape, folder, token, authority, good, tmp_path):
    wrong = gathering.token_file(tmp_path / "wrong", b"another one that is long enough")
    with gather(folder, token, options=good) as gatherer:
        done = send(tape, gatherer.where, "--tls-ca", authority.cert, token=wrong)
        assert done.returncode == 1 and b"has another token" in done.stderr
        assert not gatherer.tapes()


def test_noise_instead_of_a_handshake_is_refused(folder, token, good):
    with gather(folder, token, options=good) as gatherer:
        with gatherer.connect() as sock:
            assert gathering.receive(sock, 48)[:16] == b"MTGREET\n" + bytes([1, 0, 0, 0, 2, 0, 0, 0])
            sock.sendall(b"MTANSWR\n" + bytes(72))
            with contextlib.suppress(ConnectionResetError):
                while sock.recv(100):  # an alert, perhaps
                    pass
        until(lambda: gatherer.has_said("a connection: refused: TLS: "))


@pytest.mark.parametrize("words, why", [
    (["--tls-cert", "good.pem"], b"--tls-cert and --tls-key go together"),
    (["--tls-cert", "missing", "--tls-key", "good.key"], b"missing"),
    (["--tls-cert", "good.pem", "--tls-key", "ca.key"], b"good.pem"),
    (["--tls-cert", "good.pem", "--tls-key", "open.key"], b"can be read by everybody"),
])
def test_options_of_the_gatherer(authority, good, folder, words, why):
    opened = authority.folder / "open.key"
    opened.write_bytes((authority.folder / "good.key").read_bytes())
    opened.chmod(0o644)
    done = recording.run([recording.memtape(), "gather", "--listen", "127.0.0.1:0", "-d", folder, *words],
                         cwd=authority.folder)
    assert done.returncode in (1, 2) and why in done.stderr, done.stderr


def test_options_of_senders(tape, authority, token):
    done = send(tape, "127.0.0.1:9", "--tls", "--tls-ca", authority.cert, token=token)
    assert done.returncode == 2 and b"--tls does not go with --tls-ca" in done.stderr
    done = send(tape, "127.0.0.1:9", "--tls-ca", authority.key, token=token)
    assert done.returncode == 1 and b"--tls-ca: " in done.stderr
    done = recording.run([recording.memtape(), "record", "--tls-ca", authority.cert, "true"])
    assert done.returncode == 2 and b"need --to" in done.stderr
