#!/bin/sh
# Opens an account with a token that has the scope accounts:create. For deployments that name an issuer of tokens.
#   API_URL=https://… API_TOKEN=… sh token.sh
# The same key never opens a second account: use a new one for each account.
curl --silent --show-error --fail-with-body --max-time 35 "$API_URL/public/v1/users/CLIENT01/tp5/accounts" \
  --header "authorization: Bearer $API_TOKEN" \
  --header 'content-type: application/json' \
  --header 'idempotency-key: 0b9e4a76-2f1d-4c83-8a5e-6d7c1f3b9025' \
  --data '{ "connection_id": "tp5-live-1", "group": "real\\standard", "leverage": 100 }'
