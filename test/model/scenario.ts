import type { LIFE } from '../../lib/openings/life.ts';

/** What may happen in a world. Absent: no. */
export interface Scenario {
  name: string;
  /** The protocol names logins. */
  keyed: boolean;
  /** Workers of the first request. */
  workers: number;
  /** The accounts that a worker can prove to be its own or another operation's. */
  shows: 'comments' | 'passwords' | 'nothing' | 'silent';
  /** The account gets a deposit after the opening. */
  funded?: boolean;
  /** A stranger opens an account at one of our logins. */
  stranger?: boolean;
  /** Once: a dealer writes another operation's id into the comment of an account. */
  relabels?: boolean;
  /** The caller has chosen the login. `true`: outside of the ranges. */
  own?: boolean | 'inside';
  /** Accounts without proof go to the operators. */
  strict?: boolean;
  /** The server is restored from a backup: accounts vanish. */
  restored?: boolean;
  /** Another request competes for the same logins. */
  rival?: boolean;
  /**
   * Once: another operation of ours reserves a login of ours, in one of the ledgers, and sends its command. `later`: only
   * after the account of the request was recorded.
   */
  another?: boolean | 'later';
  /** The server executes a command and answers that it refuses its content. */
  lies?: boolean;
  /** The server executes a command and answers that it refuses our rights. */
  liesAboutRights?: boolean;
  /** The server, or a gateway, repeats a command and answers that the login exists. */
  repeats?: boolean;
  /** A plug-in answers an opening with the login of another account, which the ledger has. */
  otherLogin?: boolean;
  /** Every command is answered, and its answer proves something. */
  answers?: boolean;
  /** Once: the operations are set back, the reservations are lost, both are lost, or the records too. */
  loses?: 'operations' | 'reservations' | 'ledger' | 'all';
  /** A payment may be on its way while all tables are lost. */
  losesWhilePaying?: boolean;
  /** A key expires early: a worker's clock is ahead. */
  expires?: boolean;
  /** Two deployments with the same secret have a ledger each. */
  double?: boolean;
  /** Once: the connection leads to another server. */
  moves?: boolean;
  /**
   * Once: the request gets another id and other logins. `edited`: its ranges, its caller, its body or two keys of the
   * secret have changed. `rotated`: one key of the secret, so that claims look under both ids.
   */
  rederives?: 'edited' | 'rotated';
  /** The time of a worker ends before it may ask for another login. */
  slow?: boolean;
  /** A payment is refused, and made later. */
  paysLater?: boolean;
  /** A gateway repeats a payment. */
  paysTwice?: boolean;
}

/** A mistake that the check must find. */
export interface Mistake {
  name: string;
  /** The name of the scenario that shows it, if that is a large one: the others need not be explored. */
  scenario?: string;
  table?: typeof LIFE;
  /** A write succeeds under any version. */
  ignoresVersion?: true;
  /** The login is reserved before the state is written; a reservation counts only once its operation has sent. */
  reservesFirst?: true;
  /** Operation ids and logins do not follow from the key. */
  random?: true;
  /** Any password that a server accepts is proof. */
  believesPasswords?: true;
  /** An account's record is no proof. */
  ignoresRecord?: true;
  /** The address of the server is not compared with that of the first command. */
  ignoresMove?: true;
  /** A claim does not look under the id that the key before the newest one gives. */
  ignoresEarlierKey?: true;
  /** A claim does not look for reservations of its own operation. */
  ignoresReservation?: true;
  /** A login is not given up while another operation holds it: that cancels the write. */
  cancelsRelease?: true;
  /** A login with another operation's account is not reserved for that one. */
  forgetsOwner?: true;
}

/** The promises, as the table of `lib/README.md` names them. */
export type Promised =
  | 'one account'
  | 'no account of somebody else'
  | '`login_taken` never about one’s own account'
  | 'one deposit'
  | 'a key is free only if its commands have ended'
  | 'an account while one login is free'
  | 'a deleted account is not opened again'
  | 'every operation can end'
  | 'every fact has a transition';

/** A promise was broken. */
export class Broken extends Error {
  override readonly name = 'Broken';
  readonly promise: Promised;

  constructor(promise: Promised, message: string) {
    super(message);
    this.promise = promise;
  }
}

/** Whether the caller has chosen the login. */
export function isOwn({ own }: Scenario): boolean {
  return own === true || own === 'inside';
}
