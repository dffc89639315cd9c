import { describe, expect, it } from 'vitest';
import { openAccount } from '../../support/local-service.ts';
import { Operators, unknownOperation } from '../../support/operators.ts';

const operators = new Operators();

describe('npm run ops -- client', () => {
  it('shows the record, the accounts opened here, and the open operations, of this client alone', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
    const answer = await openAccount(operators.service, 'tp5', order);
    expect(answer.status).toBe(200);
    const { id } = await unknownOperation(operators);
    const { code, out } = await operators.local('client', 'CLIENT01');
    expect(code).toBe(0);
    expect(out).toContain('"email": "ann@example.com"');
    expect(out).toMatch(/^Accounts opened here: 1\nOPENED .*\n\S+ +tp5 +tp5-live-1 +\d+ +real\\standard +100 /m);
    expect(out).toMatch(new RegExp(`^Open operations: 1\nID .*\n${id} +CLIENT01 +tp4-live-1`, 'm'));
    const other = (await operators.local('client', 'CLIENT02')).out;
    expect(other).toMatch(/Accounts opened here: 0\n\nOpen operations: 0\n$/);
  });
});
