import { type Command, CommanderError } from 'commander';
import { AwsFailure } from '../../lib/aws/failure.ts';
import { KEY_SECRETS } from '../settings.ts';
import type { CrmFileError } from './crm-items.ts';
import type { Terminal } from './terminal.ts';

/** Runs a command with these arguments, and reports its failure. @returns the exit code */
export async function runProgram(
  program: Command,
  args: readonly string[],
  { report }: Pick<Terminal, 'report'>,
): Promise<number> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // The library has reported the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { lines, exitCode } = explainFailure(error);
    report(lines);
    return exitCode;
  }
}

/** A failure that the operator reads as sentences, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly lines: readonly string[];
  readonly exitCode: 1 | 2;

  constructor(lines: string | readonly string[], exitCode: 1 | 2 = 1) {
    super([lines].flat().join(' '));
    this.lines = [lines].flat();
    this.exitCode = exitCode;
  }
}

/** The end of the message about a wrong call. */
export const HELP_HINT = 'npm run ops -- --help shows how it is called.';

/** The operator called the command wrongly. */
export function wrongUsage(message: string): CommandError {
  return new CommandError([message, HELP_HINT], 2);
}

/** The errors of CRM records, below a sentence. */
export function recordsRefused(sentence: string, { errors }: CrmFileError): CommandError {
  return new CommandError([`${sentence}:`, ...errors.map((error) => `  ${error}`)]);
}

/** `1 record`, `2 records`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How a person gets the rights of these commands. */
const OPERATORS_POLICY = 'attach the policy that the output OperatorsPolicy names';
/**
 * The policy gets a secret whose name does not begin with the stage's prefix only with the deployment of the setting.
 */
const SECRET_POLICY = `${OPERATORS_POLICY}; if it is attached, the setting that names this secret is not deployed: npm run deploy`;
/** The operators' policy denies the keys of the service. */
const KEY_ROTATION_POLICY =
  'use a role that has the policy of the output KeyRotationPolicy, and not that of the operators';

/** The keys that requests to receivers are signed with, which `signingSecretName` names. */
const SIGNING_KEYS = /^secretsmanager:\S+ on \S+:secret:broker-api\/[^/]+\/(crm-webhook|provider)\b/;
/** A role that writes a registration can have any address published as proven. A restore first reads the restored table. */
const RESTORATION = /^dynamodb:(PutItem on \S+[Rr]egistrations|Scan on \S+[Rr]egistrations\S*-restored)/;
const RESTORE_POLICY = 'use a role that has the policy of the output RestorePolicy';

/** The words of S3 if the policy of the bucket refuses a caller. */
const BY_THE_BUCKET = /explicit deny in a resource-based policy/;
const DOCUMENT_ROLES = 'name their role in the setting documentRoles, and deploy';

/** The lines and the exit code of a failure. */
export function explainFailure(
  error: unknown,
  profile = process.env.AWS_PROFILE,
): Pick<CommandError, 'lines' | 'exitCode'> {
  if (error instanceof CommandError) return error;
  if (error instanceof AwsFailure && error.cause !== undefined) return explainFailure(error.cause, profile);
  return { lines: [error instanceof Error ? sentence(error, profile) : String(error)], exitCode: 1 };
}

function sentence(error: Error & { code?: unknown; path?: unknown }, profile: string | undefined): string {
  const { code, path } = error;
  if (code === 'ENOENT' && path !== undefined) return `There is no file ${path}.`;
  if (code === 'ENOTFOUND' || code === 'ECONNREFUSED' || code === 'ETIMEDOUT')
    return `AWS cannot be reached from here (${error.message}).`;
  const right = missingRight(error);
  if (right !== undefined) return `These AWS credentials lack the right ${right}: ${missingRightFix(right, error)}.`;
  const about = profile === undefined ? '' : ` There may be no profile ${profile} (AWS_PROFILE).`;
  if (/region is missing/i.test(error.message))
    return `The AWS region is not known: set AWS_REGION, or AWS_PROFILE to a profile that names one.${about}`;
  if (error.name === 'CredentialsProviderError')
    return `There are no AWS credentials: set AWS_PROFILE, or log in with \`aws sso login\`.${about}`;
  const known = SERVICE_ERRORS.find(({ names }) => names.includes(error.name));
  return known?.message ?? `${error.name}: ${error.message}`;
}

/** How a person gets the missing right. */
export function missingRightFix(right: string, error: unknown): string {
  if (error instanceof Error && BY_THE_BUCKET.test(error.message)) return DOCUMENT_ROLES;
  if (right.includes(`:secret:${KEY_SECRETS}`) || SIGNING_KEYS.test(right)) return KEY_ROTATION_POLICY;
  if (RESTORATION.test(right)) return RESTORE_POLICY;
  return right.startsWith('secretsmanager:') ? SECRET_POLICY : OPERATORS_POLICY;
}

/** The errors of AWS, by their names, and what they mean to an operator. */
const SERVICE_ERRORS: readonly { names: string[]; message: string }[] = [
  {
    names: ['ExpiredToken', 'ExpiredTokenException', 'RequestExpired'],
    message: 'The AWS credentials have expired: log in again.',
  },
  {
    names: ['UnrecognizedClientException', 'InvalidClientTokenId', 'InvalidAccessKeyId', 'AuthFailure'],
    message: 'AWS does not know these credentials: the access key is wrong, or of another account.',
  },
  {
    names: ['SignatureDoesNotMatch', 'InvalidSignatureException'],
    message: 'AWS refuses these credentials: the secret key does not belong to the access key, or the clock is wrong.',
  },
  { names: ['ResourceNotFoundException'], message: 'There is no such table in this account and region.' },
  { names: ['ValidationError'], message: 'There is no such stack in this account and region.' },
];

const DENIED = /AccessDenied|NotAuthorized|Unauthorized|AuthorizationError/i;
/** Every AWS service words its refusal like this, with different quotes. */
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

/**
 * The result of a call to AWS; undefined if the resource does not exist. @param names the names of errors that mean so
 */
export async function undefinedIfAbsent<T>(work: Promise<T>, names = ABSENT): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && names.test(`${error.name}: ${error.message}`)) return undefined;
    throw error;
  }
}
