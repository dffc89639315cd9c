import { CommandError, counted, indented } from './command.ts';
import { CrmFileError } from './record-errors.ts';

/** How a person gets the rights of these commands. */
export const OPERATORS_POLICY = 'attach the policy that the output OperatorsPolicy names';

/** The message and exit code of a failure. */
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
  const right = missingRight(error);
  if (right !== undefined)
    return { message: `These AWS credentials lack the right ${right}: ${OPERATORS_POLICY}.`, exitCode: 1 };
  const sentence =
    SERVICE_ERRORS[error.name] ?? (/region is missing/i.test(error.message) ? SERVICE_ERRORS.NoRegion : undefined);
  return { message: sentence ?? `${error.name}: ${error.message}`, exitCode: 1 };
}

const SERVICE_ERRORS: Record<string, string> = {
  NoRegion: 'The AWS region is not known: set AWS_REGION, or AWS_PROFILE to a profile that names one.',
  CredentialsProviderError: 'There are no AWS credentials: set AWS_PROFILE, or log in with `aws sso login`.',
  ExpiredTokenException: 'The AWS credentials have expired.',
  UnrecognizedClientException: 'AWS does not know these credentials.',
  ResourceNotFoundException: 'There is no such table in this account and region.',
  ValidationError: 'There is no such stack in this account and region.',
};

const DENIED = /AccessDenied|NotAuthorized|Unauthorized|AuthorizationError/i;
/** Every service of AWS words its refusal so, with different quotes. */
const REFUSAL = /not authorized to perform:? [`'"]?([a-z0-9-]+:\w+)[`'"]?(?: on resource:? [`'"]?([^\s`'",]+))?/i;

/**
 * @returns the action that AWS refused, with its resource, such as `dynamodb:Scan on arn:…`; undefined for another
 * error
 */
export function missingRight(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const [, action, resource] = REFUSAL.exec(error.message) ?? [];
  if (action !== undefined) return resource === undefined ? action : `${action} on ${resource}`;
  return missingRight(error.cause) ?? (DENIED.test(error.name) ? 'that AWS asks for here' : undefined);
}

/** How AWS names a thing that does not exist. CloudFormation has no specific name for it. */
const ABSENT = /NotFound|NoSuch|does not exist/;

/** @param names of errors that say so @returns undefined for a thing that does not exist */
export async function orAbsent<T>(work: Promise<T>, names = ABSENT): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && names.test(`${error.name}: ${error.message}`)) return undefined;
    throw error;
  }
}
