import { describe, expect, it } from 'vitest';
import type { Mark, PlatformFailure } from '../../../../lib/platform/platform.ts';
import { holdSlowCalls } from '../../../support/held.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, aServer, SHORT_TIMEOUTS, scriptedTcpServer, textPlatform } from '../../../support/text-protocol.ts';

const gateway = 'interface-gateway';
const LOGIN = 777;
const MARK: Mark = { operationId: '1', login: LOGIN, generated: { role: 'master', password: 'Master77' } };

async function opened() {
  const server = await aServer({ dialect: gateway });
  const platform = textPlatform(gateway, server.port);
  await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED);
  return { server, look: (changes: Partial<Mark> = {}) => platform.look({ ...MARK, ...changes }, NEVER_ABORTED) };
}

describe('Looking at a login on a gateway', () => {
  it('asks whether the login exists, and for a generated password; a refused password proves nothing', async () => {
    const { server, look } = await opened();
    expect(await look()).toBe('ours');
    // Another password shows that the gateway checks passwords.
    expect(server.commands).toBe(4);
    expect(await look({ generated: { role: 'investor', password: 'Invest88' } })).toBe('ours');
    expect(await look({ generated: { role: 'master', password: 'Another11' } })).toBe('unmarked');
    expect(await look({ generated: undefined })).toBe('unmarked');
    expect(await look({ login: 778 })).toBe('absent');
  });

  it.each(['orderly', 'reset'] as const)(
    'shows an account whose command is executed after the connection was ended, %s',
    async (ending) => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      const order = anOrder({ login: LOGIN });
      const late = holdSlowCalls(server.faults);
      server.faults.set({ kind: 'late', times: 1, ending });
      expect((await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).kind).toBe('account_outcome_unknown');
      expect(await platform.look(MARK, NEVER_ABORTED)).toBe('absent');
      late.letGo();
      await expect.poll(() => platform.look(MARK, NEVER_ABORTED)).toBe('ours');
      expect((await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).kind).toBe('login_taken');
      expect(server.accounts()).toHaveLength(1);
    },
  );

  it.each([
    ['throttled', 0],
    ['down', 0],
    ['down', 1],
  ] as const)('on a gateway that is %s at question %i fails', async (kind, after) => {
    const { server, look } = await opened();
    server.faults.set({ kind, times: 1, after });
    expect((await failureOf(look())).kind).toBe('platform_unavailable');
  });

  const ACCEPTED = 'OK\r\npassword is right\r\nend';
  const WRONG = 'ERROR\r\npassword is wrong\r\nend';
  const LACKS = 'ERROR\r\ninvalid CMD\r\nend';
  const UNANSWERED = [
    ['no answer of the protocol', 'Unknown command\r\n'],
    ['the end of the connection', ''],
    ['silence', undefined],
  ] as const;

  /** A look on a gateway whose login exists, and that answers the questions for passwords like this, in turn. */
  async function lookWith(...answers: readonly (string | undefined)[]) {
    const left = [...answers];
    const server = await scriptedTcpServer((socket, text) => {
      const answer = text.startsWith('WCHKACCOUNT') ? 'OK\r\nuser check successful\r\nend' : left.shift();
      if (answer !== undefined) socket.end(answer);
    });
    const platform = textPlatform(gateway, server.port, SHORT_TIMEOUTS);
    return platform.look(MARK, NEVER_ABORTED).catch((failure: PlatformFailure) => failure.kind);
  }

  it.each([
    ['ours, and refuses another password', [ACCEPTED, WRONG], 'ours'],
    ['any password', [ACCEPTED, ACCEPTED], 'unmarked'],
    ['none', [WRONG], 'unmarked'],
    ['ours, and then says that it has no such command', [ACCEPTED, LACKS], 'unmarked'],
  ] as const)('where the check of passwords accepts %s', async (_, answers, expected) => {
    expect(await lookWith(...answers)).toBe(expected);
  });

  it.each([
    ['an error about the command', LACKS],
    ['an error about the command’s name', 'ERROR\r\nCHECKPASSWORD is unknown\r\nend'],
    ['an error about a parameter', 'ERROR\r\nmiss PASSWORD\r\nend'],
  ])('shows no owner if the answer to both commands for passwords is %s', async (_, answer) => {
    expect(await lookWith(answer, answer)).toBe('unmarked');
  });

  it.each(UNANSWERED)('must be repeated if the answer to the first or the second password is %s', async (_, answer) => {
    expect(await lookWith(answer)).toBe('platform_unavailable');
    expect(await lookWith(ACCEPTED, answer)).toBe('platform_unavailable');
  });

  it.each([
    ['an error about the command', 'ERROR\r\ncommand not found\r\nend\r\n'],
    ['another error', 'ERROR\r\nsomething else\r\nend\r\n'],
  ])('is silent if the answer to WCHKACCOUNT is %s', async (_, answer) => {
    const server = await scriptedTcpServer((socket) => void socket.end(answer));
    expect(await textPlatform(gateway, server.port, SHORT_TIMEOUTS).look(MARK, NEVER_ABORTED)).toBe('silent');
  });

  it.each(UNANSWERED)('must be repeated if the answer to WCHKACCOUNT is %s', async (_, answer) => {
    const server = await scriptedTcpServer((socket) => {
      if (answer !== undefined) socket.end(answer);
    });
    const look = textPlatform(gateway, server.port, SHORT_TIMEOUTS).look(MARK, NEVER_ABORTED);
    expect((await failureOf(look)).kind).toBe('platform_unavailable');
  });

  it('fails if the gateway has lost the server', async () => {
    const server = await scriptedTcpServer((socket) => void socket.end('ERROR\r\nMT is disconnected\r\nend\r\n'));
    const failure = await failureOf(textPlatform(gateway, server.port, SHORT_TIMEOUTS).look(MARK, NEVER_ABORTED));
    expect(`${failure.kind} ${failure.reason}`).toBe('platform_unavailable platform_disconnected');
  });
});
