"""What the kernel survives: messages that are none, and clients that vanish, never read or mean it ill."""
import json
import os
import queue
import random
import re
import signal
import socket
import subprocess
import time

import counted
import zmq
from kernel import TIMEOUT, start_kernel, WithKernel


class WithClients(WithKernel):
    """Clients beside the one that all tests have."""

    def dealer(self, port):
        made = zmq.Context.instance().socket(zmq.DEALER)
        made.linger = 1000
        made.sndtimeo = 1000 * TIMEOUT  # to a kernel that is gone
        made.connect(f"tcp://{self.km.ip}:{port}")
        self.addCleanup(made.close)
        return made

    def signed(self, header, content=b"{}", parts=None):
        four = parts or [header, b"{}", b"{}", content]
        return [b"<IDS|MSG>", self.kc.session.sign(four)] + four

    def read_output(self):
        """Reads what is there of the output of all: a client that does not for five seconds loses some."""
        try:
            while True:
                self.kc.get_iopub_msg(timeout=0)
        except queue.Empty:
            pass


class WithErrors(WithClients):
    """A kernel whose stderr is read."""

    @classmethod
    def setUpClass(cls):
        cls.errors = open(os.environ["NEAP_TEST_ERRORS"], "w+")
        cls.km, cls.kc = start_kernel(stderr=cls.errors)

    def told(self):
        self.errors.flush()
        with open(self.errors.name) as file:
            return file.read()

    def wait_for_error(self, text):
        end = time.monotonic() + TIMEOUT
        while text not in self.told():
            self.assertLess(time.monotonic(), end, f"stderr does not tell '{text}': {self.told()}")
            time.sleep(0.02)


