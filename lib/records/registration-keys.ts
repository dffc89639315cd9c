import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type Item, type Table, tryWrite, updateAttributes } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { awaitAll } from '../deadline.ts';
import { keyedHash, type Pepper, type PepperKey } from '../secrets/keys.ts';
import { FORMER_KEY_ATTRIBUTES } from '../validators/deployment.ts';
import { acquireLease, isSameBody, keyExpiry, keyItem, secondsUntilFree, UNDER_LEASE } from './idempotency-keys.ts';

/**
 * The record of an `Idempotency-Key` of a registration, so that its message leaves at most once:
 *
 *     running ──▶ sent ──▶ finished          running: nothing has left
 *        ▲  └──────┴──▶ (gone)               sent: the message may have left
 *        └─ acquired by a retry              (gone): certainly nothing was sent, and the key is free
 *
 * A worker holds the key's lease. Every step is one conditional write under that lease, with a rising revision. So a
 * worker that lost its lease writes nothing, and a late duplicate of a write changes nothing.
 */
export interface HeldKey {
  readonly pk: string;
  readonly lease: string;
  /** The revision of the last write under this lease. */
  revision: number;
}

/** The result of a claim. `registrationId` is known once the message may have left. */
export type KeyClaim =
  /** The key is new, or its earlier worker ended before anything was sent. */
  | { kind: 'fresh'; held: HeldKey }
  /** An earlier worker may have sent the message, and has ended. */
  | { kind: 'undecided'; held: HeldKey; registrationId: string | undefined }
  | { kind: 'finished'; registrationId: string | undefined }
  /** Another worker holds the key. */
  | { kind: 'in_progress'; retryAfterSeconds: number; registrationId: string | undefined }
  /** The key was used with another body. */
  | { kind: 'reused' };

/** The names of the record of a key. */
export interface KeyNames {
  /**
   * The name that is written: a keyed hash, because an unkeyed hash of an IPv4 address is found by trying all
   * addresses.
   */
  readonly pk: string;
  /** The names under the other keys of a pepper that is rotated. */
  readonly rotated: readonly string[];
  /** The name in the table of operations, where version 1.0.0 stored it: an unkeyed hash. */
  readonly former: string;
}

/** The names of an idempotency key. @param scope the idempotency key and the scope in which it is unique */
export function keyNames(scope: readonly string[], { current, keys }: Pepper): KeyNames {
  const name = ({ hashKey }: PepperKey) => `key#${keyedHash(hashKey, `key\n${JSON.stringify(scope)}`)}`;
  const rotated = keys.filter((key) => key !== current).map(name);
  return { pk: name(current), rotated, former: keyItem(scope) };
}

export type RegistrationKeys = ReturnType<typeof dynamoRegistrationKeys>;

/** Another worker holds the key now. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

const StoredKey = v.object({
  pk: v.string(),
  fingerprint: v.string(),
  state: v.picklist(['running', 'sent', 'finished']),
  lease: v.string(),
  lease_until: v.number(),
  revision: v.number(),
  expires_at: v.number(),
  registration_id: v.optional(v.string()),
});

/**
 * Keys in DynamoDB, one item each. A claim takes one round trip; one that acquires another worker's key takes two.
 * @param table of registrations
 * @param formerTable of operations: a key of version 1.0.0 is read there, and written to `table` from then on
 */
export function dynamoRegistrationKeys(table: Table, formerTable: Table, now: () => number = Date.now) {
  const write = async (held: HeldKey, set: Item, signal: AbortSignal) => {
    held.revision += 1;
    const { update, names, values } = updateAttributes({
      ...set,
      revision: held.revision,
      expires_at: keyExpiry(now()),
    });
    values[':lease'] = held.lease;
    const expression = { update, names, values, condition: UNDER_LEASE };
    await requireLease(table.update({ pk: held.pk }, expression, signal));
  };

  const release = ({ pk, lease }: HeldKey, signal: AbortSignal) =>
    requireLease(
      table.delete({ pk }, signal, {
        condition: 'attribute_not_exists(pk) OR lease = :lease',
        values: { ':lease': lease },
      }),
    );

  /** The claim that an item under a rotated or former name of the key decides. */
  async function claimOfOthers(
    { rotated, former }: KeyNames,
    fingerprints: readonly string[],
    at: number,
    signal: AbortSignal,
  ): Promise<OtherClaim | undefined> {
    const keys = rotated.map((pk) => ({ pk }));
    const [rotatedItems, formerItem] = await awaitAll([
      keys.length === 0 ? [] : table.getMany(keys, signal),
      formerTable.get({ pk: former }, signal, FORMER_KEY_ATTRIBUTES),
    ]);
    return [...rotatedItems, formerItem]
      .map((item) => otherClaim(item, fingerprints, at))
      .find((one) => one !== undefined);
  }

  return {
    /**
     * @param fingerprints of the body; the first is kept, any may match (keys rotate)
     * @param leaseMs the maximum time of this worker
     */
    async claim(
      names: KeyNames,
      fingerprints: readonly string[],
      leaseMs: number,
      signal: AbortSignal,
    ): Promise<KeyClaim> {
      const at = now();
      const [current, other] = await awaitAll([
        claimCurrent(table, names.pk, fingerprints, { at, until: at + leaseMs }, signal),
        claimOfOthers(names, fingerprints, at, signal),
      ]);
      if (other === undefined) return current;
      if (other.kind === 'undecided') {
        const { registrationId } = other;
        if (current.kind === 'fresh') return { kind: 'undecided', held: current.held, registrationId };
        return current.kind === 'reused'
          ? current
          : { ...current, registrationId: current.registrationId ?? registrationId };
      }
      if (current.kind === 'fresh') await release(current.held, signal);
      return other;
    },

    /**
     * Stores that from now on the message may be sent.
     * @throws LeaseLost if another worker has acquired the key: nothing may be sent
     */
    markSent: (held: HeldKey, registration_id: string, signal: AbortSignal) =>
      write(held, { state: 'sent', registration_id }, signal),
    /** @throws LeaseLost */
    finish: (held: HeldKey, signal: AbortSignal) => write(held, { state: 'finished' }, signal),
    /** Frees the key: certainly nothing was sent. @throws LeaseLost */
    release,
  };
}

