#!/bin/sh
# Opens an account: with a token that has the scope accounts:create, or with a signed request (AWS Signature Version 4).
#   API_URL=https://… API_TOKEN=… sh account.sh
#   API_URL=https://… AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… sh account.sh
# Credentials of a role need AWS_SESSION_TOKEN, too. The same IDEMPOTENCY_KEY never opens a second account.
if [ -n "$API_TOKEN" ]; then
  set -- --header "authorization: Bearer $API_TOKEN"
else
  set -- --aws-sigv4 "aws:amz:$AWS_REGION:execute-api" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
    ${AWS_SESSION_TOKEN:+--header "x-amz-security-token: $AWS_SESSION_TOKEN"}
fi
curl --silent --show-error --fail-with-body --max-time 35 "$API_URL/public/v1/users/CLIENT01/tp5/accounts" "$@" \
  --header 'content-type: application/json' \
  --header "idempotency-key: ${IDEMPOTENCY_KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')}" \
  --data '{ "connection_id": "tp5-live-1", "group": "real\\standard", "leverage": 100 }'
