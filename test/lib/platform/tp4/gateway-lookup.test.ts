import { describe, expect, it } from 'vitest';
import { holdSlowCalls } from '../../../support/held.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { anOrder, aServer, SHORT_TIMEOUTS, scriptedTcpServer, textPlatform } from '../../../support/text-protocol.ts';

const gateway = 'interface-gateway';
const LOGIN = 777;
const ID = '6f1d8a52-5c1c-8f0e-9d3e-000000000009';

async function opened() {
  const server = await aServer({ dialect: gateway });
  const platform = textPlatform(gateway, server.port);
  await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED);
  return { server, look: (login = LOGIN) => platform.look(login, ID, NEVER_ABORTED) };
}

describe('Looking at a login on a gateway', () => {
  it('asks with one command whether the login exists, which does not show whose it is', async () => {
    const { server, look } = await opened();
    expect(await look()).toEqual({ is: 'unmarked' });
    expect(server.commands).toBe(2);
    expect(await look(778)).toEqual({ is: 'absent' });
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
      expect(await platform.look(LOGIN, ID, NEVER_ABORTED)).toEqual({ is: 'absent' });
      late.letGo();
      await expect.poll(() => platform.look(LOGIN, ID, NEVER_ABORTED)).toEqual({ is: 'unmarked' });
      expect((await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED))).kind).toBe('login_taken');
      expect(server.accounts()).toHaveLength(1);
    },
  );

  it.each(['throttled', 'down'] as const)('on a gateway that is %s fails', async (kind) => {
    const { server, look } = await opened();
    server.faults.set({ kind, times: 1 });
    expect((await failureOf(look())).kind).toBe('platform_unavailable');
  });

  const lookWith = async (answer: string | undefined, lacks?: 'account_check'[]) => {
    const server = await scriptedTcpServer((socket) => {
      if (answer !== undefined) socket.end(answer);
    });
    const platform = textPlatform(gateway, server.port, { ...SHORT_TIMEOUTS, ...(lacks && { lacks }) });
    return outcomeOf(platform.look(LOGIN, ID, NEVER_ABORTED));
  };

  it.each([
    ['invalid CMD', 'silent'],
    ['command not found', 'silent'],
    ['Unknown command.', 'silent'],
    ['WCHKACCOUNT is unknown', 'silent'],
    ['user check failed', 'absent'],
    ['login not found', 'absent'],
    ['account does not exist!', 'absent'],
  ])('is decided by the error "%s": %s', async (text, is) => {
    expect(await lookWith(`ERROR\r\n${text}\r\nend\r\n`)).toEqual({ is });
  });

  // An error that does not speak of the command may be about anything.
  it.each([
    ['ERROR\r\nsomething else\r\nend\r\n', 'platform_unavailable unknown_error'],
    ['ERROR\r\nmiss PASSWORD\r\nend\r\n', 'platform_unavailable miss_password'],
    ['ERROR\r\nMT is disconnected\r\nend\r\n', 'platform_unavailable platform_disconnected'],
    ['ERROR\r\nillegal IP\r\nend\r\n', 'platform_refused illegal_ip'],
    ['Unknown command\r\n', 'platform_unavailable answer_not_understood'],
    ['', 'platform_unavailable closed_without_answer'],
    [undefined, 'platform_unavailable no_answer'],
  ])('must be repeated, or is refused, after the answer %j: %s', async (answer, outcome) => {
    expect(await lookWith(answer)).toBe(outcome);
  });

  it('is not asked of a gateway whose connection says that it never answers', async () => {
    expect(await lookWith(undefined, ['account_check'])).toEqual({ is: 'silent' });
  });
});
