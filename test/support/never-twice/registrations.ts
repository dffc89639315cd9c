import type { Faults } from '../../../infra/local/faults.ts';
import { operationKey } from '../../../lib/openings/ledger.ts';
import { type AccountAnswer, accountEvent, CALLER } from '../account-calls.ts';
import type { Outcome } from '../environments.ts';
import { checkAnswer as checkDocumented } from '../openapi.ts';
import { Rounds, type Tried, unused } from './rounds.ts';

/** A request for a registration. */
export interface Registration extends Tried {
  email: string;
  /** The address that it comes from. */
  source: string;
  /** Every answer. */
  words: string[];
}

/** The observable result of one request. */
export interface RegistrationSight {
  /** How many were sent to its address. */
  messages: number;
  /** Nothing befell it, and the mail service did not fail. */
  isUndisturbed: boolean;
}

const ANSWERS = new Set([
  '204',
  '409 request_in_progress',
  '429 too_many_requests',
  '500 internal_error',
  '502 otp_delivery_failed',
]);

function wordOfRegistration({ status, body }: AccountAnswer): string {
  return status === 204 ? '204' : `${status} ${body.type}`;
}

/** After each try: one message at most for each use of the key. @throws Error */
export function checkRegistration(
  sight: RegistrationSight,
  intent: Registration,
  answer: AccountAnswer | undefined,
): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  checkMessages(sight, intent);
  if (answer === undefined) return;
  const word = wordOfRegistration(answer);
  if (!ANSWERS.has(word)) throw wrong(`the contract has no answer ${word}`);
  const hasFailed = intent.words.some((one) => one.startsWith('5'));
  // A try that failed, was killed or is paused may have used up a count.
  const isCounted = hasFailed || intent.befallen || intent.running > 0;
  if (answer.status === 429 && !isCounted && intent.uses === 1) throw wrong('a limit is reached by its own repeats');
  intent.words.push(word);
  if (
    word === '502 otp_delivery_failed' &&
    intent.running === 0 &&
    sight.messages > Math.max(intent.answers.length, intent.uses - 1)
  ) {
    throw wrong('502, but there is a message');
  }
  if (answer.status !== 204) return;
  if (sight.messages === 0 && sight.isUndisturbed) throw wrong('204 without a message');
  if (intent.answers.length < intent.uses) intent.answers.push(answer);
}

/**
 * Whether all of it can have taken one place of its source only. A try that failed or was killed may have used up one
 * for itself, also the repeat of a request that was answered.
 */
export function hasOnePlace({ key, uses, words, befallen }: Registration): boolean {
  if (key === undefined || uses !== 1 || befallen) return false;
  return words.every((word) => word === '204' || word.startsWith('409'));
}

/** When all is over. @throws Error */
export function checkRegistrationEnd(sight: RegistrationSight, intent: Registration): void {
  checkMessages(sight, intent);
  if (sight.messages === 0 && sight.isUndisturbed && intent.answers.length > 0) {
    throw new Error(`${intent.name}: 204 without a message`);
  }
}

/** Without a key it is sent once. */
function checkMessages({ messages }: RegistrationSight, { name, uses }: Registration): void {
  if (messages > uses) throw new Error(`${name}: ${messages} messages`);
}

const PATH = '/public/v1/account/register/request';
const LAST_MS = 12_000;
const MAX_RETRIES = 20;
/** After one message to an address the next may be asked for. */
const RESEND_MS = 61_000;
/** The limit of one source in ten minutes. */
const OF_A_SOURCE = 5;
const TEN_MINUTES_MS = 10 * 60 * 1_000;
/** After that none counts any more. */
const PLACES_LAST_MS = 61 * 60 * 1_000;

let persons = 0;

/** Requests for registrations by e-mail. */
export class Registrations extends Rounds<Registration, AccountAnswer, boolean> {
  /** A password is hashed in it. */
  protected readonly ms = 9_000;

  protected async begin(keyed: boolean): Promise<Registration[]> {
    persons += 1;
    const now = this.world.clock.now();
    const key = keyed ? `key-${persons}` : undefined;
    return [
      {
        name: `registration ${persons}`,
        key,
        scope: key === undefined ? undefined : ['registration', CALLER, key],
        returns: keyed,
        // No two persons share a mail domain or a source.
        email: `quill-${persons}@p${persons}.example`,
        source: `10.${(persons >> 16) & 255}.${(persons >> 8) & 255}.${persons & 255}`,
        answers: [],
        words: [],
        ...unused(now),
      },
    ];
  }

  /** Without a key nothing is kept of it, and it is sent once. */
  protected usesOf({ scope }: Registration): number {
    const pk = scope && operationKey(scope);
    return Math.max(1, this.watch.of((one) => one.pk === pk).length);
  }

