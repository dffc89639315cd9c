# Receives the webhook (infra/docs/integrating.md). To be copied. WEBHOOK_SECRET=whsec_... PORT=4000 python3 receiver.py
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
answers = {}  # by webhook-id; a CRM keeps them in its database

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        event, sent = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        mac = hmac.new(KEY, f"{event}.{sent}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(mac).decode()
        signatures = self.headers["webhook-signature"].split(" ")
        if abs(time.time() - int(sent)) > 300 or not any(hmac.compare_digest(expected, one) for one in signatures):
            return self.answer(401, {})
        if event not in answers:
            message = json.loads(body)
            is_new = message["type"] == "RegistrationConfirmed" and not message["data"]["email_taken"]
            answers[event] = {"client_id": f"N{len(answers) + 1:07}"} if is_new else {}
        self.answer(200, answers[event])

    def answer(self, status, answer):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
