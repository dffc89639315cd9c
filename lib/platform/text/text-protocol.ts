import type { TextProtocolConnection } from '../../records/crm-records.ts';
import { PlatformFailure, type TradingPlatform } from '../platform.ts';
import { inspectRange } from '../range.ts';
import { checkAccountCommand, checkPasswordCommand, openingCommand, orderFaults, type TextServer } from './command.ts';
import { type CodePage, codePage } from './encoding.ts';
import { type Answer, dial } from './exchange.ts';

export interface TextProtocolOptions {
  /** How long connecting may take, in milliseconds. */
  connectTimeoutMs?: number;
  /** How long the answer to an opening may take, in milliseconds; a look-up gets at most five seconds of it. */
  answerTimeoutMs?: number;
}

const LOOK_UP_MS = 5_000;

/**
 * A tp4 server that speaks the text protocol of the web-registration plug-in or of a manager-interface gateway: one TCP
 * connection for each command, one line there, a few lines back. Nothing is encrypted and nothing is ever repeated.
 *
 * What each dialect can do: `web-registration` knows groups by index, chooses every login itself, has no read-only
 * flag, and no way to look an account up. `interface-gateway` has all of these, the look-up by login alone.
 */
export function textProtocolPlatform(
  connection: TextProtocolConnection,
  secret: { master: string },
  { connectTimeoutMs = 4_000, answerTimeoutMs = 14_000 }: TextProtocolOptions = {},
): TradingPlatform {
  const gateway = connection.protocol === 'interface-gateway';
  const lookUpMs = Math.min(LOOK_UP_MS, answerTimeoutMs);
  let loading: Promise<CodePage | undefined> | undefined;

  async function server(): Promise<TextServer> {
    loading ??= codePage(connection.code_page);
    const page = await loading;
    if (page === undefined) throw new PlatformFailure('platform_refused', { reason: 'unknown_code_page' });
    return { connection, master: secret.master, page };
  }

  const connect = (signal: AbortSignal) => dial(connection.host, connection.port, connectTimeoutMs, signal);

  /** A command that creates nothing: whatever goes wrong with it, it may be asked again. */
  async function ask(command: Buffer, signal: AbortSignal): Promise<Answer> {
    const answer = await (await connect(signal)).exchange(command, lookUpMs, signal);
    const [first, reason] = answer.lines;
    if (first === undefined) throw unavailable(answer.closed ? 'closed_without_answer' : 'no_answer');
    if (first !== 'OK' && first !== 'Disable' && (first !== 'ERROR' || reason === undefined)) {
      throw unavailable('answer_not_understood');
    }
    const failure = first === 'ERROR' && reason !== undefined ? errorToFailure(reason) : undefined;
    if (failure !== undefined && ABOUT_US.includes(failure.options.reason)) throw failure;
    return answer;
  }

  /** `unsaid`: the server does not know the command, or answers something else. */
  async function existence(login: number, signal: AbortSignal): Promise<'exists' | 'absent' | 'unsaid'> {
    const [first, reason = ''] = (await ask(checkAccountCommand(await server(), login), signal)).lines;
    if (first === 'OK' || first === 'Disable') return 'exists';
    return first === 'ERROR' && /^user check failed|not found|not exist|invalid LOGIN/i.test(reason)
      ? 'absent'
      : 'unsaid';
  }

  return {
    loginIsKey: gateway,

    unsupported: (order) => orderFaults(connection, order),

    async open(order, departure, signal) {
      const errors = orderFaults(connection, order);
      if (errors.length > 0) throw new PlatformFailure('validation_failed', { reason: 'not_transmittable', errors });
      const command = await openingCommand(await server(), order);
      if (gateway && order.login !== undefined && (await existence(order.login, signal)) === 'exists') {
        throw new PlatformFailure('login_taken', { reason: 'login_exists' });
      }
      const line = await connect(signal);
      try {
        await departure.note();
        // Nothing has left yet.
        if (line.closed) throw unavailable('closed_before_sending');
        if (signal.aborted) throw unavailable('aborted_before_sending');
        const answer = await line.exchange(command, answerTimeoutMs, signal);
        const outcome = readOutcome(answer);
        if (typeof outcome === 'number') return { login: outcome };
        if (gateway && order.login !== undefined && outcome.options.reason === 'account_create_failed') {
          const taken = await existence(order.login, signal).catch(() => 'unsaid');
          if (taken === 'exists') throw new PlatformFailure('login_taken', { reason: 'login_exists' });
        }
        throw outcome;
      } finally {
        line.close();
      }
    },

    /**
     * Only a login of our own can be looked up. That it exists means that it is ours: it did not, right before the
     * command was sent. Somebody else may have taken it in between, so the password is tried too where it is at hand
     * and the server knows how.
     */
    async find({ login, masterPassword }, signal) {
      if (!gateway || login === undefined) return { kind: 'cannot_tell' };
      const state = await existence(login, signal);
      if (state === 'unsaid') return { kind: 'cannot_tell' };
      if (state === 'absent') return { kind: 'absent' };
      if (masterPassword !== undefined) {
        const answer = await ask(checkPasswordCommand(await server(), login, masterPassword), signal);
        // Whatever it says of the password; one that does not know the command speaks of that.
        if (answer.lines[0] === 'ERROR' && /password/i.test(answer.lines[1] ?? '')) return { kind: 'another' };
      }
      return { kind: 'found', login };
    },

    /** The deposit travels in the command that opens the account. */
    async fund() {},

    async holdsFunds() {
      return undefined;
    },

    /**
     * The gateway is asked whether login 1 exists, which needs the master password. The plug-in has no command that
     * creates nothing, so there it is only seen that it can be reached.
     */
    async check(signal) {
      if (gateway) await existence(1, signal);
      else {
        await server();
        (await connect(signal)).close();
      }
    },

    inspectRange: (range, signal) =>
      inspectRange(range, async (login) => {
        const state = gateway ? await existence(login, signal) : 'unsaid';
        return state === 'unsaid' ? undefined : state === 'exists';
      }),

    /** No connection outlives its command. */
    async close() {},
  };
}

