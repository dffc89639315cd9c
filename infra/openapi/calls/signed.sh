#!/bin/sh
# Opens an account with a request that is signed (AWS Signature Version 4), where the deployment asks for IAM:
#   API_URL=https://… AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… sh signed.sh
# With credentials of a role, AWS_SESSION_TOKEN too. Sent again with the same key, it opens no second account.
curl --silent --show-error --fail-with-body --max-time 35 "$API_URL/public/v1/users/CLIENT01/tp5/accounts" \
  --aws-sigv4 "aws:amz:$AWS_REGION:execute-api" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
  ${AWS_SESSION_TOKEN:+--header "x-amz-security-token: $AWS_SESSION_TOKEN"} \
  --header 'content-type: application/json' \
  --header 'idempotency-key: 7d3f2c1e-58a4-4b0e-9c55-0f6b2a9d4e31' \
  --data '{ "connection_id": "tp5-live-1", "group": "real\\standard", "leverage": 100 }'
