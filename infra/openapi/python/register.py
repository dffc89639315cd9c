# SPDX-License-Identifier: 0BSD
"""Requests a registration, and prints its id. The person gets a one-time password. With the id and the code it
confirms the registration.

    EMAIL=ann@example.com PASSWORD=... python3 register.py
    REGISTRATION_ID=... CODE=123456 python3 register.py

Python 3.9, without packages. API_URL is the address of the deployment; without it the local service is called. FIELDS
has the fields of your form as JSON.
"""
import json
import os
import sys
import urllib.error
import urllib.request
import uuid

env = os.environ.get
code = env("CODE")
if code is None:
    path = "request"
    email, password = os.environ["EMAIL"], os.environ["PASSWORD"]
    body = {"email": email, "type": "trader", "name": env("NAME", "Ann Lee"), "otp_type": "email"}
    body.update(password=password, repeat_password=password, form_id=env("FORM_ID", "FORM0001"))
    body.update(json.loads(env("FIELDS", '{"k3J9xQ": "some"}')))
else:
    path = "confirm"
    body = {"registration_id": os.environ["REGISTRATION_ID"], "code": code}

# The same key sends the code once. Use it again if no answer arrives.
headers = {"content-type": "application/json", "idempotency-key": env("IDEMPOTENCY_KEY", str(uuid.uuid4()))}
url = f"{env('API_URL', 'http://localhost:3000')}/public/v1/account/register/{path}"
try:
    answer = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=35)
except urllib.error.HTTPError as error:
    sys.exit(f"{error.code} {error.read().decode()}")
print(answer.headers["registration-id"] if code is None else "Confirmed.")