/** The new account's login, or the failure. An answer counts from the line that decides on, `end` or not. */
function readOutcome({ lines, ended, closed }: Answer): number | PlatformFailure {
  const [first, ...rest] = lines;
  if (first === 'OK') {
    for (const line of rest) {
      const login = Number(/^LOGIN=(\d{1,10})$/.exec(line)?.[1] ?? 0);
      if (login > 0) return login;
    }
  }
  if (first === 'ERROR' && rest[0] !== undefined) return errorToFailure(rest[0]);
  if (first === 'ERROR' && ended) return refused('error_without_reason');
  const reason = lines.length > 0 ? 'answer_not_understood' : closed ? 'closed_without_answer' : 'no_answer';
  return new PlatformFailure('account_outcome_unknown', { reason });
}

/** Reasons that say something of us or of the server, whatever was asked. */
const ABOUT_US = ['miss_master', 'invalid_master', 'illegal_ip', 'blocked', 'platform_disconnected'];

/** `ERROR` says that no account was opened; its text is matched and never passed on. */
function errorToFailure(text: string): PlatformFailure {
  const wait = /^IP is blocked\. Please wait (\d{1,6})/i.exec(text);
  if (wait !== null) return unavailable('blocked', Math.max(1, Number(wait[1])));
  switch (text.toLowerCase()) {
    case 'simple password':
    case 'invalid password':
      return new PlatformFailure('password_rejected', { reason: 'simple_password' });
    case 'invalid group':
      return new PlatformFailure('group_not_found', { reason: 'invalid_group' });
    case 'invalid leverage':
      return new PlatformFailure('validation_failed', {
        reason: 'invalid_leverage',
        errors: [{ pointer: '#/leverage', rule: 'not_offered', detail: 'is not accepted by the trading platform' }],
      });
    case 'mt is disconnected':
      return unavailable('platform_disconnected');
    case 'account create failed':
    case 'invalid data':
    case 'invalid name':
    case 'invalid cmd':
    case 'miss master':
    case 'invalid master':
    case 'illegal ip':
      return refused(text.toLowerCase().replaceAll(' ', '_'));
    default:
      return refused('unknown_error');
  }
}

function refused(reason: string): PlatformFailure {
  return new PlatformFailure('platform_refused', { reason });
}

function unavailable(reason: string, retryAfterSeconds = 10): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds });
}
