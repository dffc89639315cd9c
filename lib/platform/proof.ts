import type { Proof } from './platform.ts';

/**
 * What each answer of a trading server proves. The clients of the protocols sort an answer into one of these kinds; this
 * table alone says what follows from it. No answer counts as more than its cell says.
 */

/** The steps of a conversation with a trading server. */
type ServerStep = keyof Proven;

/** The kinds of answers of the three protocols. */
export type AnswerKind =
  /** Return codes 0 and 1; `OK` of the text protocols; an open connection. */
  | 'done'
  /** The login exists: code 3004. */
  | 'exists'
  /** Codes about the content of the command that have no kind of their own, such as 3 and 3001. */
  | 'content'
  /** There is no such record: code 13, `user check failed`. */
  | 'absent'
  /** The password is refused: code 3006, `password is wrong`. */
  | 'wrong_password'
  /** A refusal of a payment, such as code 4001. */
  | 'payment'
  /** Code 8: the manager may not do this. */
  | 'no_right'
  /** The server refuses us, as with code 1001, `invalid MASTER`, `illegal IP`, a certificate that is not trusted. */
  | 'not_us'
  /** The server is too busy to let us log in: code 1018. */
  | 'busy_at_login'
  /** Codes about the server's state, which servers also answer to executed commands, such as 4. */
  | 'server_state'
  /** The server itself does not know the outcome, as with code 2. */
  | 'server_unsure'
  /** A code that no list has. */
  | 'unknown_code'
  /** An error of the text protocols that says that the server has no such command. */
  | 'no_command'
  /** HTTP statuses: 401 and 403; 404; 405 and 501; 415; other 5xx; all others. */
  | 'status_denied'
  | 'status_missing'
  | 'status_method'
  | 'status_type'
  | 'status_outage'
  | 'status_other'
  /** Not an answer of the protocol, such as a page of HTML, or an undocumented error text. */
  | 'page'
  /** No answer in time; for `connect`, no connection in time. */
  | 'silence'
  /** The connection ended before the answer; for `connect`, it was refused. */
  | 'closed';

/** What the service knows after each step. */
interface Proven {
  /** `outage`: a later try may succeed. `refused`: an operator must act. */
  connect: 'accepted' | 'refused' | 'outage';
  /** `other_paths`: the server may have the paths of the older family. */
  login: 'accepted' | 'refused' | 'outage' | 'other_paths';
  /**
   * `content`, `not_served`: not executed, because of what the command says, or because the server does not serve us: it
   * refuses us, or is too busy to let us log in. `other_type`: the body is sent once more, with the other content type;
   * that proves nothing. `doubtful_refusal`: a refusal that servers also answer to executed commands. `outcome_unknown`:
   * no answer says what happened.
   */
  open: 'executed' | 'exists' | 'content' | 'not_served' | 'other_type' | 'doubtful_refusal' | 'outcome_unknown';
  /**
   * `lacks`: the server has no such command. `refused`: it refuses us. `unanswered`: the service must ask again later.
   */
  look: 'exists' | 'absent' | 'lacks' | 'refused' | 'unanswered';
  /** `accepted` proves something only next to another password that was `refused` in the same look-up. */
  password: 'accepted' | 'refused' | 'lacks' | 'unanswered';
  deposit: 'executed' | 'content' | 'not_served' | 'doubtful_refusal' | 'outcome_unknown';
  balance: 'read' | 'refused' | 'unanswered';
}

type Row = { readonly [S in ServerStep]: Proven[S] };

const OUTAGE = { connect: 'outage', login: 'outage' } as const;
const REFUSED = { connect: 'refused', login: 'refused' } as const;
/** The service must ask its questions again later. */
const UNANSWERED = { look: 'unanswered', password: 'unanswered', balance: 'unanswered' } as const;
/** No answer says whether the command was executed, and the service must ask its questions again. */
const OUTCOME_UNKNOWN = { open: 'outcome_unknown', deposit: 'outcome_unknown', ...UNANSWERED } as const;
const CONTENT_REFUSED = { open: 'content', deposit: 'content', balance: 'refused' } as const;
const NOT_SERVED = { open: 'not_served', deposit: 'not_served', balance: 'refused' } as const;
const DOUBTFUL_REFUSAL = { open: 'doubtful_refusal', deposit: 'doubtful_refusal' } as const;