type StoredKey = v.InferOutput<typeof StoredKey>;

/** Claims the item under the current name of the key, which is the only one that is written. */
async function claimCurrent(
  table: Table,
  pk: string,
  fingerprints: readonly string[],
  { at, until }: { at: number; until: number },
  signal: AbortSignal,
): Promise<KeyClaim> {
  const lease = randomUUID();
  const seconds = Math.floor(at / 1_000);
  const isNew = {
    // An attribute that is absent is not greater.
    condition: 'NOT expires_at > :seconds AND NOT lease_until > :now',
    values: { ':seconds': seconds, ':now': at },
  };
  const claim = { lease, lease_until: until, revision: 0, expires_at: keyExpiry(at) };
  const item = { pk, fingerprint: fingerprints[0], state: 'running', ...claim };
  if (await isWritten(table.put(item, signal, isNew))) return { kind: 'fresh', held: { pk, lease, revision: 0 } };
  const { condition, values } = isSameBody(fingerprints);
  const isOpen = {
    condition: `expires_at > :seconds AND #state <> :finished AND ${condition}`,
    names: { '#state': 'state' },
    values: { ...values, ':seconds': seconds, ':finished': 'finished' },
  };
  const acquired = await acquireLease(table, { pk, lease, at, until, expiresAt: keyExpiry(at) }, isOpen, signal);
  return acquired === undefined
    ? busyClaim(await table.get({ pk }, signal), fingerprints, at)
    : readClaim(parse(acquired));
}

function readClaim({ pk, lease, revision, state, registration_id: registrationId }: StoredKey): KeyClaim {
  const held = { pk, lease, revision };
  return state === 'sent' ? { kind: 'undecided', held, registrationId } : { kind: 'fresh', held };
}

/** What a record under another name decides: it is read, and never written. */
type OtherClaim =
  | Extract<KeyClaim, { kind: 'finished' | 'in_progress' | 'reused' }>
  | { kind: 'undecided'; registrationId: string | undefined };

/** The claim that a record under another name decides; undefined if it sent nothing, and no worker holds it. */
function otherClaim(item: Item | undefined, fingerprints: readonly string[], at: number): OtherClaim | undefined {
  if (item === undefined) return undefined;
  const { fingerprint, state, expires_at, lease_until, registration_id: registrationId } = parse(item);
  if (expires_at <= Math.floor(at / 1_000)) return undefined;
  const isOver = fingerprints.includes(fingerprint) && state !== 'finished' && lease_until <= at;
  if (!isOver) return busyClaim(item, fingerprints, at);
  return state === 'sent' ? { kind: 'undecided', registrationId } : undefined;
}

/** The claim of a worker that could not acquire the key. */
function busyClaim(
  item: Item | undefined,
  fingerprints: readonly string[],
  at: number,
): Extract<KeyClaim, { kind: 'finished' | 'in_progress' | 'reused' }> {
  // The key was released between the calls: the caller may try again at once.
  if (item === undefined) return { kind: 'in_progress', retryAfterSeconds: 1, registrationId: undefined };
  const { fingerprint, state, lease_until, registration_id: registrationId } = parse(item);
  if (!fingerprints.includes(fingerprint)) return { kind: 'reused' };
  if (state === 'finished') return { kind: 'finished', registrationId };
  return { kind: 'in_progress', retryAfterSeconds: secondsUntilFree(lease_until, at), registrationId };
}

async function requireLease(write: Promise<unknown>): Promise<void> {
  if (!(await isWritten(write))) throw new LeaseLost('Another worker holds the key.');
}

async function isWritten(write: Promise<unknown>): Promise<boolean> {
  return (await tryWrite(write.then(() => true))) ?? false;
}

function parse(item: Item): StoredKey {
  const result = v.safeParse(StoredKey, item);
  if (!result.success) throw AwsFailure.ofItem('KeyMalformed', item.pk);
  return result.output;
}
