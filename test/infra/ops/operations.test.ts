import { describe, expect, it } from 'vitest';
import { openAccount } from '../../support/local-service.ts';
import { Operators, unknownOperation } from '../../support/operators.ts';

const operators = new Operators();
const order = { connection_id: 'tp4-live-1', group: 'standard', leverage: 100 };

describe('An operation that only an operator can end', () => {
  it('is listed, shown in his words, and ended by a word that he says twice and may change', async () => {
    expect((await operators.local('operations')).out).toBe('Every operation has ended.\n');
    const key = 'asks-again';
    const { id, login } = await unknownOperation(operators, key);
    const wrong = String(login + 9);
    const settle = (...words: string[]) => operators.local('settle', id, ...words);

    const listed = await operators.local('operations');
    expect(listed).toMatchObject({ code: 0, reported: '' });
    expect(listed.out).toMatch(new RegExp(`^${id} +CLIENT01 +tp4-live-1 +standard .*an operator decides$`, 'm'));

    const { out } = await operators.local('operation', id);
    for (const line of ['Client: CLIENT01 (Ann Lee, ann@example.com)', 'State: an operator decides', 'It cannot say.'])
      expect(out).toContain(line);
    const place = `--local=${operators.service.url}`;
    for (const word of ['--login LOGIN', '--none'])
      expect(out).toContain(`\n  npm run ops -- settle ${id} ${word} ${place}\n`);

    const once = await settle('--login', wrong);
    expect(once.code).toBe(1);
    expect(once.reported).toContain(`\n  npm run ops -- settle ${id} --login ${wrong} ${place} --confirm ${wrong}\n`);
    expect((await settle('--login', wrong, '--confirm', String(login))).code).toBe(1);
    expect((await settle('--login', wrong, '--confirm', wrong)).code).toBe(0);
    expect((await openAccount(operators.service, 'tp4', order, key)).body).toMatchObject({ login: Number(wrong) });

    const right = await settle('--login', String(login), '--confirm', String(login));
    expect(right).toMatchObject({ code: 0, out: expect.stringContaining(`the account ${login} is the request's`) });
    expect((await openAccount(operators.service, 'tp4', order, key)).body).toMatchObject({ login });
    const client = await operators.local('client', 'CLIENT01');
    expect(client.out).toMatch(/^Accounts opened here: 1\n/m);
    expect(client.out).toMatch(new RegExp(` tp4-live-1 +${login} +standard +100 +${id} +an operator said so$`, 'm'));

    const none = await settle('--none');
    expect(none.reported).toContain("The key's next use opens an account.");
    expect(await settle('--undecided', '--confirm', 'undecided')).toMatchObject({ code: 0 });
    expect((await openAccount(operators.service, 'tp4', order, key)).status).toBe(504);
  });

  it.each<[string[], number, string]>([
    [['operation', 'nothing'], 1, 'There is no operation nothing.'],
    [['settle', 'nothing', '--none'], 1, 'There is no operation nothing.'],
    [['settle', 'any'], 2, 'Say one thing: --login N, --none, --undecided or --deposit.'],
    [['settle', 'any', '--none', '--deposit'], 2, 'Say one thing:'],
    [['settle', 'any', '--login', '1e3'], 2, '--login takes the login of the account.'],
    [['client', 'NOBODY01'], 1, 'There is no client NOBODY01'],
  ])('is not found, or not ended, by %j', async (args, code, sentence) => {
    const refused = await operators.local(...args);
    expect([refused.code, refused.reported]).toEqual([code, expect.stringContaining(sentence)]);
  });
});
