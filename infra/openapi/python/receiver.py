# SPDX-License-Identifier: 0BSD
"""Receives the webhook, for a CRM that is not on AWS. Python 3.9, without packages.

    WEBHOOK_SECRET=whsec_... PORT=4000 python3 receiver.py
"""
import base64
import hashlib
import hmac
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"][len("whsec_"):])
MAX_BYTES = 1_048_576  # A message is smaller. A larger body is refused before its signature is verified.
answers = {}  # By webhook-id. A CRM keeps them in its database, written together with the client.
lock = threading.Lock()


def receive(message):
    """Handles a new event."""
    if message["type"] != "RegistrationConfirmed":
        return {}
    # The person has proved to own one address, data["verified"]. The other one is only typed: send nothing to it, and look
    # nobody up by it.
    return {"client_id": f"N{len(answers) + 1:07}"}


def is_signed(event, sent, body, signatures):
    mac = hmac.new(KEY, f"{event}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(mac)
    is_fresh = sent.isdecimal() and len(sent) < 16 and abs(time.time() - int(sent)) <= 300
    return is_fresh and any(hmac.compare_digest(expected, one.encode()) for one in signatures.split(" "))


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections are kept.
    timeout = 10  # Seconds that a caller may be silent.

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or len(length) > 9 or int(length) > MAX_BYTES:
            return self.answer(413, {})
        body = self.rfile.read(int(length))
        event, sent, signatures = (self.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        if not is_signed(event, sent, body, signatures):
            return self.answer(401, {})
        with lock:
            if event not in answers:
                answers[event] = receive(json.loads(body))
        self.answer(200, answers[event])

    def answer(self, status, answer):
        content = json.dumps(answer).encode()
        self.close_connection = status != 200
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


# Each connection has a thread, so one that is held stops no other. An error ends its connection only.
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
