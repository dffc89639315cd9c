import { randomUUID } from 'node:crypto';
import type { ApiRequest } from '../http/endpoint.ts';
import { Problem } from '../problem.ts';
import { fingerprints, keyItem } from '../records/idempotency-keys.ts';
import type { Telemetry } from '../telemetry.ts';
import type { PlatformVersion, TradingAccountRequest } from '../validators/trading-account.ts';
import type { AccountDependencies, planTimes } from './dependencies.ts';
import { type DerivationKey, deriveIdentity, type Identity } from './derivation.ts';

/** One request to open an account. */
export interface Opening {
  dependencies: AccountDependencies;
  version: PlatformVersion;
  request: ApiRequest<TradingAccountRequest, { user_id: string }>;
  telemetry: Telemetry;
  times: ReturnType<typeof planTimes>;
}

/** The caller of a route without an authorizer. */
export const ANONYMOUS = 'anonymous';

export type Ahead = ReturnType<typeof readAhead>;

/**
 * Reads while the operation is claimed what a first request needs after that: a measured third of a first answer. Each
 * part is awaited where it is needed; a part that no step needs may fail.
 */
export function readAhead(opening: Opening) {
  const { dependencies, version, request, telemetry, times } = opening;
  const ids = { ...request.body, ...request.parameters };
  const records = dependencies.directory.readAccountRecords(ids, telemetry, times.signal);
  const keys = dependencies.keys(times.signal);
  const identities = keys.then((known) => identifyRequest(opening, known));
  const server = records.then(async ({ connection }) => {
    if (connection?.platform !== version) throw new Problem(`${version}_connection_not_found`);
    const platform = await dependencies.platform(connection, times.platformSignal);
    return { platform, connection };
  });
  const ready = server.then(({ platform }) => platform.ready(times.platformSignal));
  let isConnecting = true;
  const onEnd = () => {
    isConnecting = false;
  };
  ready.then(onEnd, onEnd);
  // A read that fails before it is awaited must not count as an unhandled rejection.
  for (const part of [records, identities, server]) part.catch(() => {});
  return {
    /** The CRM records that the request names. */
    records,
    /** The keys of the secret of derived passwords. */
    keys,
    /** The operations that the request may have made: one for each key of the secret. */
    identities,
    /** The server of the connection; rejects if the connection is missing, or cannot be asked. */
    server,
    /** Resolves after login on the server. */
    ready,
    /**
     * Closes a session that is still being opened, because no step needs it. An abort after each answer would cost a
     * tenth of a call.
     */
    leave() {
      if (isConnecting) times.leavePlatform();
    },
  };
}

/**
 * The operations that the request may have made. A request without an `Idempotency-Key` makes a new one each time.
 * @param keys of the secret; the request may have been sent first under an older key
 */
function identifyRequest(
  { version, request }: Opening,
  [current, ...older]: readonly [DerivationKey, ...DerivationKey[]],
): readonly [Identity, ...Identity[]] {
  const { sentBody, parameters, idempotencyKey, caller = ANONYMOUS } = request;
  const identify = (pk: string, key: DerivationKey) => {
    const [fingerprint = ''] = fingerprints(sentBody, [key.fingerprints]);
    return deriveIdentity(key, pk, fingerprint);
  };
  if (idempotencyKey === undefined) return [identify(`operation#${randomUUID()}`, current)];
  const pk = keyItem([version, caller, parameters.user_id, idempotencyKey]);
  return [identify(pk, current), ...older.map((key) => identify(pk, key))];
}
