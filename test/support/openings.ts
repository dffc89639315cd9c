import { randomUUID } from 'node:crypto';
import { deriveIdentity, parseDerivationKeys } from '../../lib/openings/derivation.ts';
import { type Claim, dynamoLedger, type Ledger } from '../../lib/openings/ledger.ts';
import type { Life } from '../../lib/openings/life.ts';
import type { HeldOperation, OperationPlan } from '../../lib/openings/stored-operation.ts';
import type { AccountClient, WebApiConnection } from '../../lib/records/crm-records.ts';
import { keyItem } from '../../lib/records/idempotency-keys.ts';
import type { EventFields, EventName, Telemetry } from '../../lib/telemetry.ts';
import type { TradingAccountRequest } from '../../lib/validators/trading-account.ts';
import { LIVE } from './crm-example.ts';
import type { TestDatabase } from './database.ts';

/** Fixtures of openings. */
export const CLIENT_ANN: AccountClient = {
  id: 'CLIENT01',
  email: 'ann@example.com',
  name: 'Ann Lee',
  phone: '+447400123456',
  country: 'GB',
  language: 'de',
};
export const DEMO: WebApiConnection = { ...LIVE, demo: true };
export const ACCOUNT_BODY: TradingAccountRequest = {
  connection_id: 'tp5-live-1',
  group: 'real\\standard',
  leverage: 100,
};

/** The keys of a secret of derived passwords; the text of each is its name, repeated. */
export function derivationKeys(...names: string[]) {
  const texts = Object.fromEntries(names.map((name) => [name, name.repeat(40)]));
  return parseDerivationKeys(JSON.stringify({ current: names[0], ...texts }));
}
export const [DERIVATION_KEY] = derivationKeys('1');

/** A ledger in a test database, with a clock that a test moves. */
export class LedgerWorld {
  readonly ledger: Ledger;
  now = Date.UTC(2026, 10, 22);
  readonly #database: TestDatabase;

  constructor(database: TestDatabase) {
    this.#database = database;
    this.ledger = dynamoLedger(database.tables, () => this.now);
  }

  signal = () => AbortSignal.timeout(60_000);

  claim(key: string | undefined, fingerprint = 'body', leaseMs = 30_000): Promise<Claim> {
    const pk = key === undefined ? `operation#${randomUUID()}` : keyItem(['tp5', 'caller', key]);
    return this.ledger.claim([deriveIdentity(DERIVATION_KEY, pk, fingerprint)], leaseMs, this.signal());
  }

  /** An operation that was just claimed, with its plan. */
  async claimed(key?: string, changes: Partial<OperationPlan> = {}): Promise<HeldOperation> {
    const claim = await this.claim(key);
    if (claim.kind !== 'held') throw new Error(`It is ${claim.kind}.`);
    claim.held.plan ??= planFor(claim.held.operationId, changes);
    return claim.held;
  }

  async item(held: HeldOperation): Promise<Record<string, unknown> | undefined> {
    return this.#database.tables.operations.get({ pk: held.pk }, this.signal());
  }

  /** The state of an operation; undefined if the operation is gone. */
  async state(held: HeldOperation): Promise<Life['at'] | undefined> {
    return ((await this.item(held)) as { life?: Life } | undefined)?.life?.at;
  }

  async holder(key: string): Promise<unknown> {
    return (await this.#database.tables.logins.get({ pk: key }, this.signal()))?.operation_id;
  }
}

export function planFor(operationId: string, changes: Partial<OperationPlan> = {}): OperationPlan {
  return {
    user_id: 'CLIENT01',
    version: 'tp5',
    connection_id: 'tp5-live-1',
    group: 'real\\standard',
    leverage: 100,
    enable_readonly: false,
    enable_rebate: false,
    operation_id: operationId,
    caller: 'iam:caller',
    keyed: true,
    deposit_with_opening: false,
    exclusive: true,
    login_given: false,
    ...changes,
  };
}

/** A telemetry that keeps its events. */
export function recordingTelemetry(
  events: { name: EventName; fields: EventFields }[],
  base: EventFields = {},
): Telemetry {
  return {
    event: (name, fields = {}) => void events.push({ name, fields: { ...base, ...fields } }),
    with: (fields) => recordingTelemetry(events, { ...base, ...fields }),
  };
}
