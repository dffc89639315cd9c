#!/bin/sh
# Requests a registration. The person gets a one-time password. With CODE it confirms the registration:
#   API_URL=https://… EMAIL=ann@example.com PASSWORD=… sh register.sh
#   API_URL=https://… EMAIL=ann@example.com PASSWORD=… CODE=123456 sh register.sh
# The same IDEMPOTENCY_KEY sends the code once.
if [ -z "$CODE" ]; then
  path=request
  body='{ "email": "'$EMAIL'", "password": "'$PASSWORD'", "repeat_password": "'$PASSWORD'", "type": "trader",
    "name": "Ann Lee", "otp_type": "email", "form_id": "FORM0001", "k3J9xQ": "some" }'
else
  path=confirm
  body='{ "otp_type": "email", "email": "'$EMAIL'", "password": "'$PASSWORD'", "code": "'$CODE'" }'
fi
curl --silent --show-error --fail-with-body --max-time 35 "$API_URL/public/v1/account/register/$path" \
  --header 'content-type: application/json' \
  --header "idempotency-key: ${IDEMPOTENCY_KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')}" \
  --data "$body"