  protected async edit(): Promise<void> {}

  protected send({ email, source, key }: Pick<Registration, 'email' | 'source' | 'key'>, ms: number) {
    const run = this.world.environments.run('request-registration', registrationEvent(email, source, key), ms);
    return { ...run, answer: run.outcome.then(toAnswer) };
  }

  protected serverOf(): Faults {
    return this.world.faults.ses;
  }

  protected see(intent: Registration, answer: AccountAnswer | undefined): void {
    if (answer !== undefined) this.count(wordOfRegistration(answer));
    const messages = this.#messagesTo(intent.email);
    checkRegistration({ messages, isUndisturbed: this.#isUndisturbed(intent) }, intent, answer);
  }

  protected async finish(intent: Registration): Promise<void> {
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const answer = await this.ask(intent, null, LAST_MS);
      if (answer?.status === 204) return;
      await this.world.clock.pass(Number(answer?.headers['retry-after'] ?? 1) * 1_000);
    }
    throw new Error(`${intent.name}: never answered; ${intent.words.join(', ')}`);
  }

  protected async checkEnd(): Promise<void> {
    for (const intent of this.intents) {
      const messages = this.#messagesTo(intent.email);
      this.counts.messages += messages;
      checkRegistrationEnd({ messages, isUndisturbed: this.#isUndisturbed(intent) }, intent);
    }
    const counted = this.intents.filter(hasOnePlace);
    for (const intent of counted) await this.#checkPlaces(intent);
    const [first] = counted;
    if (first !== undefined) await this.#checkRepeat(first);
  }

  /** One request takes one place of its source and of its address, however often it was repeated. */
  async #checkPlaces(intent: Registration): Promise<void> {
    await this.world.clock.pass(RESEND_MS);
    if (await this.#areLeft(OF_A_SOURCE - 1, intent)) return;
    throw new Error(`${intent.name}: it has taken more than one place`);
  }

  /** A replay takes no quota if that of the original request has expired. */
  async #checkRepeat(intent: Registration): Promise<void> {
    const { clock } = this.world;
    await clock.pass(PLACES_LAST_MS);
    const kept = intent.scope && (await this.world.operationOf(intent.scope));
    if (clock.now() + LAST_MS > Number(kept?.expires_at ?? 0) * 1_000) return;
    const repeated = await this.send(intent, LAST_MS).answer;
    const areAll = await this.#areLeft(OF_A_SOURCE, intent);
    if (repeated?.status === 204 && !areAll)
      throw new Error(`${intent.name}: what was answered again has taken a place`);
  }

  /** Whether its source may request this many others, including one for its address. */
  async #areLeft(places: number, { email, source }: Registration): Promise<boolean> {
    const { clock } = this.world;
    const began = clock.now();
    for (let other = 1; other <= places; other += 1) {
      const to = other === 1 ? email : `other-${other}.${email}`;
      const answer = await this.send({ email: to, source, key: undefined }, LAST_MS).answer;
      const isMeasured = clock.now() - began < TEN_MINUTES_MS && answer !== undefined;
      if (isMeasured && answer.status === 429) return false;
    }
    return true;
  }

  /** Nothing befell it or befalls it now, and its service did not fail. */
  #isUndisturbed({ befallen, running }: Registration): boolean {
    return !befallen && running === 0 && !this.faulty.has('ses');
  }

  #messagesTo(email: string): number {
    return this.world.outbox.list().filter(({ to }) => to === email).length;
  }
}

function registrationEvent(email: string, source: string, key: string | undefined) {
  const password = 'correct horse battery';
  const body = {
    email,
    type: 'trader',
    name: 'Bob Stone',
    phone: { country_code: '44', number: '7400123456' },
    otp_type: 'email',
    password,
    repeat_password: password,
    form_id: 'FORM0001',
  };
  const event = accountEvent('tp5', { body, ...(key === undefined ? {} : { key }) });
  const { requestContext } = event;
  const routeKey = `POST ${PATH}`;
  const http = { ...requestContext.http, path: PATH, sourceIp: source };
  return {
    ...event,
    rawPath: PATH,
    routeKey,
    pathParameters: {},
    requestContext: { ...requestContext, routeKey, http },
  };
}

function toAnswer(outcome: Outcome): AccountAnswer | undefined {
  if (outcome.kind !== 'answer') return undefined;
  const {
    statusCode,
    headers,
    body = '',
  } = outcome.answer as {
    statusCode: number;
    headers: Record<string, string>;
    body?: string;
  };
  checkDocumented('POST', PATH, statusCode, headers, body);
  return { status: statusCode, headers, body: body === '' ? {} : (JSON.parse(body) as Record<string, unknown>) };
}
