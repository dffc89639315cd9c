#!/bin/sh
# Opens an account with a signed request (AWS Signature Version 4). For deployments that use IAM.
#   API_URL=https://… AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… sh signed.sh
# Credentials of a role need AWS_SESSION_TOKEN, too. The same key never opens a second account: use a new one for each.
curl --silent --show-error --fail-with-body --max-time 35 "$API_URL/public/v1/users/CLIENT01/tp5/accounts" \
  --aws-sigv4 "aws:amz:$AWS_REGION:execute-api" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
  ${AWS_SESSION_TOKEN:+--header "x-amz-security-token: $AWS_SESSION_TOKEN"} \
  --header 'content-type: application/json' \
  --header 'idempotency-key: 7d3f2c1e-58a4-4b0e-9c55-0f6b2a9d4e31' \
  --data '{ "connection_id": "tp5-live-1", "group": "real\\standard", "leverage": 100 }'
