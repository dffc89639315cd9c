import { describe, expect, it } from 'vitest';
import { FINDING_MS } from '../../../../lib/accounts/work.ts';
import { within } from '../../../../lib/deadline.ts';
import { atOnce } from '../../../support/departures.ts';
import { anOrder, aScript, aServer, failureOf, forever, HASTY, textPlatform } from '../../../support/text-protocol.ts';

const gateway = 'interface-gateway';

describe('looking up on a gateway', () => {
  it('an account with a login of our own is found after its answer was lost, with two commands', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    const order = anOrder({ login: 777 });
    await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'absent' });
    server.faults.set({ kind: 'reply_lost', times: 1 });
    expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('account_outcome_unknown');
    const before = server.commands;
    await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'found', login: 777 });
    expect(server.commands - before).toBe(2);
  });

  it.each(['orderly', 'reset'] as const)(
    'a connection that the server ends, %s, proves nothing: the account may come later, and only once',
    async (ending) => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port);
      const order = anOrder({ login: 777 });
      server.faults.set({ kind: 'late', times: 1, ms: 300, ending });
      expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('account_outcome_unknown');
      await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'absent' });
      await expect.poll(() => platform.find(order, forever)).toEqual({ kind: 'found', login: 777 });
      expect((await failureOf(platform.open(order, atOnce, forever))).kind).toBe('login_taken');
      expect(server.accounts()).toHaveLength(1);
    },
  );

  it('a login that our own table has reserved is ours as soon as it exists', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    const order = anOrder({ login: 777, reserved: true });
    await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'absent' });
    await platform.open(order, atOnce, forever);
    const { masterPassword: _, ...trace } = order;
    await expect(platform.find(trace, forever)).resolves.toEqual({ kind: 'found', login: 777 });
    expect(server.commands).toBe(3);
  });

  it('an account of somebody else’s with this login is not ours', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder({ login: 777, masterPassword: 'Another11' }), atOnce, forever);
    await expect(platform.find(anOrder({ login: 777 }), forever)).resolves.toEqual({ kind: 'another' });
  });

  it('that a login exists does not say whose it is: without the password nothing can be told', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    const { masterPassword: _, ...trace } = anOrder({ login: 777 });
    await platform.open(anOrder({ login: 777 }), atOnce, forever);
    await expect(platform.find(trace, forever)).resolves.toEqual({ kind: 'cannot_tell' });
  });

  it('a gateway that cannot be reached for WCHECKPASS may tell later', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await platform.open(anOrder({ login: 777 }), atOnce, forever);
    server.faults.set({ kind: 'down', times: 1, after: 1 });
    expect((await failureOf(platform.find(anOrder({ login: 777 }), forever))).kind).toBe('platform_unavailable');
  });

  it('without a login of our own nothing can be told', async () => {
    const server = await aServer({ dialect: gateway });
    const platform = textPlatform(gateway, server.port);
    await expect(platform.find(anOrder(), forever)).resolves.toEqual({ kind: 'cannot_tell' });
    expect(server.commands).toBe(0);
  });

  it.each(['silence', 'session_dropped', 'garbage', 'throttled', 'down'] as const)(
    'a gateway that knows WCHKACCOUNT and comes to %s may tell later',
    async (kind) => {
      const server = await aServer({ dialect: gateway });
      const platform = textPlatform(gateway, server.port, kind === 'silence' ? HASTY : {});
      const order = anOrder({ login: 777 });
      await platform.open(order, atOnce, forever);
      await platform.find(order, forever);
      server.faults.set({ kind, times: 1 });
      expect((await failureOf(platform.find(order, forever))).kind).toBe('platform_unavailable');
      await expect(platform.find(order, forever)).resolves.toEqual({ kind: 'found', login: 777 });
    },
  );
});

describe('a gateway that cannot tell', () => {
  it('silence to WCHECKPASS is told within the time of one question to the platform', async () => {
    const server = await aServer({ dialect: gateway, passwordCheck: 'silent' });
    const platform = textPlatform(gateway, server.port, { answerTimeoutMs: 14_000 });
    await platform.open(anOrder({ login: 777 }), atOnce, forever);
    const finding = platform.find(anOrder({ login: 777 }), within(FINDING_MS));
    await expect(finding).resolves.toEqual({ kind: 'cannot_tell' });
  });

  it.each([
    ['an error that speaks of the command', 'ERROR\r\ninvalid CMD\r\nend'],
    ['an error that speaks of the command’s name', 'ERROR\r\nCHECKPASSWORD is unknown\r\nend'],
    ['an error that misses a parameter', 'ERROR\r\nmiss PASSWORD\r\nend'],
    ['words that are no answer', 'Unknown command\r\n'],
    ['silence, and the end of the connection', ''],
    ['silence', undefined],
  ])('a gateway whose answer to WCHECKPASS is %s cannot tell whose an account is', async (_, answer) => {
    const server = await aScript((socket, text) => {
      if (text.startsWith('WCHKACCOUNT')) socket.end('OK\r\nuser check successful\r\nend');
      else if (answer !== undefined) socket.end(answer);
    });
    const platform = textPlatform(gateway, server.port, HASTY);
    await expect(platform.find(anOrder({ login: 5 }), forever)).resolves.toEqual({ kind: 'cannot_tell' });
  });

  it.each([
    ['an error that speaks of the command', 'ERROR\r\ncommand not found\r\nend\r\n'],
    ['another error', 'ERROR\r\nsomething else\r\nend\r\n'],
    ['words that are no answer', 'Unknown command\r\n'],
    ['silence, and the end of the connection', ''],
    ['silence', undefined],
  ])('a gateway whose answer to WCHKACCOUNT was never more than %s cannot tell', async (_, answer) => {
    const server = await aScript((socket) => {
      if (answer !== undefined) socket.end(answer);
    });
    const finding = textPlatform(gateway, server.port, HASTY).find(anOrder({ login: 5 }), forever);
    await expect(finding).resolves.toEqual({ kind: 'cannot_tell' });
  });
});
