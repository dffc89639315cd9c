# SPDX-License-Identifier: 0BSD
"""Opens a real account for a client, and prints its passwords once.

    USER_ID=CLIENT01 CONNECTION_ID=tp5-live-1 GROUP='real\\standard' python3 account.py

Python 3.9, without packages. This calls the local service. A deployment has an address API_URL and needs either a token
with the scope accounts:create (API_TOKEN), or a signature (AWS Signature Version 4) by the credentials of a role
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) in its region (AWS_REGION).
"""
import hashlib
import hmac
import json
import os
import sys
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone
from urllib.parse import quote, urlsplit

env = os.environ.get


def sign(url, body, headers):
    """The headers with a signature of AWS. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html"""
    def mac(key, text):
        return hmac.new(key, text.encode(), hashlib.sha256).digest()

    time = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/{env('AWS_REGION', 'eu-west-1')}/execute-api/aws4_request"
    headers = {**headers, "host": urlsplit(url).netloc, "x-amz-date": time}
    if env("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = env("AWS_SESSION_TOKEN")
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
    content = hashlib.sha256(body).hexdigest()
    canonical = "\n".join(["POST", quote(urlsplit(url).path), "", *lines, "", names, content])
    to_sign = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{env('AWS_SECRET_ACCESS_KEY')}".encode()
    for part in scope.split("/"):
        key = mac(key, part)
    credential = f"{env('AWS_ACCESS_KEY_ID')}/{scope}"
    signature = f"Credential={credential}, SignedHeaders={names}, Signature={mac(key, to_sign).hex()}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {signature}"}


api, user, connection = env("API_URL", "http://localhost:3000"), env("USER_ID"), env("CONNECTION_ID")
if not (user and connection and env("GROUP")):
    sys.exit("USER_ID, CONNECTION_ID and GROUP are needed.")
order = {"connection_id": connection, "group": env("GROUP"), "leverage": int(env("LEVERAGE", "100"))}
if env("ACCOUNT_TYPE_ID"):
    order["account_type_id"] = env("ACCOUNT_TYPE_ID")
body = json.dumps(order).encode()
url = f"{api}/public/v1/users/{quote(user, safe='')}/{env('PLATFORM', 'tp5')}/accounts"
key = env("IDEMPOTENCY_KEY", str(uuid.uuid4()))  # The same key never opens a second account.
headers = {"content-type": "application/json", "idempotency-key": key}
if env("API_TOKEN"):
    headers["authorization"] = f"Bearer {env('API_TOKEN')}"
elif env("AWS_ACCESS_KEY_ID"):
    headers = sign(url, body, headers)

print(f"Opening a real account for {user} on {connection}, at {api}.")
print(f"If no answer arrives, run this again with IDEMPOTENCY_KEY={key}: it never opens a second account.", flush=True)
try:
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=35) as answer:
        opened = json.load(answer)
except urllib.error.HTTPError as error:
    sys.exit(f"{error.code} {error.read().decode()}")
passwords = f"master {opened['master_password']}, investor {opened['investor_password']}"
print(f"Opened {opened['login']}. These passwords are shown once: {passwords}")
