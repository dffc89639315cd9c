import * as v from 'valibot';
import { expect } from 'vitest';
import { type ApiRequest, parseRequest } from '../../lib/http/endpoint.ts';
import { decodeBody } from '../../lib/http/json-body.ts';
import { Problem } from '../../lib/problem.ts';
import { s3Documents } from '../../lib/records/documents.ts';
import { ALL_COUNTRIES } from '../../lib/validators/countries.ts';
import type { Violation } from '../../lib/validators/primitives.ts';
import {
  checkCustomFields,
  keptFields,
  type RegistrationRequest,
  registrationRequestSchema,
} from '../../lib/validators/registration.ts';
import { tradingAccountRequestSchema, UserIdSchema } from '../../lib/validators/trading-account.ts';
import { gatewayEvent } from '../support/endpoint.ts';
import { NEVER_ABORTED } from '../support/outcomes.ts';
import { bodyOf, checkDocumented } from './caller.ts';
import { checkErrors } from './checks.ts';
import { CLIENT, RECORDS } from './records.ts';
import { ABSENT, type FieldCase, type RuleCase, type Version } from './table.ts';

/** The request keeps every rule and is read as `kept`, or these violations are listed. */
type Judgment =
  | {
      kept: Readonly<Record<string, unknown>>;
      /** The phone. */
      e164?: string | undefined;
    }
  | { errors: readonly Violation[] };

const SILENT = { event: () => {} };

/** Applies the rules to a request, as the functions do. No service runs. */
async function judge(one: RuleCase, raw: string): Promise<Judgment> {
  const { operation, userId = CLIENT.id, headers = {}, served = [ALL_COUNTRIES] } = one;
  const event = gatewayEvent(raw);
  const sent = { ...event, body: JSON.parse(decodeBody(event, raw.length * 3)), pathParameters: { user_id: userId } };
  Object.assign(sent.headers, headers);
  try {
    if (operation !== 'registration') return { kept: (await parseAccount(sent, operation)).body };
    const body = registrationRequestSchema(served, 'Example Broker');
    const request = await parseRequest(sent, Date.now() + 1_000, { body, path: v.object({}) }, NEVER_ABORTED, SILENT);
    return await judgeForm(request);
  } catch (error) {
    if (error instanceof Problem && error.type === 'validation_failed') return { errors: error.options.errors ?? [] };
    throw error;
  }
}

function parseAccount(sent: Parameters<typeof parseRequest>[0], version: Version) {
  const rules = { body: tradingAccountRequestSchema(version), path: v.object({ user_id: UserIdSchema }) };
  return parseRequest(sent, Date.now() + 1_000, rules, NEVER_ABORTED, SILENT);
}

async function judgeForm({ body }: ApiRequest<RegistrationRequest>): Promise<Judgment> {
  const form = RECORDS.forms.find(({ id }) => id === body.form_id);
  if (form === undefined) throw new Error(`No form has the id ${body.form_id}.`);
  const custom = await checkCustomFields(form, body.members);
  const wrongDocuments = await s3Documents({ documentsBucket: 'documents' }).inspect(custom.documents);
  if (!custom.ok) return { errors: [...custom.violations, ...wrongDocuments] };
  if (wrongDocuments.length > 0) return { errors: wrongDocuments };
  // Its default is not in the request.
  const { otp_type: _, ...kept } = keptFields(body);
  return { kept: { ...kept, ...custom.fields }, e164: body.phoneE164 };
}

/**
 * Checks one case on the rules alone: it is read as it was sent and is documented, or it has exactly these violations.
 */
export async function checkRules(one: RuleCase & Pick<FieldCase, 'readAs'>): Promise<void> {
  const raw = JSON.stringify(bodyOf(one));
  const judgment = await judge(one, raw);
  checkErrors('errors' in judgment ? judgment.errors : [], one.violations);
  if ('errors' in judgment) return;
  const kept = JSON.parse(JSON.stringify(judgment.kept)) as Record<string, unknown>;
  if (one.readAs === undefined) {
    expect(JSON.parse(raw)).toMatchObject(kept);
    // The document describes changed values in words.
    checkDocumented(one.operation, raw);
  } else {
    const read: Record<string, unknown> = { ...kept, e164: judgment.e164 };
    for (const [key, value] of Object.entries(one.readAs)) {
      expect(read[key]).toEqual(value === ABSENT ? undefined : value);
    }
  }
}
