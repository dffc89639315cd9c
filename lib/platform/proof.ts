import type { Proof } from './platform.ts';

/**
 * What each answer of a trading server proves. The clients of the protocols sort an answer into one of these kinds; this
 * table alone says what follows from it. No answer counts as more than its cell says.
 */

/** What the service knows after a step, by step. */
interface Proven {
  /**
   * Our login on the server. `outage`: a later try may succeed. `refused`: an operator must act. `other_paths`: the server
   * may have the paths of the older family.
   */
  signIn: 'accepted' | 'refused' | 'outage' | 'other_paths';
  /**
   * `content`, `not_served`: not executed, because of what the command says, or because the server does not serve us: it
   * refuses us, or is too busy to let us log in. `other_type`: the body is sent once more, with the other content type;
   * that proves nothing. `doubtful`: a refusal that servers also answer to executed commands. `unknown`: no answer says
   * what happened.
   */
  open: 'executed' | 'exists' | 'content' | 'not_served' | 'other_type' | 'doubtful' | 'unknown';
  /**
   * A command that changes nothing. `lacks`: the server has no such command. `refused`: it refuses us. `unanswered`: the
   * service must ask again later.
   */
  look: 'exists' | 'absent' | 'lacks' | 'refused' | 'unanswered';
  /** A payment; the words are those of `open`. */
  deposit: 'executed' | 'content' | 'not_served' | 'doubtful' | 'unknown';
}

const PROOF = {
  // Return codes 0 and 1; `OK` of the text protocols.
  done: { signIn: 'accepted', open: 'executed', look: 'exists', deposit: 'executed' },
  // The login exists.
  exists: { signIn: 'refused', open: 'exists', look: 'refused', deposit: 'content' },
  // The server refuses what the command says.
  content: { signIn: 'refused', open: 'content', look: 'refused', deposit: 'content' },
  // There is no such record.
  absent: { signIn: 'refused', open: 'content', look: 'absent', deposit: 'content' },
  // A refusal of a payment.
  payment: { signIn: 'refused', open: 'doubtful', look: 'refused', deposit: 'content' },
  // The manager may not do this.
  no_right: { signIn: 'refused', open: 'not_served', look: 'refused', deposit: 'not_served' },
  // The server refuses us: our login, password, license or address.
  not_us: { signIn: 'refused', open: 'not_served', look: 'refused', deposit: 'not_served' },
  // The server is too busy to let us log in.
  busy_at_login: { signIn: 'outage', open: 'not_served', look: 'unanswered', deposit: 'not_served' },
  // Codes about the server's state. Servers answer executed commands with them.
  server_state: { signIn: 'outage', open: 'doubtful', look: 'unanswered', deposit: 'doubtful' },
  // The server itself does not know the outcome.
  server_unsure: { signIn: 'outage', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // A code that no list has.
  unknown_code: { signIn: 'refused', open: 'doubtful', look: 'refused', deposit: 'doubtful' },
  // A text that says that the server has no such command.
  no_command: { signIn: 'refused', open: 'content', look: 'lacks', deposit: 'content' },
  // A text that no list has.
  unknown_text: { signIn: 'refused', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // HTTP 401 and 403.
  status_denied: { signIn: 'refused', open: 'not_served', look: 'refused', deposit: 'not_served' },
  // HTTP 404.
  status_missing: { signIn: 'other_paths', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // HTTP 405 and 501.
  status_method: { signIn: 'refused', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // HTTP 415.
  status_type: { signIn: 'refused', open: 'other_type', look: 'unanswered', deposit: 'unknown' },
  // Other HTTP statuses from 500 on.
  status_outage: { signIn: 'outage', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // Every other HTTP status.
  status_other: { signIn: 'refused', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // No answer of the protocol, such as a page of HTML.
  page: { signIn: 'refused', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // No answer in time.
  silence: { signIn: 'outage', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
  // The connection ended before the answer.
  closed: { signIn: 'outage', open: 'unknown', look: 'unanswered', deposit: 'unknown' },
} as const satisfies Record<string, Proven>;

export type AnswerKind = keyof typeof PROOF;
export const ANSWER_KINDS = Object.keys(PROOF) as AnswerKind[];

/** What an answer of this kind proves at a step. */
export function provenBy<S extends keyof Proven>(step: S, kind: AnswerKind): Proven[S] {
  const row: Proven = PROOF[kind];
  return row[step];
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