const PROOF: Readonly<Record<AnswerKind, Row>> = {
  done: {
    ...{ connect: 'accepted', login: 'accepted', open: 'executed' },
    ...{ look: 'exists', password: 'accepted', deposit: 'executed', balance: 'read' },
  },
  exists: { ...REFUSED, ...CONTENT_REFUSED, open: 'exists', look: 'refused', password: 'unanswered' },
  content: { ...REFUSED, ...CONTENT_REFUSED, look: 'refused', password: 'lacks' },
  absent: { ...REFUSED, ...CONTENT_REFUSED, look: 'absent', password: 'lacks' },
  wrong_password: { ...REFUSED, ...CONTENT_REFUSED, look: 'refused', password: 'refused' },
  payment: { ...REFUSED, ...CONTENT_REFUSED, open: 'doubtful_refusal', look: 'refused', password: 'unanswered' },
  no_right: { ...REFUSED, ...NOT_SERVED, look: 'refused', password: 'lacks' },
  not_us: { ...REFUSED, ...NOT_SERVED, look: 'refused', password: 'unanswered' },
  busy_at_login: { ...OUTAGE, ...NOT_SERVED, ...UNANSWERED },
  server_state: { ...OUTAGE, ...DOUBTFUL_REFUSAL, ...UNANSWERED },
  server_unsure: { ...OUTAGE, ...OUTCOME_UNKNOWN },
  unknown_code: { ...REFUSED, ...DOUBTFUL_REFUSAL, look: 'refused', password: 'unanswered', balance: 'refused' },
  no_command: { ...REFUSED, ...CONTENT_REFUSED, look: 'lacks', password: 'lacks' },
  status_denied: { ...REFUSED, ...NOT_SERVED, look: 'refused', password: 'lacks' },
  status_missing: { ...REFUSED, ...OUTCOME_UNKNOWN, login: 'other_paths', password: 'lacks' },
  status_method: { ...REFUSED, ...OUTCOME_UNKNOWN, password: 'lacks' },
  status_type: { ...REFUSED, ...OUTCOME_UNKNOWN, open: 'other_type' },
  status_outage: { ...OUTAGE, ...OUTCOME_UNKNOWN },
  status_other: { ...REFUSED, ...OUTCOME_UNKNOWN },
  page: { ...REFUSED, ...OUTCOME_UNKNOWN },
  silence: { ...OUTAGE, ...OUTCOME_UNKNOWN },
  closed: { ...OUTAGE, ...OUTCOME_UNKNOWN },
};

export const ANSWER_KINDS = Object.keys(PROOF) as AnswerKind[];

/** What an answer of this kind proves at a step. */
export function provenBy<S extends ServerStep>(step: S, kind: AnswerKind): Proven[S] {
  return PROOF[kind][step];
}

/** What an answer to a command that opens an account or pays proves, as the `proof` of its failure. */
export function commandProof(step: 'open' | 'deposit', kind: AnswerKind): Proof {
  const proven = provenBy(step, kind);
  return proven === 'content' || proven === 'not_served' ? proven : 'nothing';
}

/** The kind of an HTTP status other than 200. */
export function statusKind(status: number): AnswerKind {
  return STATUS_KINDS.get(status) ?? (status >= 500 ? 'status_outage' : 'status_other');
}

const STATUS_KINDS: ReadonlyMap<number, AnswerKind> = new Map([
  [401, 'status_denied'],
  [403, 'status_denied'],
  [404, 'status_missing'],
  [405, 'status_method'],
  [415, 'status_type'],
  [501, 'status_method'],
]);

/**
 * Whether a password proves whose an account is. A server that accepts any password proves nothing. So after an
 * accepted password, `ask` tries another one at once.
 * @param ask asks whether a password is the account's; @throws if the server does not answer
 */
export async function provePassword(
  password: string,
  ask: (password: string) => Promise<Exclude<Proven['password'], 'unanswered'>>,
): Promise<boolean> {
  if ((await ask(password)) !== 'accepted') return false;
  // The same characters in another order keep the same rules.
  return (await ask(`${password.slice(1)}${password.slice(0, 1)}`)) === 'refused';
}