class BadInput(WithErrors):
    def test_bytes_that_are_no_zeromq(self):
        draw = random.Random(7)  # of which the kernel takes some 50 for messages
        for port in (self.km.shell_port, self.km.control_port, self.km.stdin_port, self.km.iopub_port,
                     self.km.hb_port):
            with socket.create_connection((self.km.ip, port)) as raw:
                raw.sendall(b"GET / HTTP/1.1\r\n\r\n" + draw.randbytes(5000))
        self.check_alive()

    def test_messages_that_are_none(self):
        header = json.dumps({"msg_id": "x", "msg_type": "execute_request", "session": "s"}).encode()
        bad = {
            "without the delimiter": [b"junk", b"more"],
            "too few parts": [b"<IDS|MSG>", b"", b"{}"],
            "signature is wrong": [b"<IDS|MSG>", b"0" * 64, header, b"{}", b"{}", b"{}"],
            "header is no JSON object": self.signed(b"{not json"),
            "content is no JSON object": self.signed(header, b"[1, 2"),
            "no msg_type": self.signed(b"{}"),
        }
        for port in (self.km.shell_port, self.km.control_port):
            client = self.dealer(port)
            for text, frames in bad.items():
                client.send_multipart(frames)
                self.wait_for_error(text)
            client.send_multipart([b"x"] * 3000)
            self.wait_for_error("too many parts")
            client.send(b"")
        client = self.dealer(self.km.stdin_port)
        client.send_multipart(bad["signature is wrong"])
        self.wait_for_error("stdin: a message whose signature is wrong")
        for kind in (zmq.SUB, zmq.XSUB):
            odd = zmq.Context.instance().socket(kind)
            odd.connect(f"tcp://{self.km.ip}:{self.km.iopub_port}")
            if kind == zmq.XSUB:
                odd.send(b"\x07 no subscription")
            odd.close(0)
        self.check_alive()

    def test_contents_that_are_wrong(self):
        client = self.dealer(self.km.shell_port)
        kinds = ("execute", "complete", "inspect", "is_complete", "history", "comm_info", "kernel_info", "unknown")
        for kind in kinds:
            header = json.dumps({"msg_id": "x", "msg_type": kind + "_request", "session": "s"}).encode()
            for content in (b"{}", b'{"code": 3, "cursor_pos": "x"}', b'{"code": null, "n": -5, "session": [],'
                            b' "hist_access_type": "search", "pattern": "[%", "user_expressions": 3}',
                            b'{"code": "x", "cursor_pos": -7, "user_expressions": {"a": 1}}'):
                client.send_multipart(self.signed(header, content))
                if kind != "unknown":
                    self.assertTrue(client.poll(TIMEOUT * 1000), (kind, content))
                    client.recv_multipart()
        self.wait_for_error("'unknown_request'")
        self.check_alive()

    def anything(self, draw, depth=0):
        """A random JSON value."""
        atoms = [None, True, False, 0, -1, 2**63, 1e308, 0.5, "", "x", "np.su", "é€\0\x7f", "\ud800", "[[%*",
                 "x" * 3000]
        kind = draw.randrange(8 if depth < 4 else 6)
        if kind < 6:
            return draw.choice(atoms)
        if kind == 6:
            return [self.anything(draw, depth + 1) for _ in range(draw.randrange(4))]
        return {str(draw.choice(atoms)): self.anything(draw, depth + 1) for _ in range(draw.randrange(4))}

    def broken(self, draw, text):
        """A text with some bytes changed, taken out or put in, or with very many brackets."""
        text = bytearray(text)
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(text) + 1)
            text[at:at + draw.randrange(3)] = draw.choice([b"", b"\xff", b"\0", b"{", b'"', b"\\u12", b"1e999"])
        if draw.randrange(20) == 0:
            text = bytearray(draw.choice([b"[", b'{"a":'])) * 100000
        return bytes(text)

    def test_random_messages(self):
        """For three seconds: fields of any type, broken JSON, broken frames; rightly signed, mostly."""
        fields = ("code", "cursor_pos", "silent", "store_history", "user_expressions", "allow_stdin", "detail_level",
                  "hist_access_type", "n", "session", "start", "stop", "pattern", "unique", "raw", "output", "comm_id",
                  "target_name", "data", "value", "restart")
        kinds = ("execute_request", "complete_request", "inspect_request", "is_complete_request", "history_request",
                 "comm_info_request", "kernel_info_request", "comm_open", "comm_msg", "comm_close", "input_reply",
                 "interrupt_request", "debug_request", "", 7)
        draw = random.Random(19)
        clients = [self.dealer(port) for port in (self.km.shell_port, self.km.control_port, self.km.stdin_port)]
        end, sent = time.monotonic() + 3, 0
        while time.monotonic() < end:
            header = {"msg_id": self.anything(draw), "msg_type": draw.choice(kinds), "session": self.anything(draw)}
            content = {name: self.anything(draw) for name in draw.sample(fields, draw.randrange(8))}
            if draw.randrange(3) == 0:
                content["hist_access_type"] = draw.choice(["tail", "range", "search"])
            parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
            if draw.randrange(2) == 0:
                parts = [self.broken(draw, part) for part in parts]
            frames = self.signed(b"", parts=parts)
            if draw.randrange(10) == 0:
                frames = draw.sample(frames, draw.randrange(1, len(frames) + 1))
            client = draw.choice(clients)
            client.send_multipart(frames)
            sent += 1
            while client.poll(0):
                client.recv_multipart()
            self.read_output()
        self.assertGreater(sent, 100)
        for client in clients[:2]:  # what was sent before this is over when it is answered
            header = json.dumps({"msg_id": "the last", "msg_type": "kernel_info_request", "session": "s"}).encode()
            client.send_multipart(self.signed(header))
            answer, end = b"", time.monotonic() + TIMEOUT
            while b'"the last"' not in answer:
                self.assertLess(time.monotonic(), end)
                self.read_output()
                if client.poll(10):
                    answer = b"".join(client.recv_multipart())
        self.check_alive()

    def test_clients_that_vanish(self):
        for _ in range(20):
            client = self.dealer(self.km.shell_port)
            header = json.dumps({"msg_id": "x", "msg_type": "execute_request", "session": "s"}).encode()
            client.send_multipart(self.signed(header, b'{"code": "print(1)"}'))
            client.close(100)
        self.check_alive()

    def subscriber(self):
        """A client of iopub that takes what comes into small buffers; it knows that it misses nothing from here on."""
        made = zmq.Context.instance().socket(zmq.SUB)
        made.rcvhwm, made.rcvbuf = 1, 4096
        made.subscribe(b"")
        made.connect(f"tcp://{self.km.ip}:{self.km.iopub_port}")
        self.addCleanup(made.close, 0)
        self.assertTrue(made.poll(TIMEOUT * 1000))
        self.assertIn(b"iopub_welcome", b"".join(made.recv_multipart()))
        return made

    def numbers(self, count):
        """Reads a cell's displays of 1 to count, one after another."""
        shown = 0
        while shown < count:
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "display_data":
                shown += 1
                self.assertEqual(message["content"]["data"]["text/plain"], str(shown))
                yield shown

    def test_client_that_vanishes_from_its_output(self):
        """One that has read nothing and is gone has no part in what others get."""
        gone = self.subscriber()
        request = self.send("for k = 1, 15000 do np.display(k) end")
        for shown in self.numbers(15000):
            if shown == 5000:
                gone.close(0)
        self.assertEqual(self.finish(request).reply["status"], "ok")

    def test_client_that_never_reads(self):
        """It is waited for, then it alone loses messages: who reads slowly behind that is waited for still."""
        count = 60000
        stuck = self.subscriber()
        request = self.send(f"for k = 1, {count} do np.display(k) end")
        paused = False
        for shown in self.numbers(count):
            if not paused and shown % 100 == 0 and "has not read for 5 s" in self.told():
                paused = time.sleep(2) is None
        self.assertTrue(paused, "nothing was told")
        self.assertEqual(self.finish(request).reply["status"], "ok")
        self.check_alive()
        stuck.rcvtimeo = 1000
        self.assertTrue(stuck.recv_multipart())


