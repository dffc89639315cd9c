# For the commands of the pages: STACK=broker-api-prod && . infra/commands.sh

# An output of the stack.
output() {
  aws cloudformation describe-stacks --stack-name "$STACK" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue" --output text
}

# The name of a table, for an administrator: table Logins
table() {
  aws cloudformation describe-stack-resource --stack-name "$STACK" --logical-resource-id "$1Table" --query StackResourceDetail.PhysicalResourceId --output text
}

# The log lines of a function, of the last hour or of a longer time: events NotifyCrm CrmNotNotified 12h
events() {
  aws logs tail "$(output "$1LogGroup")" --since "${3:-1h}" --filter-pattern "{ \$.message = \"$2\" }"
}
