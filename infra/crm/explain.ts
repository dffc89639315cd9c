import { CommandError, counted, indented } from './command.ts';
import { CrmFileError } from './faults.ts';

/** What is said of a failure, and with which exit code the command ends. */
export function explain(error: unknown): { message: string; exitCode: 1 | 2 } {
  if (error instanceof CommandError) return error;
  if (error instanceof CrmFileError) {
    return {
      message: `${counted(error.faults.length, 'fault')}; nothing was written:\n${indented(error)}`,
      exitCode: 1,
    };
  }
  if (!(error instanceof Error)) return { message: String(error), exitCode: 1 };
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' && 'path' in error) return { message: `There is no file ${error.path}.`, exitCode: 1 };
  if (code === 'ENOTFOUND' || code === 'ECONNREFUSED' || code === 'ETIMEDOUT') {
    return { message: `AWS cannot be reached from here (${error.message}).`, exitCode: 1 };
  }
  const sentence =
    SERVICE_ERRORS[error.name] ?? (/region is missing/i.test(error.message) ? SERVICE_ERRORS.NoRegion : undefined);
  return { message: sentence ?? `${error.name}: ${error.message}`, exitCode: 1 };
}

const SERVICE_ERRORS: Record<string, string> = {
  NoRegion: 'The AWS region is not known: set AWS_REGION, or AWS_PROFILE to a profile that names one.',
  CredentialsProviderError: 'There are no AWS credentials: set AWS_PROFILE, or log in with `aws sso login`.',
  ExpiredTokenException: 'The AWS credentials have expired.',
  UnrecognizedClientException: 'AWS does not know these credentials.',
  AccessDeniedException:
    'These AWS credentials may not do this: it takes dynamodb:Scan, GetItem and BatchWriteItem on the table, ' +
    'cloudformation:DescribeStacks for --stack, and secretsmanager:GetSecretValue for check.',
  ResourceNotFoundException: 'There is no such table in this account and region.',
  ValidationError: 'There is no such stack in this account and region.',
};