class Flood(WithErrors):
    def test_flood_of_complaints(self):
        """Few are told, and how many are not; what is wrong later is told."""
        client = self.dealer(self.km.shell_port)
        sent = 2000
        for _ in range(sent):
            client.send_multipart([b"junk"])
        end = time.monotonic() + TIMEOUT
        while "too few parts" not in self.told():
            self.assertLess(time.monotonic(), end, self.told())
            client.send_multipart([b"<IDS|MSG>", b"", b"{}"])
            sent += 1
            time.sleep(0.2)
        lines = self.told().splitlines()
        left_out = [int(n) for n in re.findall(r"\((\d+) complaints before this one are not told\)", self.told())]
        self.assertGreater(sum(left_out), 1000)
        self.assertLess(sum(left_out) + len(lines), sent + 1)
        self.check_alive()


class Hostile(WithClients):
    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc = start_kernel(stderr=subprocess.DEVNULL)  # it complains of much

    def beats(self):
        """A client of the heartbeat; it fails the test if one is not answered."""
        client = zmq.Context.instance().socket(zmq.REQ)
        client.connect(f"tcp://{self.km.ip}:{self.km.hb_port}")
        self.addCleanup(client.close, 0)

        def beat(text=b"beat"):
            client.send(text)
            self.assertTrue(client.poll(TIMEOUT * 1000), "a heartbeat is not answered")
            self.assertEqual(client.recv(), text)
        return beat

    def hostile_frames(self, draw, largest):
        """A message of any number of parts, empty ones and delimiters among them, few of up to so many bytes."""
        count = draw.choice([1, 1, 2, 2, 3, 5, 8, 40, 1001, 3000])
        kinds = [b"", b"\0", b"<IDS|MSG>", b"\1", b"\0" + draw.randbytes(8), draw.randbytes(draw.randrange(2000))]
        if count < 10:
            kinds += [draw.randbytes(largest), self.signed(b"{}")[1]]
        return draw.choices(kinds, k=count)

    def test_hostile_messages(self):
        """Messages of no sort on all channels, of clients that stay or vanish, however early; then a heartbeat of a
        client that was there before, one of a new client, a question and a cell are answered."""
        seed, hours = int(os.environ.get("NEAP_TEST_SEED", 1)), float(os.environ.get("NEAP_TEST_LONG", 0))
        draw, number, end = random.Random(seed), 0, time.monotonic() + 3600 * hours
        ports = [self.km.shell_port, self.km.control_port, self.km.stdin_port, self.km.iopub_port, self.km.hb_port]
        old = self.beats()
        old()
        while number < 12 or time.monotonic() < end:
            number += 1
            with self.subTest(seed=seed, number=number):
                for _ in range(20):
                    port = draw.choice(ports + [self.km.hb_port] * 3)
                    kind = zmq.XSUB if port == self.km.iopub_port else draw.choice([zmq.DEALER, zmq.DEALER, zmq.REQ])
                    client = zmq.Context.instance().socket(kind)
                    if draw.randrange(4) == 0:
                        client.routing_id = draw.choice([b"same", draw.randbytes(30)[:-1] + b"x"]).lstrip(b"\0")
                    client.connect(f"tcp://{self.km.ip}:{port}")
                    for _ in range(1 if kind == zmq.REQ else draw.randrange(5)):
                        # The library of this client recurses over the bytes of a subscription.
                        client.send_multipart(self.hostile_frames(draw, 2000 if kind == zmq.XSUB else 2**20))
                    time.sleep(draw.choice([0, 0, 0.001, 0.003]))
                    client.close(draw.choice([0, 1000]))
                old()
                self.beats()(draw.randbytes(draw.choice([0, 1, 5000])))
                self.assertEqual(self.reply_to(self.kc.kernel_info())["content"]["status"], "ok")
                self.check_alive()
                self.read_output()

    def test_heartbeat_too_large(self):
        """One of very many parts, and one of more bytes than a request may have, come back as they are."""
        beat = self.beats()
        for parts in ([b""] + [b"x"] * 5000, [b"", bytes(257 << 20)] if os.environ.get("NEAP_TEST_LONG") else [b"a"]):
            client = self.dealer(self.km.hb_port)
            client.send_multipart(parts)
            self.assertTrue(client.poll(TIMEOUT * 1000))
            self.assertEqual(client.recv_multipart(), parts)
            beat()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for kernels
    counted.main(verbosity=2)
